// coracle/net/resolve.hpp -- the addresses of a host.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/core/task.hpp>
#include <coracle/exec/blocking.hpp>
#include <coracle/net/ip_endpoint.hpp>
#include <string>
#include <system_error>
#include <vector>

namespace coracle::net {
/// Of the errors of resolve(): the codes of getaddrinfo(3), such as EAI_NONAME. EAI_SYSTEM never occurs: its error is one of
/// std::system_category().
[[nodiscard]] const std::error_category& resolver_category() noexcept;

namespace detail {
/// Blocks.
[[nodiscard]] std::vector<ip_endpoint> look_up(const std::string& host, const std::string& service);
}  // namespace detail

/// Awaitable of the TCP endpoints of `service`, a name such as "https" or a number such as "443", on `host`, a name or an
/// address: at least one, those that the system prefers first, and the families IPv6 and IPv4 in turn (RFC 8305, section 4).
///
///     const std::vector<ip_endpoint> found = co_await coracle::net::resolve("example.org", "https");
///
/// Prefer connect() to talk to one of them.
/// Resumes on    the executor on which it was awaited; if there is none, a thread of the blocking pool.
/// Cancellation  ends the wait for a thread; a look-up that has begun is waited for, since the system cannot cancel it.
/// Exceptions    std::system_error with the host's name; std::bad_alloc; operation_cancelled.
/// Threads       any number at once.
/// Cost          a thread of the program's blocking pool for as long as getaddrinfo(3) takes: microseconds to many seconds.
[[nodiscard("nothing is looked up until this is awaited")]] inline task<std::vector<ip_endpoint>> resolve(
    std::string host, std::string service) {
  const auto call = [&] { return detail::look_up(host, service); };
  std::vector<ip_endpoint> found = co_await blocking(call);
  co_return found;
}
}  // namespace coracle::net
