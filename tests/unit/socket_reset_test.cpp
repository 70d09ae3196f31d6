// tests/unit/socket_reset_test.cpp -- a peer that ends or resets a connection after each byte of a message.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <coracle/compose/when_all.hpp>
#include <coracle/core/task.hpp>
#include <coracle/io/buffered_reader.hpp>
#include <coracle/io/io_service.hpp>
#include <coracle/net/socket.hpp>
#include <string>
#include <string_view>
#include <system_error>

namespace {
using coracle::io_service;
using coracle::task;
using coracle::net::ipv4_address;
using coracle::net::ipv4_endpoint;
using coracle::net::socket;

struct pair {
  socket client, server;
};
pair connected(io_service& io) {
  socket listener = socket::create_tcpv4(io);
  listener.bind(ipv4_endpoint{ipv4_address::loopback(), 0});
  listener.listen();
  pair ends{socket::create_tcpv4(io), socket::create_tcpv4(io)};
  io.run(coracle::when_all(ends.client.connect(listener.local_endpoint()), listener.accept(ends.server)));
  return ends;
}

constexpr std::string_view message = "a message of 32 bytes, all of it";
static_assert(message.size() == 32);

/// Sends so many bytes of the message; then the connection is over.
task<> send_part(io_service& io, socket& from, std::size_t size, bool by_reset) {
  co_await io.schedule();  // somebody is waiting for it by now
  co_await from.send_all(message.substr(0, size));
  co_await io.schedule();
  const linger at_once{1, 0};
  if (by_reset) ::setsockopt(from.native_handle(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  from.close();
}
/// How recv_exactly() ends.
struct ending {
  std::size_t result = 0, received = 0;
  int error = 0;
  std::string text;
};
task<ending> receive(socket& to) {
  ending seen;
  std::array<char, message.size()> room;
  try {
    seen.result = co_await to.recv_exactly(room.data(), room.size(), {}, &seen.received);
  } catch (const std::system_error& error) {
    seen.error = error.code().value();
  }
  seen.text.assign(room.data(), seen.received);
  co_return seen;
}

TEST_CASE(
    "socket: a connection that ends after each byte gives what has come, and says that it was cut off") {
  io_service io;
  for (std::size_t size = 0; size <= message.size(); ++size) {
    pair ends = connected(io);
    const auto both =
        io.run(coracle::when_all(receive(ends.server), send_part(io, ends.client, size, false)));
    const ending& seen = std::get<0>(both);
    CAPTURE(size);
    CHECK(seen.received == size);
    CHECK(seen.text == message.substr(0, size));
    CHECK(seen.result == (size == message.size() ? size : 0));
    CHECK(seen.error == (size == 0 || size == message.size() ? 0 : ENODATA));
  }
}

TEST_CASE("socket: a connection that is reset after each byte gives what has come, and the error") {
  io_service io;
  for (std::size_t size = 0; size <= message.size(); ++size) {
    pair ends = connected(io);
    const auto both = io.run(coracle::when_all(receive(ends.server), send_part(io, ends.client, size, true)));
    const ending& seen = std::get<0>(both);
    CAPTURE(size);
    CHECK(seen.text == message.substr(0, size));
    CHECK(seen.error == (size == message.size() ? 0 : ECONNRESET));
    CHECK_THROWS_AS(io.run(ends.server.send_all("too late")), std::system_error);
  }
}

TEST_CASE("buffered_reader: a connection that is reset in the middle of a line gives the lines before it") {
  io_service io;
  pair ends = connected(io);
  const auto read = [&]() -> task<std::string> {
    coracle::buffered_reader reader{ends.server};
    std::string lines;
    try {
      for (;;) {
        const auto line = co_await reader.read_line();
        if (!line) co_return lines + "end";
        lines += *line;
        lines += ';';
      }
    } catch (const std::system_error& error) {
      if (error.code() == std::errc::connection_reset)
        lines += "reset, left: " + std::string{reader.buffered()};
    }
    co_return lines;
  };
  const auto write = [&]() -> task<> {
    co_await ends.client.send_all("one\ntwo\nthr");
    co_await io.schedule();
    co_await send_part(io, ends.client, 0, true);
  };
  CHECK(std::get<0>(io.run(coracle::when_all(read(), write()))) == "one;two;reset, left: thr");
}
}  // namespace
