// coracle/net/accept_with_backoff.hpp -- accept connections, surviving a shortage of descriptors or memory.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/base/chrono.hpp>
#include <coracle/core/task.hpp>
#include <coracle/core/with_environment.hpp>
#include <coracle/net/socket.hpp>
#include <coracle/time/sleep.hpp>
#include <system_error>
#include <utility>

namespace coracle::net {
namespace detail {
/// What a server does next when accept() has failed.
enum class after_failed_accept {
  accept_next,  ///< that one connection had failed before it was accepted
  wait,         ///< the system has no descriptor, or no memory, for another one
  give_up       ///< the socket accepts nothing
};
[[nodiscard]] after_failed_accept after(const std::error_code& failure) noexcept;
}  // namespace detail

/// Awaitable of the next connection, as `listener.accept(token)`, for a server that goes on where accept() fails for a
/// passing reason. For want of descriptors or memory (EMFILE, ENFILE, ENOBUFS, ENOMEM) it tries again after 10 ms, then
/// after twice as long each time, at most a second; meanwhile connections wait in the listener's backlog. One that failed
/// before it was accepted (ECONNABORTED, EPROTO, and errors of its network) is passed over at once.
///
///     for (;;) {
///       socket client = co_await coracle::net::accept_with_backoff(listener);
///       clients.spawn(serve(std::move(client)));
///     }
///
/// Prefer an async_semaphore of fewer permits than there are descriptors where clients are to be turned away, or served
/// one after the other, rather than to compete with the rest of the program for them.
/// Order         as accept(). Of several that accept on one socket, those that wait are passed by others.
/// Resumes on    as accept(); outside any executor, where it has waited, the thread of the program's timers.
/// Cancellation  ends the wait at once, that between two attempts as well; the connection is still there.
/// Exceptions    operation_cancelled; std::system_error for what does not pass, such as a socket that does not listen.
/// Threads       as accept().
/// Cost          a frame, in addition to accept(), and an exception for each attempt that fails.
[[nodiscard("nothing is accepted until this is awaited")]] inline task<socket> accept_with_backoff(
    socket& listener, stop_token token = {}) {
  constexpr std::chrono::milliseconds longest{1000};
  for (std::chrono::milliseconds delay{10};;) {
    detail::after_failed_accept next{};
    try {
      socket accepted = co_await listener.accept(token);
      co_return accepted;
    } catch (const std::system_error& failure) {
      next = detail::after(failure.code());
      if (next == detail::after_failed_accept::give_up) throw;
    }
    if (next == detail::after_failed_accept::accept_next) continue;
    if (token == stop_token{}) {
      co_await sleep_for(delay);
    } else {
      co_await with_stop(sleep_for(delay), token);
    }
    delay = delay < longest / 2 ? 2 * delay : longest;
  }
}
}  // namespace coracle::net
