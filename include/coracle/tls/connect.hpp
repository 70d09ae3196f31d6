// coracle/tls/connect.hpp -- connect to a host, and verify that it is the one that was named.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/base/chrono.hpp>
#include <coracle/core/awaitable.hpp>
#include <coracle/core/detail/library_task.hpp>
#include <coracle/core/task.hpp>
#include <coracle/net/socket.hpp>
#include <coracle/tls/context.hpp>
#include <coracle/tls/stream.hpp>
#include <cstdint>
#include <string>
#include <utility>

namespace coracle {
class io_service;
}  // namespace coracle

namespace coracle::tls {
namespace detail {
library_task<stream<net::socket>> connect_body(io_service& service, std::string host, std::string port,
                                               const context& common);
}  // namespace detail

/// Awaitable of an encrypted connection to `host`, a tls::stream over a socket of `service`: resolves the
/// name, connects to the first address that answers, and awaits the handshake. `port` is a service by name or
/// number.
///
///     const auto trusting = coracle::tls::context::client();
///     auto secure = co_await coracle::timeout(coracle::tls::connect(io, "example.org", 443, trusting), 5s);
///
/// Requires: `common` is a client's, and outlives the operation.
/// Resumes on    the executor on which it was awaited.
/// Cancellation  ends the attempt, and closes the connection.
/// Exceptions    those of net::connect(); tls::error, such as errc::certificate_rejected.
/// Cost          as net::connect() and a tls::stream.
CORACLE_CORO_WRAPPER()
inline task<stream<net::socket>> connect(io_service& service, std::string host, std::string port,
                                         const context& common) {
  return detail::connect_body(service, std::move(host), std::move(port), common);
}
CORACLE_CORO_WRAPPER()
inline task<stream<net::socket>> connect(io_service& service, std::string host, std::uint16_t port,
                                         const context& common) {
  return detail::connect_body(service, std::move(host), std::to_string(port), common);
}
template <class Host, class Port>
auto connect(io_service&, const Host&, const Port&) {
  static_assert(
      !sizeof(Port*),
      "tls::connect(io, host, port, context) needs a tls::context, which says whom to trust, such as "
      "tls::context::client()");
  return coracle::detail::any_awaiter{};
}
template <class Host, class Port, class Rep, class Period>
auto connect(io_service&, const Host&, const Port&, const context&, std::chrono::duration<Rep, Period>) {
  net::detail::no_time_limit<Rep>();
  return coracle::detail::any_awaiter{};
}
}  // namespace coracle::tls
