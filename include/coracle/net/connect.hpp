// coracle/net/connect.hpp -- connect to whichever address of a host answers first, or to a Unix socket.
// SPDX-License-Identifier: MIT
#pragma once
#include <chrono>
#include <concepts>
#include <coracle/core/detail/library_task.hpp>
#include <coracle/core/task.hpp>
#include <coracle/net/ip_endpoint.hpp>
#include <coracle/net/resolve.hpp>
#include <coracle/net/socket.hpp>
#include <coracle/net/unix_address.hpp>
#include <coracle/net/unix_socket.hpp>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace coracle::net {
/// The time after which the next address is tried concurrently: RFC 8305, section 5.
inline constexpr std::chrono::milliseconds next_attempt_after{250};

namespace detail {
coracle::detail::library_task<socket> connect_body(io_service& service, ip_endpoint remote);
coracle::detail::library_task<socket> connect_body(io_service& service, std::vector<ip_endpoint> addresses);
coracle::detail::library_task<socket> connect_body(io_service& service, std::string host, std::string port);
coracle::detail::library_task<unix_socket> connect_body(io_service& service, unix_address remote);
}  // namespace detail

/// Awaitable of a TCP connection to `remote`, a socket of `service`.
///
///     socket connection = co_await connect(io, ipv4_endpoint{ipv4_address::loopback(), 80});
///
/// Resumes on    the executor on which it was awaited.
/// Cancellation  ends the attempt.
/// Exceptions    those of socket::connect(), and std::system_error if no descriptor is free.
/// Cost          a frame and a socket.
template <std::convertible_to<ip_endpoint> Endpoint>
CORACLE_CORO_WRAPPER()
task<socket> connect(io_service& service, const Endpoint& remote) {
  return detail::connect_body(service, ip_endpoint{remote});
}
/// Awaitable of a TCP connection to the first of `addresses` that answers, a socket of `service`. The
/// addresses are tried in order: the next one after 250 ms, concurrently with the earlier attempts, or
/// immediately if those have failed. The losing attempts are cancelled. Requires: `addresses` is not empty.
///
/// Resumes on    the executor on which it was awaited.
/// Cancellation  cancels all attempts.
/// Exceptions    if no address answers, as hedge(): the error of the only attempt, or an error_group of all
///               errors.
/// Cost          a frame and a socket for each attempt.
CORACLE_CORO_WRAPPER()
inline task<socket> connect(io_service& service, std::vector<ip_endpoint> addresses) {
  return detail::connect_body(service, std::move(addresses));
}
/// The same for a host, and a service by name or number: see resolve(), whose errors it also throws.
///
///     socket connection = co_await coracle::timeout(coracle::net::connect(io, "example.org", 443), 5s);
///
CORACLE_CORO_WRAPPER()
inline task<socket> connect(io_service& service, std::string host, std::string port) {
  return detail::connect_body(service, std::move(host), std::move(port));
}
CORACLE_CORO_WRAPPER()
inline task<socket> connect(io_service& service, std::string host, std::uint16_t port) {
  return detail::connect_body(service, std::move(host), std::to_string(port));
}
template <std::convertible_to<std::string_view> Host>
CORACLE_CORO_WRAPPER()
task<socket> connect(io_service&, const Host&) {
  static_assert(
      !sizeof(Host*),
      "net::connect(io, host, port) needs a port, such as 443 or \"https\"; for a Unix socket, write "
      "net::connect(io, unix_address{path})");
  return {};
}

template <class Host, class Port, class Rep, class Period>
auto connect(io_service&, const Host&, const Port&, std::chrono::duration<Rep, Period>) {
  detail::no_time_limit<Rep>();
  return coracle::detail::any_awaiter{};
}
template <class Port>
auto connect(std::string_view, const Port&) {
  static_assert(!sizeof(Port*), "net::connect(io, host, port) begins with the io_service of the socket");
  return coracle::detail::any_awaiter{};
}

/// Awaitable of a stream to the Unix socket at `remote`. The system does not report when a full backlog has
/// room again, so while it is full this retries after 1 ms, then after twice the previous delay, at most 128
/// ms.
///
/// Resumes on    the executor on which it was awaited.
/// Cancellation  ends the attempt or the wait at once.
/// Exceptions    those of unix_socket::connect(), but for a full backlog.
/// Cost          a frame and a socket.
CORACLE_CORO_WRAPPER()
inline task<unix_socket> connect(io_service& service, unix_address remote) {
  return detail::connect_body(service, remote);
}
}  // namespace coracle::net
