// tests/unit/unix_socket_test.cpp -- Unix sockets: their three kinds, and their names.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <coracle/compose/select.hpp>
#include <coracle/compose/when_all.hpp>
#include <coracle/compose/when_any.hpp>
#include <coracle/core/operation_cancelled.hpp>
#include <coracle/core/with_environment.hpp>
#include <coracle/io/buffered_reader.hpp>
#include <coracle/io/io_service.hpp>
#include <coracle/net/connect.hpp>
#include <coracle/net/serve.hpp>
#include <coracle/net/unix_socket.hpp>
#include <coracle/sync/async_manual_reset_event.hpp>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>

#include "connected_sockets.hpp"

namespace {
using coracle::io_service;
using coracle::operation_cancelled;
using coracle::owned_descriptor;
using coracle::task;
using coracle::net::make_unix_pair;
using coracle::net::unix_address;
using coracle::net::unix_kind;
using coracle::net::unix_pair;
using coracle::net::unix_socket;
using coracle_test::connected_sockets::thrown;

static_assert(coracle::byte_stream<unix_socket>);

std::span<const std::byte> bytes_of(std::string_view text) { return std::as_bytes(std::span{text}); }

/// A folder that is removed with what is in it.
struct scratch {
  scratch() {
    char name[] = "/tmp/coracle_unix_XXXXXX";
    if (::mkdtemp(name) == nullptr) std::abort();
    path = name;
  }
  ~scratch() { std::filesystem::remove_all(path); }
  [[nodiscard]] unix_address address(const char* name) const { return unix_address{(path / name).string()}; }
  std::filesystem::path path;
};
unix_socket listening(io_service& io, const unix_address& at, unix_kind kind = unix_kind::stream) {
  unix_socket listener = unix_socket::create(io, kind);
  listener.bind(at);
  listener.listen();
  return listener;
}
/// Whether the process has it, and closes it at exec.
bool is_closed_on_exec(int fd) { return (::fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0; }

TEST_CASE("unix_socket: a pointer and a size say where the bytes are, as a span does") {
  io_service io;
  unix_pair ends = make_unix_pair(io);
  int sent[] = {7, 8, 9}, received[3] = {};
  CHECK(io.run(ends.first.send(sent, sizeof(int))) == sizeof(int));
  io.run(ends.first.send_all(sent + 1, 2 * sizeof(int)));
  CHECK(io.run(ends.second.recv(received, sizeof received)) == sizeof received);
  CHECK(std::equal(sent, sent + 3, received));
}

TEST_CASE("unix_address: a path, an abstract name and none are told apart, compared and printed") {
  const unix_address path{"/run/app"};
  CHECK(path.text() == "/run/app");
  CHECK(path.to_string() == "/run/app");
  CHECK_FALSE(path.is_abstract());
  const unix_address name = unix_address::abstract(std::string_view{"a\0b", 3});
  CHECK(name.is_abstract());
  CHECK(name.text() == std::string_view{"a\0b", 3});
  CHECK(unix_address::abstract("run").to_string() == "@run");
  CHECK(unix_address::abstract({}).is_abstract());
  CHECK(unix_address::abstract({}).to_string() == "@");
  CHECK(unix_address{}.is_unnamed());
  CHECK(unix_address{}.to_string().empty());
  CHECK(unix_address{"x"} != unix_address::abstract("x"));
  CHECK(path == unix_address{"/run/app"});
}

TEST_CASE("unix_address: what does not fit, is empty or has a NUL is refused") {
  const std::string longest(unix_address::most, 'x');
  CHECK(unix_address{longest}.text() == longest);
  CHECK(unix_address::abstract(longest).text() == longest);
  CHECK(thrown([&] { unix_address{longest + "x"}; }) == std::errc::filename_too_long);
  CHECK(thrown([&] { static_cast<void>(unix_address::abstract(longest + "x")); }) ==
        std::errc::filename_too_long);
  CHECK(thrown([] { unix_address{""}; }) == std::errc::invalid_argument);
  CHECK(thrown([] { unix_address{std::string_view{"a\0b", 3}}; }) == std::errc::invalid_argument);
}

/// Sends a line and gives the answer.
task<std::string> ask(io_service& io, unix_address server, std::string question) {
  unix_socket connection = co_await coracle::net::connect(io, server);
  co_await connection.send_all(question + "\n");
  coracle::buffered_reader reader{connection};
  const auto line = co_await reader.read_line();
  co_return std::string(line.value_or("?"));
}
task<> answer(unix_socket client) {
  coracle::buffered_reader reader{client};
  const auto line = co_await reader.read_line();
  const std::string reply = "re: " + std::string(line.value_or("?")) + "\n";
  co_await client.send_all(reply);
}

TEST_CASE("unix_socket: a server at a path and one at an abstract name are served as any other") {
  io_service io;
  const scratch folder;
  const auto name = unix_address::abstract("coracle-test-" + std::to_string(::getpid()));
  for (const unix_address& at : {folder.address("server"), name}) {
    unix_socket listener = listening(io, at);
    CHECK(listener.local_address() == at);
    const auto talk = [&]() -> task<std::string> {
      auto [first, second] = co_await coracle::when_all(ask(io, at, "a"), ask(io, at, "b"));
      co_return first + second;
    };
    const auto ended = io.run(coracle::when_any(talk(), coracle::net::serve(listener, answer)));
    CHECK(std::get<0>(ended) == "re: are: b");
  }
}

TEST_CASE("unix_socket: the error of accept() without listen() says so") {
  io_service io;
  unix_socket local = unix_socket::create(io, unix_kind::stream);
  CHECK_THROWS_WITH_AS(static_cast<void>(io.run(local.accept())), doctest::Contains("without listen()"),
                       std::system_error);
}

TEST_CASE("unix_socket: connecting to nobody fails, and a path that exists is not bound again") {
  io_service io;
  const scratch folder;
  const unix_address at = folder.address("server");
  unix_socket client = unix_socket::create(io, unix_kind::stream);
  CHECK(thrown([&] { io.run(client.connect(at)); }) == std::errc::no_such_file_or_directory);
  listening(io, at).close();
  CHECK(thrown([&] { io.run(client.connect(at)); }) == std::errc::connection_refused);
  CHECK(thrown([&] { listening(io, at); }) == std::errc::address_in_use);

  // As the contract says: beside it, and renamed over it.
  unix_socket listener = listening(io, folder.address("server.new"));
  std::filesystem::rename(folder.path / "server.new", folder.path / "server");
  CHECK_NOTHROW(io.run(client.connect(at)));
}

TEST_CASE("unix_socket: a connection is not connected again, a datagram socket may be") {
  const scratch folder;
  io_service io;
  for (const unix_kind kind : {unix_kind::stream, unix_kind::seqpacket}) {
    const unix_address at = folder.address(kind == unix_kind::stream ? "stream" : "seqpacket");
    const unix_socket listener = listening(io, at, kind);
    unix_socket client = unix_socket::create(io, kind);
    io.run(client.connect(at));
    CHECK(thrown([&] { io.run(client.connect(at)); }) == std::errc::already_connected);
    unix_pair ends = make_unix_pair(io, kind);
    CHECK(thrown([&] { io.run(ends.first.connect(at)); }) == std::errc::already_connected);
  }
  const unix_address first = folder.address("first"), second = folder.address("second");
  unix_socket receivers[] = {unix_socket::create(io, unix_kind::datagram),
                             unix_socket::create(io, unix_kind::datagram)};
  receivers[0].bind(first);
  receivers[1].bind(second);
  unix_socket sender = unix_socket::create(io, unix_kind::datagram);
  io.run(sender.connect(first));
  CHECK_NOTHROW(io.run(sender.connect(second)));
}

TEST_CASE("unix_socket: connect() to a server that is full is an error, and net::connect() waits for room") {
  io_service io;
  const scratch folder;
  const unix_address at = folder.address("full");
  unix_socket listener = unix_socket::create(io, unix_kind::stream);
  listener.bind(at);
  listener.listen(0);
  unix_socket first = io.run(coracle::net::connect(io, at));
  unix_socket second = unix_socket::create(io, unix_kind::stream);
  CHECK(thrown([&] { io.run(second.connect(at)); }) == std::errc::resource_unavailable_try_again);

  coracle::stop_source stop;
  const auto give_up = [&]() -> task<> {
    co_await io.schedule();
    stop.request_stop();
  };
  const auto try_in_vain = [&]() -> task<bool> {
    try {
      co_await coracle::with_stop(coracle::net::connect(io, at), stop.get_token());
    } catch (const operation_cancelled&) {
      co_return true;
    }
    co_return false;
  };
  CHECK(std::get<0>(io.run(coracle::when_all(try_in_vain(), give_up()))));

  const auto make_room = [&]() -> task<> {
    co_await io.schedule();
    co_await listener.accept();
  };
  io.run(coracle::when_all(coracle::net::connect(io, at), make_room()));
}

TEST_CASE("unix_socket: close_recv() of a listener ends accept() once pending connections are accepted") {
  const scratch folder;
  io_service io;
  const unix_address at = folder.address("listener");
  unix_socket listener = listening(io, at);
  const auto is_refused = [&]() -> task<bool> {
    try {
      co_await listener.accept();
    } catch (const std::system_error& error) {
      CHECK(std::string_view(error.what()).find("after close_recv()") != std::string_view::npos);
      co_return error.code() == std::errc::invalid_argument;
    }
    co_return false;
  };
  const auto close = [&]() -> task<> {
    co_await io.schedule();
    listener.close_recv();
  };
  SUBCASE("while it waits") {
    const auto [first, second, closed] = io.run(coracle::when_all(is_refused(), is_refused(), close()));
    CHECK(first);
    CHECK(second);
    CHECK(io.run(is_refused()));
  }
  SUBCASE("while it waits as a branch") {
    coracle::async_manual_reset_event never;
    const auto choose = [&]() -> task<bool> {
      try {
        co_await coracle::select(never, listener.accept());
      } catch (const std::system_error& error) {
        co_return error.code() == std::errc::invalid_argument;
      }
      co_return false;
    };
    CHECK(std::get<0>(io.run(coracle::when_all(choose(), close()))));
  }
  SUBCASE("with a connection that waits") {
    unix_socket client = unix_socket::create(io, unix_kind::stream),
                late = unix_socket::create(io, unix_kind::stream);
    io.run(client.connect(at));
    listener.close_recv();
    io.run(listener.accept());
    CHECK(io.run(is_refused()));
    CHECK(thrown([&] { io.run(late.connect(at)); }) == std::errc::connection_refused);
  }
}

TEST_CASE("unix_socket: close_recv() ends what waits to receive, of every kind") {
  io_service io;
  std::array<char, 8> room;
  for (const unix_kind kind : {unix_kind::stream, unix_kind::datagram, unix_kind::seqpacket}) {
    for (const bool takes_message : {false, true}) {
      CAPTURE(static_cast<int>(kind));
      CAPTURE(takes_message);
      unix_pair ends = make_unix_pair(io, kind);
      std::array<owned_descriptor, 1> passed;
      const auto receive = [&]() -> task<std::size_t> {
        if (!takes_message) co_return co_await ends.first.recv(room);
        const auto received = co_await ends.first.recv_message(room, passed);
        CHECK(received.descriptors == 0);
        CHECK(received.from.is_unnamed());
        co_return received.size;
      };
      const auto close = [&]() -> task<> {
        co_await io.schedule();
        ends.first.close_recv();
      };
      CHECK(std::get<0>(io.run(coracle::when_all(receive(), close()))) == 0);
      CHECK(io.run(receive()) == 0);
    }
  }
}

TEST_CASE("unix_socket: a pair of streams passes bytes and its end, and knows who is at the other one") {
  io_service io;
  unix_pair ends = make_unix_pair(io);
  CHECK(ends.first.peer().process == ::getpid());
  CHECK(ends.first.peer().user == ::getuid());
  CHECK(ends.first.peer().group == ::getgid());
  CHECK(is_closed_on_exec(ends.first.native_handle()));
  const std::string much(300'000, 'u');  // more than fits
  const auto send = [&]() -> task<> {
    const coracle::const_buffer parts[] = {{}, much, "and the end"};
    co_await ends.first.send_all(much);
    co_await ends.first.send_all(parts);
    ends.first.close_send();
  };
  const auto receive = [&]() -> task<std::string> {
    std::string all, some(4096, '?');
    while (const std::size_t got = co_await ends.second.recv(some)) all.append(some, 0, got);
    co_return all;
  };
  CHECK(std::get<1>(io.run(coracle::when_all(send(), receive()))) == much + much + "and the end");
  unix_socket lone = unix_socket::create(io, unix_kind::stream);
  CHECK(thrown([&] { static_cast<void>(lone.peer()); }) == std::errc::not_connected);
}

TEST_CASE("unix_socket: sending to a peer that has gone is an error, and no SIGPIPE") {
  io_service io;
  unix_pair ends = make_unix_pair(io);
  ends.second.close();
  CHECK(thrown([&] { io.run(ends.first.send("x")); }) == std::errc::broken_pipe);
  CHECK(thrown([&] { io.run(ends.first.send_message(bytes_of("x"), {})); }) == std::errc::broken_pipe);
}

TEST_CASE("unix_socket: messages keep their borders, and one that is too long is dropped with an error") {
  io_service io;
  for (const unix_kind kind : {unix_kind::datagram, unix_kind::seqpacket}) {
    unix_pair ends = make_unix_pair(io, kind);
    CHECK(ends.first.kind() == kind);
    std::string room(4, '?');
    const auto use = [&]() -> task<> {
      co_await ends.first.send("one");
      co_await ends.first.send("too long");
      co_await ends.first.send("two");
      CHECK(co_await ends.second.recv(room) == 3);
      CHECK(room.substr(0, 3) == "one");
      CHECK_THROWS_AS(co_await ends.second.recv(room), std::system_error);
      CHECK(co_await ends.second.recv(room) == 3);
      CHECK(room.substr(0, 3) == "two");
    };
    io.run(use());
  }
}

TEST_CASE("unix_socket: a seqpacket server accepts connections of messages") {
  io_service io;
  const scratch folder;
  unix_socket listener = listening(io, folder.address("messages"), unix_kind::seqpacket);
  unix_socket client = unix_socket::create(io, unix_kind::seqpacket);
  std::string room(8, '?');
  const auto use = [&]() -> task<> {
    co_await client.connect(folder.address("messages"));
    unix_socket server = co_await listener.accept();
    CHECK(server.kind() == unix_kind::seqpacket);
    co_await client.send("a");
    co_await client.send("b");
    client.close();
    CHECK(co_await server.recv(room) == 1);
    CHECK(co_await server.recv(room) == 1);
    CHECK(co_await server.recv(room) == 0);
  };
  io.run(use());
}

TEST_CASE("unix_socket: a datagram says where it is from, and goes where it is sent") {
  io_service io;
  const scratch folder;
  unix_socket a = unix_socket::create(io, unix_kind::datagram),
              b = unix_socket::create(io, unix_kind::datagram);
  a.bind(folder.address("a"));
  b.bind(unix_address::abstract("coracle-test-b-" + std::to_string(::getpid())));
  unix_socket nameless = unix_socket::create(io, unix_kind::datagram);
  std::string room(8, '?');
  const auto use = [&]() -> task<> {
    co_await b.send_to(folder.address("a"), bytes_of("hi"));
    const auto first = co_await a.recv_message(room);
    CHECK(first.size == 2);
    CHECK(first.from == b.local_address());
    co_await a.send_to(first.from, "back");
    const auto second = co_await b.recv_message(room);
    CHECK(second.size == 4);
    CHECK(second.from == folder.address("a"));
    co_await nameless.send_to(folder.address("a"), {});
    const auto third = co_await a.recv_message(room);
    CHECK(third.size == 0);
    CHECK(third.from.is_unnamed());
    std::string failure;
    try {
      co_await a.send_to(folder.address("none"), "to nobody");
    } catch (const std::system_error& error) {
      failure = error.what();
    }
    CHECK(failure == "cannot send to " + folder.address("none").to_string() + ": No such file or directory");
  };
  io.run(use());
}

TEST_CASE("unix_socket: send_to() a receiver that has no room is an error; connected, it waits") {
  io_service io;
  const scratch folder;
  unix_socket receiver = unix_socket::create(io, unix_kind::datagram);
  receiver.bind(folder.address("slow"));
  unix_socket sender = unix_socket::create(io, unix_kind::datagram);
  int sent = 0;
  const auto fill = [&]() -> task<> {
    for (;; ++sent) co_await sender.send_to(folder.address("slow"), bytes_of("x"));
  };
  CHECK(thrown([&] { io.run(fill()); }) == std::errc::resource_unavailable_try_again);
  CHECK(sent > 0);
  std::string room(8, '?');
  const auto wait_for_room = [&]() -> task<> {
    co_await sender.connect(folder.address("slow"));
    co_await sender.send("y");
  };
  const auto receive = [&]() -> task<> {
    for (int i = 0; i != sent; ++i) co_await receiver.recv(room);
    CHECK(co_await receiver.recv(room) == 1);
    CHECK(room[0] == 'y');
  };
  io.run(coracle::when_all(wait_for_room(), receive()));
}
}  // namespace
