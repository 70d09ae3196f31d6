// coracle/net/accept_with_backoff.hpp -- accept connections, and survive shortages of descriptors or memory.
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
  accept_next,  ///< only this connection failed, before it was accepted
  wait,         ///< the system has no descriptor or no memory left
  give_up       ///< the listener has failed
};
[[nodiscard]] after_failed_accept after(const std::error_code& failure) noexcept;
}  // namespace detail

/// Awaitable of the next connection, as `listener.accept(token)`, for a server that must survive transient
/// errors of accept(). After a shortage of descriptors or memory (EMFILE, ENFILE, ENOBUFS, ENOMEM) it tries
/// again after 10 ms, and doubles the delay each time, up to one second; meanwhile connections wait in the
/// listener's backlog. A connection that failed before it was accepted (ECONNABORTED, EPROTO, and errors of
/// its network) is skipped.
///
///     for (;;) {
///       socket client = co_await coracle::net::accept_with_backoff(listener);
///       clients.spawn(serve(std::move(client)));
///     }
///
/// Prefer to limit concurrency, with an async_semaphore of fewer permits than there are descriptors or with
/// serve(), so that clients do not compete with the rest of the program for descriptors.
/// Order         as accept(). While one caller waits after a shortage, others that accept on the same socket
///               overtake it.
/// Resumes on    as accept(); outside any executor, after a delay, the program's timer thread.
/// Cancellation  ends the wait immediately, including the delay between two attempts; no connection is lost.
/// Exceptions    operation_cancelled; std::system_error for a permanent error, such as a socket that does not
///               listen.
/// Threads       as accept().
/// Cost          a frame, in addition to accept(), and an exception for each failed attempt.
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
