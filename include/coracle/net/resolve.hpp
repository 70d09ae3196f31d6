// coracle/net/resolve.hpp -- the addresses of a host.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/core/detail/library_task.hpp>
#include <coracle/core/task.hpp>
#include <coracle/net/ip_endpoint.hpp>
#include <cstdint>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace coracle::net {
/// The category of the errors of resolve(): the codes of getaddrinfo(3), such as EAI_NONAME. EAI_SYSTEM never
/// occurs: resolve() reports the underlying error, in std::system_category().
[[nodiscard]] const std::error_category& resolver_category() noexcept;

namespace detail {
coracle::detail::library_task<std::vector<ip_endpoint>> resolve_body(std::string host, std::string service);
}  // namespace detail

/// Awaitable of the TCP endpoints, at least one, of `service` (a name such as "https" or a number such as
/// "443") on `host` (a name or an address). They are in the system's order of preference, but alternate
/// between IPv6 and IPv4 (RFC 8305, section 4). The zone of a link-local address, as in "fe80::1%eth0", is
/// dropped: an endpoint has none.
///
///     const std::vector<ip_endpoint> found = co_await coracle::net::resolve("example.org", "https");
///
/// Prefer connect() to talk to one of them.
/// Resumes on    the executor on which it was awaited; if there is none, a thread of the blocking pool.
/// Cancellation  ends the wait for a thread; has no effect once the look-up has begun, since the system
///               cannot cancel it.
/// Exceptions    std::system_error with the name that has no address or no port, and with
///               std::errc::too_many_files_open if no descriptor is free for the look-up; std::bad_alloc;
///               operation_cancelled.
/// Threads       may be called from any number of threads concurrently.
/// Cost          a thread of the program's blocking pool while getaddrinfo(3) runs: microseconds to many
///               seconds.
CORACLE_CORO_WRAPPER()
inline task<std::vector<ip_endpoint>> resolve(std::string host, std::string service) {
  return detail::resolve_body(std::move(host), std::move(service));
}
CORACLE_CORO_WRAPPER()
inline task<std::vector<ip_endpoint>> resolve(std::string host, std::uint16_t port) {
  return detail::resolve_body(std::move(host), std::to_string(port));
}
}  // namespace coracle::net
