// SPDX-License-Identifier: MIT
#include <cerrno>
#include <coracle/net/accept_with_backoff.hpp>

namespace coracle::net {
detail::after_failed_accept detail::after(const std::error_code& failure) noexcept {
  if (failure.category() != std::system_category()) return after_failed_accept::give_up;
  switch (failure.value()) {
    case EMFILE:
    case ENFILE:
    case ENOBUFS:
    case ENOMEM:
      return after_failed_accept::wait;
    // Linux returns errors that are pending on the new connection: accept(2). ENETDOWN, EPERM and EOPNOTSUPP
    // are not listed, because they may be the listener's, and would then recur forever.
    case ECONNABORTED:
    case ECONNRESET:
    case EPROTO:
    case ENOPROTOOPT:
    case ENONET:
    case EHOSTDOWN:
    case EHOSTUNREACH:
    case ENETUNREACH:
      return after_failed_accept::accept_next;
    default:
      return after_failed_accept::give_up;
  }
}
}  // namespace coracle::net
