// coracle/net/connect.hpp -- connect to whichever address of a host answers first, or to a Unix socket.
// SPDX-License-Identifier: MIT
#pragma once
#include <chrono>
#include <coracle/base/check.hpp>
#include <coracle/core/task.hpp>
#include <coracle/io/io_result.hpp>
#include <coracle/net/ip_endpoint.hpp>
#include <coracle/net/resolve.hpp>
#include <coracle/net/socket.hpp>
#include <coracle/net/unix_socket.hpp>
#include <coracle/time/hedge.hpp>
#include <coracle/time/sleep.hpp>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace coracle::net {
/// The time after which the next address is tried concurrently: RFC 8305, section 5.
inline constexpr std::chrono::milliseconds next_attempt_after{250};

namespace detail {
inline task<socket> connect_to(io_service& service, ip_endpoint address) {
  socket connection = address.is_ipv4() ? socket::create_tcpv4(service) : socket::create_tcpv6(service);
  co_await connection.connect(address);
  co_return connection;
}
struct connect_attempt {
  io_service& service;
  const std::vector<ip_endpoint>& addresses;

  CORACLE_CORO_WRAPPER() task<socket> operator()(unsigned number) const {
    return connect_to(service, addresses[number]);
  }
};
}  // namespace detail

/// Awaitable of a TCP connection to the first of `addresses` that answers, a socket of `service`. The
/// addresses are tried in order: the next one after 250 ms, concurrently with the earlier attempts, or
/// immediately if those have failed. The losing attempts are cancelled. Requires: `addresses` is not empty.
///
/// Resumes on    the executor on which it was awaited.
/// Cancellation  cancels all attempts.
/// Exceptions    if no address answers, as hedge(): the error of the only attempt, or an error_group of all
///               errors.
/// Cost          a frame and a socket for each attempt.
[[nodiscard("nothing is connected until this is awaited")]] inline task<socket> connect(
    io_service& service, std::vector<ip_endpoint> addresses) {
  CORACLE_REQUIRE(!addresses.empty(), "connect() was given no address");
  const detail::connect_attempt attempt{service, addresses};
  socket first = co_await hedge(next_attempt_after, attempt, static_cast<unsigned>(addresses.size()));
  co_return first;
}
/// The same for a host and a service, by name or number: see resolve(), whose errors it also throws.
///
///     socket connection = co_await coracle::timeout(coracle::net::connect(io, "example.org", "https"), 5s);
///
[[nodiscard("nothing is connected until this is awaited")]] inline task<socket> connect(io_service& service,
                                                                                        std::string host,
                                                                                        std::string port) {
  std::vector<ip_endpoint> found = co_await resolve(std::move(host), std::move(port));
  socket first = co_await connect(service, std::move(found));
  co_return first;
}

/// Awaitable of a stream to the Unix socket at `remote`. The system does not report when a full backlog has
/// room again, so while it is full this retries after 1 ms, then after twice the previous delay, at most 128
/// ms.
///
/// Resumes on    the executor on which it was awaited.
/// Cancellation  ends the attempt or the wait at once.
/// Exceptions    those of unix_socket::connect(), but for a full backlog.
/// Cost          a frame and a socket.
[[nodiscard("nothing is connected until this is awaited")]] inline task<unix_socket> connect(
    io_service& service, unix_address remote) {
  constexpr std::chrono::milliseconds longest{128};
  unix_socket connection = unix_socket::create(service, unix_kind::stream);
  for (std::chrono::milliseconds delay{1};; delay = delay < longest ? 2 * delay : longest) {
    const auto connected = co_await coracle::detail::unless_error(std::errc::resource_unavailable_try_again,
                                                                  connection.connect(remote));
    if (connected) co_return connection;
    co_await sleep_for(delay);
  }
}
}  // namespace coracle::net
