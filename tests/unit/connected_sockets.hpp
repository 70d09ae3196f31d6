// tests/unit/connected_sockets.hpp -- connected sockets, and how an operation on one ended.
// SPDX-License-Identifier: MIT
#pragma once
#include <array>
#include <coracle/compose/when_all.hpp>
#include <coracle/core/task.hpp>
#include <coracle/io/io_service.hpp>
#include <coracle/net/socket.hpp>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace coracle_test::connected_sockets {
using coracle::io_service;
using coracle::task;
using coracle::net::socket;

inline const coracle::net::ip_endpoint any_port{
    coracle::net::ipv4_endpoint{coracle::net::ipv4_address::loopback(), 0}};

inline socket listening(io_service& io) {
  socket listener = socket::create_tcpv4(io);
  listener.bind(any_port);
  listener.listen();
  return listener;
}
struct pair {
  socket client;
  socket server;
};
/// Both ends of a connection.
inline pair connected(io_service& io) {
  socket listener = listening(io);
  pair ends{socket::create_tcpv4(io), socket::create_tcpv4(io)};
  const auto connect = [&]() -> task<> { co_await ends.client.connect(listener.local_endpoint()); };
  const auto accept = [&]() -> task<> { co_await listener.accept(ends.server); };
  io.run([&]() -> task<> { co_await coracle::when_all(connect(), accept()); }());
  return ends;
}

inline task<> send_all(socket& to, std::string_view text) {
  while (!text.empty()) text.remove_prefix(co_await to.send(text.data(), text.size()));
}
inline task<std::string> receive_all(socket& from) {
  std::string text;
  std::array<char, 4096> buffer;
  for (;;) {
    const std::size_t size = co_await from.recv(buffer.data(), buffer.size());
    if (size == 0) co_return text;
    text.append(buffer.data(), size);
  }
}
inline task<std::string> receive_some(socket& from) {
  std::array<char, 64> buffer;
  const std::size_t size = co_await from.recv(buffer.data(), buffer.size());
  co_return std::string(buffer.data(), size);
}

/// Awaits `work` and returns its error, or an empty one if it succeeds.
template <class Awaitable>
task<std::error_code> error_of(Awaitable work) {
  try {
    static_cast<void>(co_await std::move(work));
  } catch (const std::system_error& error) {
    co_return error.code();
  }
  co_return std::error_code{};
}
/// The error that plain code throws.
template <class Body>
std::error_code thrown(Body body) {
  try {
    body();
  } catch (const std::system_error& error) {
    return error.code();
  }
  return std::error_code{};
}
}  // namespace coracle_test::connected_sockets
