// tests/unit/socket_stream_contract_test.cpp -- the contract of TCP sockets, of the system and of a simulated
// host.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <coracle/compose/when_all.hpp>
#include <coracle/core/task.hpp>
#include <coracle/io/io_service.hpp>
#include <coracle/net/socket.hpp>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <vector>

#include "connected_sockets.hpp"
#include "service_under_test.hpp"

namespace {
using coracle::const_buffer;
using coracle::io_service;
using coracle::mutable_buffer;
using coracle::operation_cancelled;
using coracle::stop_source;
using coracle::task;
using coracle::net::ip_endpoint;
using coracle::net::ipv4_endpoint;
using coracle::net::ipv6_address;
using coracle::net::ipv6_endpoint;
using coracle::net::socket;
using coracle_test::service_under_test;
using coracle_test::connected_sockets::any_port;
using coracle_test::connected_sockets::connected;
using coracle_test::connected_sockets::error_of;
using coracle_test::connected_sockets::listening;
using coracle_test::connected_sockets::pair;
using coracle_test::connected_sockets::receive_all;
using coracle_test::connected_sockets::receive_some;
using coracle_test::connected_sockets::send_all;
using coracle_test::connected_sockets::thrown;

TEST_CASE("socket: recv waits for what is sent, and gives 0 at the end of the stream") {
  service_under_test here;
  io_service& io = here.io;
  pair ends = connected(io);
  std::string received;
  io.run([&]() -> task<> {
    const auto receive = [&]() -> task<> { received = co_await receive_all(ends.server); };
    const auto send = [&]() -> task<> {
      co_await send_all(ends.client, "one ");
      co_await io.schedule();
      co_await send_all(ends.client, "two");
      ends.client.close_send();
    };
    co_await coracle::when_all(receive(), send());
  }());
  CHECK(received == "one two");
}

TEST_CASE("socket: a receive that takes less than it could does not hide what comes later") {
  service_under_test here;
  io_service& io = here.io;
  pair ends = connected(io);
  io.run([&]() -> task<> {
    for (const std::string_view each : {"one", "two", "three"}) {
      co_await send_all(ends.client, each);
      CHECK(co_await receive_some(ends.server) == each);
    }
    const auto send_later = [&]() -> task<> {
      co_await io.schedule();
      co_await send_all(ends.client, "later");
    };
    const auto receive = [&]() -> task<> { CHECK(co_await receive_some(ends.server) == "later"); };
    co_await coracle::when_all(receive(), send_later());
    co_await send_all(ends.client, "last");
    ends.client.close_send();
    CHECK(co_await receive_some(ends.server) == "last");
    CHECK(co_await receive_some(ends.server) == "");
    CHECK(co_await receive_some(ends.server) == "");
  }());
}

TEST_CASE("socket: half closed, the other direction still carries data") {
  service_under_test here;
  io_service& io = here.io;
  pair ends = connected(io);
  io.run([&]() -> task<> {
    co_await send_all(ends.client, "question");
    ends.client.close_send();
    CHECK(co_await receive_all(ends.server) == "question");
    co_await send_all(ends.server, "answer");
    ends.server.close_send();
    CHECK(co_await receive_all(ends.client) == "answer");
  }());
}

TEST_CASE("socket: close_recv() ends a recv that waits") {
  service_under_test here;
  io_service& io = here.io;
  pair ends = connected(io);
  std::string received = "none";
  io.run([&]() -> task<> {
    const auto receive = [&]() -> task<> { received = co_await receive_all(ends.server); };
    const auto close = [&]() -> task<> {
      ends.server.close_recv();
      co_return;
    };
    co_await coracle::when_all(receive(), close());
  }());
  CHECK(received.empty());
}

TEST_CASE("socket: one socket sends and receives at the same time more than the kernel buffers") {
  service_under_test here;
  io_service& io = here.io;
  pair ends = connected(io);
  constexpr std::size_t size = 8 * 1024 * 1024;
  const std::string one(size, 'a'), other(size, 'b');
  std::string at_server, at_client;
  const auto send = [](socket& to, std::string_view text) -> task<> {
    co_await send_all(to, text);
    to.close_send();
  };
  const auto receive = [](socket& from, std::string& text) -> task<> { text = co_await receive_all(from); };
  io.run([&]() -> task<> {
    co_await coracle::when_all(send(ends.client, one), receive(ends.client, at_client),
                               send(ends.server, other), receive(ends.server, at_server));
  }());
  CHECK(at_server == one);
  CHECK(at_client == other);
}

TEST_CASE("socket: several pieces of memory are sent and received as one") {
  service_under_test here;
  io_service& io = here.io;
  pair ends = connected(io);
  const std::string head = "head", body(1 << 20, 'b'), tail = "tail";
  std::string received;
  io.run([&]() -> task<> {
    const auto send = [&]() -> task<> {
      std::vector<const_buffer> parts(2000, const_buffer{});  // more than one system call takes
      for (const_buffer& each : parts) each = "x";
      parts.insert(parts.begin(), {head, {}, body});
      parts.emplace_back(tail);
      co_await ends.client.send_all(parts);
      ends.client.close_send();
    };
    const auto receive = [&]() -> task<> {
      for (std::size_t more = 1; more != 0;) {
        char one[3], other[8000];
        const mutable_buffer room[] = {{one, sizeof one}, {}, {other, sizeof other}};
        more = co_await ends.server.recv(room);
        received.append(one, std::min(more, sizeof one));
        if (more > sizeof one) received.append(other, more - sizeof one);
      }
    };
    co_await coracle::when_all(receive(), send());
  }());
  CHECK(received == head + body + std::string(2000, 'x') + tail);
}

// Not what cannot be written to, or does not outlive the call.
template <class T>
constexpr bool has_room = std::is_convertible_v<T, mutable_buffer>;
static_assert(has_room<std::vector<std::byte>&> && has_room<unsigned char (&)[4]> &&
              has_room<mutable_buffer&>);
static_assert(has_room<std::span<char, 4>> && has_room<std::span<std::byte>>);
static_assert(!has_room<const std::string&> && !has_room<std::string> && !has_room<const char (&)[4]>);
static_assert(!has_room<std::vector<int>&> && !has_room<std::span<const std::byte>> && !has_room<char*>);

TEST_CASE("socket: an array, a vector, a string or part of one is room to receive into") {
  service_under_test here;
  io_service& io = here.io;
  pair ends = connected(io);
  io.run([&]() -> task<> {
    co_await send_all(ends.client, "onetwothreefour");
    char array[3];
    std::array<unsigned char, 3> other{};
    std::vector<std::byte> vector(5);
    std::string text = "--------";
    CHECK(co_await ends.server.recv(array) == 3);
    CHECK(co_await ends.server.recv_exactly(other) == 3);
    CHECK(co_await ends.server.read_some(vector) == 5);
    CHECK(co_await ends.server.recv(std::span{text}.subspan(2)) == 4);
    CHECK(std::string_view(array, 3) == "one");
    CHECK(std::equal(other.begin(), other.end(), "two"));
    CHECK(static_cast<char>(vector[4]) == 'e');
    CHECK(text == "--four--");
  }());
}

TEST_CASE("socket: of more pieces than the system takes, none is sent or received") {
  service_under_test here;
  io_service& io = here.io;
  pair ends = connected(io);
  io.run([&]() -> task<> {
    const std::vector<const_buffer> parts(1025, const_buffer{"x"});
    CHECK(co_await error_of(ends.client.send(parts)) == std::errc::message_size);
    char byte;
    const std::vector<mutable_buffer> room(1025, mutable_buffer{&byte, 1});
    CHECK(co_await error_of(ends.server.recv(room)) == std::errc::message_size);
  }());
}

TEST_CASE("socket: send_all() of several pieces continues where a stop request has ended it") {
  service_under_test here;
  io_service& io = here.io;
  pair ends = connected(io);
  const std::string large(8 << 20, 'x');
  const const_buffer parts[] = {large, "end"};
  std::size_t sent = 0;
  bool stopped = false;
  stop_source source;
  std::string received;
  io.run([&]() -> task<> {
    const auto send = [&]() -> task<> {
      try {
        co_await ends.client.send_all(parts, source.get_token(), &sent);
      } catch (const operation_cancelled&) {
        stopped = true;
      }
      co_await ends.client.send_all(parts, {}, &sent);
      ends.client.close_send();
    };
    const auto stop = [&]() -> task<> {
      co_await io.schedule();
      source.request_stop();
    };
    const auto receive = [&]() -> task<> { received = co_await receive_all(ends.server); };
    co_await coracle::when_all(send(), stop(), receive());
  }());
  CHECK(stopped);
  CHECK(received == large + "end");
}

TEST_CASE("socket: several that wait to receive from one socket get the data in their order") {
  service_under_test here;
  io_service& io = here.io;
  pair ends = connected(io);
  std::vector<std::string> order;
  io.run([&]() -> task<> {
    const auto receive = [&](char name) -> task<> {
      char byte = 0;
      CHECK(co_await ends.server.recv(&byte, 1) == 1);
      order.push_back({name, byte});
    };
    co_await coracle::when_all(receive('a'), receive('b'), receive('c'), send_all(ends.client, "123"));
  }());
  CHECK(order == std::vector<std::string>{"a1", "b2", "c3"});
}

TEST_CASE("socket: nobody listens: the connection is refused") {
  service_under_test here;
  io_service& io = here.io;
  socket silent = socket::create_tcpv4(io), client = socket::create_tcpv4(io);
  silent.bind(any_port);
  std::error_code error;
  io.run([&]() -> task<> { error = co_await error_of(client.connect(silent.local_endpoint())); }());
  CHECK(error == std::errc::connection_refused);
}

TEST_CASE("socket: a connection is not connected again, one that was refused may be") {
  service_under_test here;
  io_service& io = here.io;
  socket listener = listening(io), client = socket::create_tcpv4(io), server = socket::create_tcpv4(io);
  socket silent = socket::create_tcpv4(io);
  silent.bind(any_port);
  io.run([&]() -> task<> {
    for (int attempt = 0; attempt != 2; ++attempt) {
      CHECK(co_await error_of(client.connect(silent.local_endpoint())) == std::errc::connection_refused);
    }
    co_await coracle::when_all(client.connect(listener.local_endpoint()), listener.accept(server));
    for (int attempt = 0; attempt != 2; ++attempt) {
      CHECK(co_await error_of(client.connect(silent.local_endpoint())) == std::errc::already_connected);
    }
    CHECK(client.remote_endpoint() == listener.local_endpoint());
    CHECK(co_await error_of(server.connect(listener.local_endpoint())) == std::errc::already_connected);
    co_await send_all(client, "still");
    CHECK(co_await receive_some(server) == "still");
  }());
}

TEST_CASE(
    "socket: a connect() that has a name is awaited again, after it was refused and after it succeeded") {
  service_under_test here;
  io_service& io = here.io;
  socket listener = socket::create_tcpv4(io), client = socket::create_tcpv4(io);
  listener.bind(any_port);
  io.run([&]() -> task<> {
    auto connect = client.connect(listener.local_endpoint());
    const auto attempt = [&]() -> task<> { co_await connect; };
    for (int i = 0; i != 2; ++i) CHECK(co_await error_of(attempt()) == std::errc::connection_refused);
    listener.listen();
    CHECK_FALSE(co_await error_of(attempt()));
    CHECK(co_await error_of(attempt()) == std::errc::already_connected);
    CHECK(client.remote_endpoint() == listener.local_endpoint());
  }());
}

TEST_CASE("socket: a peer that goes with data unread resets the connection") {
  service_under_test here;
  io_service& io = here.io;
  pair ends = connected(io);
  io.run([&]() -> task<> {
    co_await send_all(ends.client, "never read");
    char byte = 0;
    co_await ends.server.recv(&byte, 1);  // so the rest has come, too
    ends.server.close();
    CHECK(co_await error_of(ends.client.recv(&byte, 1)) == std::errc::connection_reset);
  }());
}

TEST_CASE("socket: sending to a peer that has gone is an error, not a SIGPIPE") {
  service_under_test here;
  io_service& io = here.io;
  pair ends = connected(io);
  ends.server.close();
  io.run([&]() -> task<> {
    std::error_code error;
    while (!error) error = co_await error_of(ends.client.send("x", 1));
    CHECK((error == std::errc::broken_pipe || error == std::errc::connection_reset));
  }());
}

TEST_CASE("socket: sending behind the end of a peer that has gone is a broken pipe, not a reset") {
  service_under_test here;
  io_service& io = here.io;
  pair ends = connected(io);
  ends.server.close();
  io.run([&]() -> task<> {
    char byte = 0;
    CHECK(co_await ends.client.recv(&byte, 1) == 0);
    std::error_code error;
    while (!error) error = co_await error_of(ends.client.send("x", 1));
    CHECK(error == std::errc::broken_pipe);
    CHECK(co_await ends.client.recv(&byte, 1) == 0);
  }());
}

TEST_CASE("socket: what is sent to a socket that neither sends nor receives any more is refused") {
  service_under_test here;
  io_service& io = here.io;
  pair ends = connected(io);
  ends.server.close_send();
  ends.server.close_recv();
  io.run([&]() -> task<> {
    char byte = 0;
    CHECK(co_await ends.client.recv(&byte, 1) == 0);
    std::error_code error;
    for (int sent = 0; !error && sent != 1'000'000; ++sent)
      error = co_await error_of(ends.client.send("x", 1));
    CHECK(error == std::errc::broken_pipe);
    CHECK(co_await error_of(ends.server.recv(&byte, 1)) == std::errc::connection_reset);
  }());
}

TEST_CASE("socket: no direction of a connection is closed again once both have ended") {
  service_under_test here;
  io_service& io = here.io;
  pair ends = connected(io);
  ends.client.close_send();
  ends.client.close_send();
  io.run([&]() -> task<> {
    CHECK((co_await receive_all(ends.server)).empty());
    ends.server.close_recv();
    ends.server.close_send();
    CHECK((co_await receive_all(ends.client)).empty());
  }());
  for (socket* const each : {&ends.client, &ends.server}) {
    CHECK(thrown([&] { each->close_send(); }) == std::errc::not_connected);
    CHECK(thrown([&] { each->close_recv(); }) == std::errc::not_connected);
  }
}

TEST_CASE("socket: an operation on a socket that is not connected is an error") {
  service_under_test here;
  io_service& io = here.io;
  socket tcp = socket::create_tcpv4(io);
  io.run([&]() -> task<> {
    char byte = 0;
    CHECK(co_await error_of(tcp.recv(&byte, 1)) == std::errc::not_connected);
    CHECK(co_await error_of(tcp.send(&byte, 1)) == std::errc::broken_pipe);
    CHECK(co_await error_of(tcp.disconnect()) == std::errc::not_connected);
    CHECK(co_await error_of(tcp.accept()) == std::errc::invalid_argument);
    CHECK(co_await error_of(tcp.connect(ipv6_endpoint{ipv6_address::loopback(), 1})) ==
          std::errc::address_family_not_supported);
  }());
  CHECK(thrown([&] { tcp.close_send(); }) == std::errc::not_connected);
}

TEST_CASE("socket: the error of accept() without listen(), or after close_recv(), says so") {
  service_under_test here;
  const auto refuses = [&](socket& listener) {
    CHECK_THROWS_WITH_AS(
        static_cast<void>(here.io.run(listener.accept())),
        doctest::Contains("cannot accept a connection without listen(), or after close_recv()"),
        std::system_error);
  };
  socket tcp = socket::create_tcpv4(here.io);
  refuses(tcp);
  socket listener = listening(here.io);
  listener.close_recv();
  refuses(listener);
}

TEST_CASE(
    "socket: close_recv() of a listener ends accept() and resets pending connections; it can listen again") {
  service_under_test here;
  socket listener = listening(here.io);
  const ip_endpoint where = listener.local_endpoint();
  here.io.run([&]() -> task<> {
    socket early = socket::create_tcpv4(here.io), late = socket::create_tcpv4(here.io);
    co_await early.connect(where);
    const socket first = co_await listener.accept();
    const auto close = [&]() -> task<> {
      co_await here.io.schedule();
      listener.close_recv();
    };
    const auto accept = [&]() -> task<> {
      CHECK(co_await error_of(listener.accept()) == std::errc::invalid_argument);
    };
    co_await coracle::when_all(accept(), accept(), close());
    CHECK(co_await error_of(late.connect(where)) == std::errc::connection_refused);

    listener.listen(1);
    socket again = socket::create_tcpv4(here.io);
    co_await again.connect(listener.local_endpoint());  // the system may have chosen another port
    listener.close_recv();                              // before it is accepted
    char byte = 0;
    CHECK(co_await error_of(again.recv(&byte, 1)) == std::errc::connection_reset);
  }());
}

TEST_CASE("socket: disconnect() sends what is queued, then waits until the peer has closed") {
  service_under_test here;
  io_service& io = here.io;
  pair ends = connected(io);
  std::vector<std::string> log;
  io.run([&]() -> task<> {
    const auto client = [&]() -> task<> {
      co_await send_all(ends.client, "last words");
      co_await ends.client.disconnect();
      log.push_back("disconnected");
    };
    const auto server = [&]() -> task<> {
      log.push_back(co_await receive_all(ends.server));
      co_await send_all(ends.server, "dropped by the peer");
      for (int i = 0; i != 500; ++i) co_await io.schedule();  // the peer has had the time to receive it
      log.push_back("server closes");
      ends.server.close_send();
      co_await ends.server.disconnect();
    };
    co_await coracle::when_all(client(), server());
  }());
  CHECK(log == std::vector<std::string>{"last words", "server closes", "disconnected"});
  CHECK(ends.client.remote_endpoint() == ip_endpoint{ipv4_endpoint{}});
}

TEST_CASE("socket: accept() without an argument gives the new socket itself") {
  service_under_test here;
  io_service& io = here.io;
  socket listener = listening(io), client = socket::create_tcpv4(io);
  io.run([&]() -> task<> {
    const auto serve = [&]() -> task<> {
      socket server = co_await listener.accept();
      CHECK(server.local_endpoint() == listener.local_endpoint());
      co_await send_all(server, co_await receive_some(server));
    };
    const auto ask = [&]() -> task<> {
      co_await client.connect(listener.local_endpoint());
      co_await send_all(client, "hello");
      CHECK(co_await receive_some(client) == "hello");
    };
    co_await coracle::when_all(serve(), ask());
  }());
}

TEST_CASE("socket: send_to and recv_from work on a connection too, and name the peer") {
  service_under_test here;
  io_service& io = here.io;
  pair ends = connected(io);
  io.run([&]() -> task<> {
    char bytes[4] = {};
    CHECK(co_await ends.client.send_to(ends.server.local_endpoint(), "tcp!", 4) == 4);
    const auto [size, from] = co_await ends.server.recv_from(bytes, 2);
    CHECK(size == 2);
    CHECK(from == ends.client.local_endpoint());
    CHECK(co_await ends.server.recv(bytes, 4) == 2);
  }());
}
}  // namespace
