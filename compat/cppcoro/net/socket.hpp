// cppcoro/net/socket.hpp -- coracle::net::socket, which can be copied.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/net/socket.hpp>
#include <cppcoro/cancellation_token.hpp>
#include <cppcoro/config.hpp>
#include <cppcoro/io_service.hpp>
#include <cppcoro/net/ip_endpoint.hpp>
#include <cppcoro/net/socket_accept_operation.hpp>
#include <cppcoro/net/socket_connect_operation.hpp>
#include <cppcoro/net/socket_disconnect_operation.hpp>
#include <cppcoro/net/socket_recv_from_operation.hpp>
#include <cppcoro/net/socket_recv_operation.hpp>
#include <cppcoro/net/socket_send_operation.hpp>
#include <cppcoro/net/socket_send_to_operation.hpp>
#include <utility>

namespace cppcoro::net {
/// As coracle::net::socket, but a copy is another descriptor of the same connection, as in the later fork of
/// cppcoro.
///
///     cppcoro::net::socket socket = co_await accept(listener);
///     scope.spawn(receive_from(socket));  // each has a copy,
///     scope.spawn(send_to(socket));       // and the connection ends when all are closed
///
/// Prefer coracle::net::socket in new code, and references to it: a copy takes a descriptor and two system
/// calls.
/// Exceptions  copying: std::system_error, where no descriptor is left.
class socket : public coracle::net::socket {
 public:
  [[nodiscard]] static socket create_tcpv4(io_service& service) {
    return coracle::net::socket::create_tcpv4(service);
  }
  [[nodiscard]] static socket create_tcpv6(io_service& service) {
    return coracle::net::socket::create_tcpv6(service);
  }
  [[nodiscard]] static socket create_udpv4(io_service& service) {
    return coracle::net::socket::create_udpv4(service);
  }
  [[nodiscard]] static socket create_udpv6(io_service& service) {
    return coracle::net::socket::create_udpv6(service);
  }

  socket(coracle::net::socket&& other) noexcept  // NOLINT: a socket is a socket
      : coracle::net::socket(std::move(other)) {}
  socket(socket&& other) noexcept = default;
  socket(const socket& other) : coracle::net::socket(other.duplicate()) {}
  socket& operator=(socket other) noexcept {
    coracle::net::socket::operator=(std::move(other));
    return *this;
  }
  ~socket() = default;

  /// Gives 0.
  int close() noexcept {
    coracle::net::socket::close();
    return 0;
  }
};
}  // namespace cppcoro::net
