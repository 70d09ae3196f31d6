// SPDX-License-Identifier: MIT
#include <sys/eventfd.h>

#include <cerrno>
#include <coracle/core/with_environment.hpp>
#include <coracle/net/accept_with_backoff.hpp>
#include <coracle/time/sleep.hpp>

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

bool detail::refusals::renew_spare() noexcept {
  // Any descriptor does, and this one needs no file.
  if (!spare.is_open()) spare = owned_descriptor{::eventfd(0, EFD_CLOEXEC)};
  return spare.is_open();
}
void detail::refusals::tell() const {
  if (!told) return;
  const std::system_error why{EMFILE, std::system_category(), "a connection was refused"};
  told(std::make_exception_ptr(why));
}
coracle::detail::library_task<> detail::pause_body(std::chrono::milliseconds duration) {
  co_await sleep_for(duration);
}
coracle::detail::library_task<> detail::pause_body(std::chrono::milliseconds duration, stop_token token) {
  auto sleep = with_stop(sleep_for(duration), std::move(token));
  co_await std::move(sleep);
}
}  // namespace coracle::net
