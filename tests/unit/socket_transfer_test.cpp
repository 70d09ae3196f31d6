// tests/unit/socket_transfer_test.cpp -- complete transfers: over TCP on the loopback interface and on a
// simulated host that transfers fewer bytes at a time than it could, and over Unix sockets.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <cerrno>
#include <chrono>
#include <coracle/compose/when_all.hpp>
#include <coracle/core/operation_cancelled.hpp>
#include <coracle/core/task.hpp>
#include <coracle/core/with_environment.hpp>
#include <coracle/io/io_service.hpp>
#include <coracle/io/read_only_file.hpp>
#include <coracle/io/stream_descriptor.hpp>
#include <coracle/io/write_only_file.hpp>
#include <coracle/net/send_file.hpp>
#include <coracle/net/socket.hpp>
#include <coracle/net/unix_socket.hpp>
#include <coracle/testing/simulation/simulated_host.hpp>
#include <coracle/testing/simulation/simulation.hpp>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "../support/abort_message.hpp"

namespace {
using coracle::operation_cancelled;
using coracle::stop_source;
using coracle::task;
using coracle::net::ipv4_address;
using coracle::net::ipv4_endpoint;
using coracle::net::socket;
using namespace std::chrono_literals;

/// Both ends of a connection.
struct connection {
  explicit connection(coracle::io_service& io)
      : client(socket::create_tcpv4(io)), server(socket::create_tcpv4(io)) {
    socket listener = socket::create_tcpv4(io);
    listener.bind(ipv4_endpoint{ipv4_address::loopback(), 0});
    listener.listen();
    io.run(coracle::when_all(client.connect(listener.local_endpoint()), listener.accept(server)));
  }
  socket client, server;
};

/// Likewise.
struct unix_connection {
  explicit unix_connection(coracle::io_service& io) : unix_connection(coracle::net::make_unix_pair(io)) {}
  explicit unix_connection(coracle::net::unix_pair made)
      : client(std::move(made.first)), server(std::move(made.second)) {}
  coracle::net::unix_socket client, server;
};

struct loopback {
  using pair = connection;
  static constexpr std::size_t too_much = 30'000'000;  // for the system to keep, where the peer does not read
  coracle::io_service io;
};
struct short_transfers {
  using pair = connection;
  static constexpr std::size_t too_much = 1'000'000;
  static coracle::testing::network_faults faults() {
    coracle::testing::network_faults often;
    often.short_transfers = 2;
    return often;
  }
  coracle::testing::simulation sim{1};
  coracle::testing::simulated_network network{sim, faults()};
  coracle::testing::simulated_host host{network, "10.0.0.1"};
  coracle::io_service& io = host.io();
};
struct unix_sockets {
  using pair = unix_connection;
  static constexpr std::size_t too_much = 1'000'000;
  coracle::io_service io;
};

/// Data without repetitions.
std::string much(std::size_t size) {
  std::string text(size, ' ');
  for (std::size_t i = 0; i != size; ++i) text[i] = static_cast<char>(i * i / 7 + i);
  return text;
}

enum class ended { done, cancelled, failed };
struct how {
  ended end = ended::done;
  std::size_t gave = 0;
  std::error_code error{};
};
task<how> watched(task<std::size_t> transfer) {
  how seen;
  try {
    seen.gave = co_await std::move(transfer);
  } catch (const operation_cancelled&) {
    seen.end = ended::cancelled;
  } catch (const std::system_error& e) {
    seen.end = ended::failed;
    seen.error = e.code();
  }
  co_return seen;
}
coracle::net::unix_socket datagrams_of(coracle::io_service& io) {
  return coracle::net::unix_socket::create(io, coracle::net::unix_kind::datagram);
}
task<std::size_t> nothing_given(task<> transfer) {
  co_await std::move(transfer);
  co_return std::size_t{0};
}

TEST_CASE_TEMPLATE(
    "socket: send_all() sends, and recv_exactly() receives, more than the system takes at once", Place,
    loopback, short_transfers, unix_sockets) {
  Place here;
  typename Place::pair ends{here.io};
  const std::string sent = much(1'000'000);
  std::string received(sent.size(), ' ');
  std::size_t size = 0, counted = 0;
  const auto receive = [&]() -> task<> {
    size = co_await ends.server.recv_exactly(received.data(), received.size(), {}, &counted);
  };
  here.io.run(coracle::when_all(ends.client.send_all(sent.data(), sent.size()), receive()));
  CHECK(size == sent.size());
  CHECK(counted == sent.size());
  CHECK(received == sent);
}

TEST_CASE_TEMPLATE("socket: {} behind a text or an array is the stop token, not a size of 0", Place, loopback,
                   short_transfers, unix_sockets) {
  Place here;
  typename Place::pair ends{here.io};
  std::size_t sent = 0;
  here.io.run(ends.client.send_all("onetwo", {}, &sent));
  CHECK(sent == 6);
  std::byte room[3];
  CHECK(here.io.run(ends.server.recv_exactly(room, {})) == 3);
  CHECK(here.io.run(ends.server.recv(room, {})) != 0);
  CHECK(here.io.run(ends.server.send("x", {})) == 1);
}

TEST_CASE_TEMPLATE("socket: recv_exactly() takes no byte more, and gives 0 where the stream has ended", Place,
                   loopback, short_transfers, unix_sockets) {
  Place here;
  typename Place::pair ends{here.io};
  here.io.run([&]() -> task<> {
    co_await ends.client.send_all("onetwo", 6);
    ends.client.close_send();
    char word[3];
    CHECK(co_await ends.server.recv_exactly(word, 3) == 3);
    CHECK(std::string_view(word, 3) == "one");
    CHECK(co_await ends.server.recv_exactly(word, 0) == 0);
    CHECK(co_await ends.server.recv_exactly(word) == 3);
    CHECK(std::string_view(word, 3) == "two");
    CHECK(co_await ends.server.recv_exactly(word, 3) == 0);
  }());
}

TEST_CASE_TEMPLATE(
    "socket: a stream that ends in the middle of recv_exactly() is an error, and what came is counted", Place,
    loopback, short_transfers, unix_sockets) {
  Place here;
  typename Place::pair ends{here.io};
  here.io.run([&]() -> task<> {
    co_await ends.client.send_all("on", 2);
    ends.client.close_send();
    char word[3];
    std::size_t received = 0;
    const how seen = co_await watched(ends.server.recv_exactly(word, 3, {}, &received));
    CHECK(seen.error == static_cast<std::errc>(ENODATA));
    CHECK(received == 2);
  }());
}

TEST_CASE_TEMPLATE(
    "socket: recv_exactly() that is stopped in the middle goes on from there when it is called again", Place,
    loopback, short_transfers, unix_sockets) {
  Place here;
  typename Place::pair ends{here.io};
  stop_source stop;
  here.io.run([&]() -> task<> {
    char text[8];
    std::size_t received = 0;
    how seen;
    const auto receive = [&]() -> task<> {
      seen = co_await watched(ends.server.recv_exactly(text, 8, stop.get_token(), &received));
    };
    const auto send_and_stop = [&]() -> task<> {
      co_await ends.client.send_all("abc", 3);
      while (received != 3) co_await here.io.schedule_after(100us);
      stop.request_stop();
    };
    co_await coracle::when_all(receive(), send_and_stop());
    CHECK(seen.end == ended::cancelled);
    CHECK(received == 3);
    co_await ends.client.send_all("defgh", 5);
    CHECK(co_await ends.server.recv_exactly(text, 8, {}, &received) == 8);
    CHECK(std::string_view(text, 8) == "abcdefgh");
  }());
}

TEST_CASE_TEMPLATE(
    "socket: send_all() that is stopped in the middle has sent what it counts, and goes on from there", Place,
    loopback, short_transfers, unix_sockets) {
  Place here;
  typename Place::pair ends{here.io};
  stop_source stop;
  const std::string text = much(Place::too_much);
  std::string received(text.size(), ' ');
  std::size_t sent = 0;
  here.io.run([&]() -> task<> {
    how seen;
    const auto send = [&]() -> task<> {
      seen = co_await watched(
          nothing_given(ends.client.send_all(text.data(), text.size(), stop.get_token(), &sent)));
    };
    const auto stop_it = [&]() -> task<> {
      std::size_t before = 0;
      do {
        before = sent;
        co_await here.io.schedule_after(5ms);
      } while (sent == 0 || sent != before);
      stop.request_stop();
    };
    co_await coracle::when_all(send(), stop_it());
    CHECK(seen.end == ended::cancelled);
    CHECK(sent > 0);
    CHECK(sent < text.size());
    const std::size_t first = sent;
    const auto receive = [&]() -> task<> {
      co_await ends.server.recv_exactly(received.data(), first);
      co_await ends.server.recv_exactly(received.data() + first, text.size() - first);
    };
    co_await coracle::when_all(ends.client.send_all(text.data(), text.size(), {}, &sent), receive());
  }());
  CHECK(sent == text.size());
  CHECK(received == text);
}

TEST_CASE_TEMPLATE("socket: whole transfers that are stopped before do nothing", Place, loopback,
                   short_transfers, unix_sockets) {
  Place here;
  typename Place::pair ends{here.io};
  stop_source stop;
  stop.request_stop();
  here.io.run([&]() -> task<> {
    std::string text = "abc";
    co_await ends.client.send_all(text.data(), 3);
    std::size_t moved = 0;
    how seen = co_await coracle::with_stop(
        watched(nothing_given(ends.client.send_all(text.data(), 3, {}, &moved))), stop.get_token());
    CHECK(seen.end == ended::cancelled);
    seen = co_await watched(ends.server.recv_exactly(text.data(), 3, stop.get_token(), &moved));
    CHECK(seen.end == ended::cancelled);
    text.clear();
    seen = co_await watched(ends.server.recv_until(text, "c", 10, stop.get_token()));
    CHECK(seen.end == ended::cancelled);
    CHECK(moved == 0);
    CHECK(text.empty());
    CHECK(co_await ends.server.recv_until(text, "c", 10) == 3);
  }());
}

TEST_CASE_TEMPLATE("socket: send_all() to a peer that has gone is an error", Place, loopback, short_transfers,
                   unix_sockets) {
  Place here;
  typename Place::pair ends{here.io};
  const std::string text = much(Place::too_much);
  here.io.run([&]() -> task<> {
    ends.server.close();
    const how seen = co_await watched(nothing_given(ends.client.send_all(text.data(), text.size())));
    CHECK(seen.end == ended::failed);
    const bool expected = seen.error == std::errc::broken_pipe || seen.error == std::errc::connection_reset;
    CHECK(expected);
  }());
}

TEST_CASE_TEMPLATE(
    "socket: recv_until() gives one line after another, and what is left where the stream ends", Place,
    loopback, short_transfers, unix_sockets) {
  Place here;
  typename Place::pair ends{here.io};
  std::string text, lines;
  const auto receive = [&]() -> task<> {
    for (;;) {
      const std::size_t size = co_await ends.server.recv_until(text, "\r\n", 5000);
      if (size == 0) break;
      lines += text.substr(0, size - 2) + "|";
      text.erase(0, size);
    }
  };
  const auto send = [&]() -> task<> {
    const std::string of_4998(4998, 'x');
    for (const std::string& part : {std::string("a\r\n\r\nb"), std::string("c\r"), std::string("\nd\re\r\n"),
                                    of_4998 + "\r\n", std::string("rest\r")}) {
      co_await ends.client.send_all(part.data(), part.size());
      co_await here.io.schedule_after(1ms);
    }
    ends.client.close_send();
  };
  here.io.run(coracle::when_all(receive(), send()));
  CHECK(lines == "a||bc|d\re|" + std::string(4998, 'x') + "|");
  CHECK(text == "rest\r");
}

TEST_CASE_TEMPLATE(
    "socket: recv_until() without an end in so many bytes is an error, and takes no more than those", Place,
    loopback, short_transfers, unix_sockets) {
  Place here;
  typename Place::pair ends{here.io};
  here.io.run([&]() -> task<> {
    std::string text;
    co_await ends.client.send_all("0123456\n", 8);
    const how seen = co_await watched(ends.server.recv_until(text, "\n", 7));
    CHECK(seen.error == std::errc::message_size);
    CHECK(text == "0123456");
    CHECK(co_await ends.server.recv_until(text, "\n", 8) == 8);
  }());
}

TEST_CASE("socket: recv_until() does not look behind so many bytes, whatever is there from before") {
  loopback here;
  connection ends{here.io};
  here.io.run([&]() -> task<> {
    std::string text = "0123456\n";
    const how seen = co_await watched(ends.server.recv_until(text, "\n", 7));
    CHECK(seen.error == std::errc::message_size);
    CHECK(text == "0123456\n");
    CHECK(co_await ends.server.recv_until(text, "\n", 8) == 8);
  }());
}

TEST_CASE_TEMPLATE("socket: recv_until() that is stopped keeps what has come", Place, loopback,
                   short_transfers, unix_sockets) {
  Place here;
  typename Place::pair ends{here.io};
  here.io.run([&]() -> task<> {
    std::string text = "he";
    stop_source stop;
    how seen;
    const auto receive = [&]() -> task<> {
      seen = co_await watched(ends.server.recv_until(text, "\n", 100, stop.get_token()));
    };
    const auto send_and_stop = [&]() -> task<> {
      co_await ends.client.send_all("llo", 3);
      co_await here.io.schedule_after(50ms);
      stop.request_stop();
    };
    co_await coracle::when_all(receive(), send_and_stop());
    CHECK(seen.end == ended::cancelled);
    CHECK(text == "hello");
    co_await ends.client.send_all("\nx", 2);
    CHECK(co_await ends.server.recv_until(text, "\n", 100) == 6);
  }());
}

TEST_CASE("socket: receiving from a stream into 0 bytes ends a checked program and says so" *
          doctest::skip(!CORACLE_CHECKS())) {
  const std::string why =
      " into 0 bytes, whose result would look like the end of the stream: pass a buffer that "
      "has room\n";
  CHECK(coracle_test::abort_message([] {
          coracle::io_service io;
          socket stream = socket::create_tcpv4(io);
          io.run(stream.recv(nullptr, 0));
        }) == "coracle: recv()" + why);
  CHECK(coracle_test::abort_message([] {
          coracle::io_service io;
          auto ends = coracle::net::make_unix_pair(io);
          io.run(ends.first.recv(nullptr, 0));
        }) == "coracle: recv()" + why);
  CHECK(coracle_test::abort_message([] {
          coracle::io_service io;
          auto ends = coracle::make_pipe(io);
          io.run(ends.read_end.read_some(nullptr, 0));
        }) == "coracle: read_some()" + why);
  constexpr void (*into_no_pieces[])() = {
      [] {
        coracle::io_service io;
        socket stream = socket::create_tcpv4(io);
        io.run(stream.recv(std::span<const coracle::mutable_buffer>{}));
      },
      [] {
        coracle::io_service io;
        socket stream = socket::create_tcpv4(io);
        const coracle::mutable_buffer pieces[2];
        io.run(stream.recv(pieces));
      },
      [] {
        coracle::io_service io;
        auto ends = coracle::net::make_unix_pair(io);
        io.run(ends.first.recv(std::span<const coracle::mutable_buffer>{}));
      },
      [] {
        coracle::io_service io;
        auto ends = coracle::net::make_unix_pair(io);
        const coracle::mutable_buffer pieces[2];
        io.run(ends.first.recv(pieces));
      }};
  for (auto* const receive : into_no_pieces)
    CHECK(coracle_test::abort_message(receive) == "coracle: recv()" + why);
  CHECK(coracle_test::abort_message([] {
          coracle::io_service io;
          auto ends = coracle::net::make_unix_pair(io);
          static_cast<void>(io.run(ends.first.recv_message({})));
        }) == "coracle: recv_message()" + why);
}

TEST_CASE("socket: messages are received into 0 bytes too, and into pieces of which some have none") {
  coracle::io_service io;
  auto ends = coracle::net::make_unix_pair(io, coracle::net::unix_kind::datagram);
  io.run(ends.first.send(""));
  CHECK(io.run(ends.second.recv(std::span<const coracle::mutable_buffer>{})) == 0);
  io.run(ends.first.send(""));
  CHECK(io.run(ends.second.recv_message({})).size == 0);
  auto streams = coracle::net::make_unix_pair(io);
  io.run(streams.first.send("ab"));
  char room[2] = {};
  const coracle::mutable_buffer pieces[] = {{}, {room}, {}};
  CHECK(io.run(streams.second.recv(pieces)) == 2);
  CHECK(std::string_view(room, 2) == "ab");
}

TEST_CASE("socket: the io_service of a closed socket ends the program and says so") {
  const std::string why =
      "coracle: service() of a socket that is closed or moved from: ask an open one, or keep a reference to "
      "the io_service\n";
  CHECK(coracle_test::abort_message([] {
          coracle::io_service io;
          socket closed = socket::create_tcpv4(io);
          closed.close();
          closed.service().stop();
        }) == why);
  CHECK(coracle_test::abort_message([] {
          coracle::io_service io;
          socket from = socket::create_tcpv4(io);
          const socket to = std::move(from);
          from.service().stop();
        }) == why);
}

TEST_CASE("socket, file, stream: a count that another transfer has left ends the program and says so") {
  constexpr void (*transfers[])() = {
      [] {
        coracle::io_service io;
        connection ends{io};
        ends.server.close();
        std::size_t sent = 4;
        io.run(ends.client.send_all("abc", {}, &sent));
      },
      [] {
        coracle::io_service io;
        connection ends{io};
        ends.server.close();
        std::size_t sent = 4;
        const coracle::const_buffer parts[] = {"a", "bc"};
        io.run(ends.client.send_all(parts, {}, &sent));
      },
      [] {
        coracle::io_service io;
        connection ends{io};
        ends.server.close();
        char text[3];
        std::size_t received = 4;
        io.run(ends.client.recv_exactly(text, sizeof text, {}, &received));
      },
      [] {
        coracle::io_service io;
        auto ends = coracle::make_pipe(io);
        ends.read_end.close();
        std::size_t written = 4;
        io.run(ends.write_end.write_all("abc", {}, &written));
      },
      [] {
        coracle::io_service io;
        auto full = coracle::write_only_file::open(io, "/dev/full", coracle::file_open_mode::open_existing);
        std::size_t put = 4;
        io.run(full.write_all(0, "abc", {}, &put));
      },
      [] {
        coracle::io_service io;
        const auto zeros = coracle::read_only_file::open(io, "/dev/zero");
        char text[3];
        std::size_t got = 4;
        io.run(zeros.read_exactly(0, text, sizeof text, {}, &got));
      },
      [] {
        coracle::io_service io;
        connection ends{io};
        ends.server.close();
        const auto zeros = coracle::read_only_file::open(io, "/dev/zero");
        std::uint64_t sent = 4;
        io.run(coracle::net::send_file(ends.client, zeros, 0, 3, {}, &sent));
      },
  };
  for (void (*const each)() : transfers) {
    CHECK(coracle_test::abort_message(each) ==
          "coracle: a count of transferred bytes exceeds the size of what was to be transferred: set it to 0 "
          "before you transfer something else\n");
  }
}

TEST_CASE("socket: whole transfers of datagrams end the program and say so") {
  constexpr void (*transfers[])() = {
      [] {
        coracle::io_service io;
        io.run(socket::create_udpv4(io).send_all("", 0));
      },
      [] {
        coracle::io_service io;
        io.run(socket::create_udpv4(io).recv_exactly(nullptr, 0));
      },
      [] {
        coracle::io_service io;
        std::string text;
        io.run(socket::create_udpv4(io).recv_until(text, "x", 1));
      },
      [] {
        coracle::io_service io;
        io.run(datagrams_of(io).send_all(""));
      },
      [] {
        coracle::io_service io;
        io.run(datagrams_of(io).recv_exactly(nullptr, 0));
      },
      [] {
        coracle::io_service io;
        std::string text;
        io.run(datagrams_of(io).recv_until(text, "x", 1));
      },
  };
  const std::string expected[] = {
      "send_all() of a UDP socket, which sends one datagram: use send()",
      "recv_exactly() of a UDP socket, which receives one datagram: use recv()",
      "recv_until() of a UDP socket, which receives one datagram: use recv()",
      "send_all() of a Unix socket that sends messages: use send()",
      "recv_exactly() of a Unix socket that receives messages: use recv()",
      "recv_until() of a Unix socket that receives messages: use recv()",
  };
  for (std::size_t i = 0; i != std::size(transfers); ++i)
    CHECK(coracle_test::abort_message(transfers[i]) == "coracle: " + expected[i] + "\n");
}
}  // namespace
