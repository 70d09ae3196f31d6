// coracle/net/accept_with_backoff.hpp -- accept connections, surviving a shortage of descriptors or memory.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/base/chrono.hpp>
#include <coracle/base/functional.hpp>
#include <coracle/core/task.hpp>
#include <coracle/core/with_environment.hpp>
#include <coracle/io/owned_descriptor.hpp>
#include <coracle/net/socket.hpp>
#include <coracle/time/sleep.hpp>
#include <exception>
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

/// Refuses connections that find no descriptor: each is accepted in place of a spare one, and closed.
struct refusals {
  /// `told` gets an error of each, if it is not empty.
  explicit refusals(std::function<void(std::exception_ptr)> whom) : told(std::move(whom)) { renew_spare(); }
  /// Returns false if there is no descriptor for it.
  bool renew_spare() noexcept;
  void tell() const;

  owned_descriptor spare;
  std::function<void(std::exception_ptr)> told;
};
}  // namespace detail

/// What connections are accepted from: a socket, a unix_socket, or your own, whose `accept(token)` awaits the next one.
template <class T>
concept connection_listener = requires(T& from, stop_token token) {
  { from.accept(token) } -> awaitable;
};
/// What such a listener gives.
template <connection_listener Listener>
using accepted_from = await_result_t<decltype(std::declval<Listener&>().accept(stop_token{}))>;

namespace detail {
/// As accept_with_backoff(). With `refused`, a connection that still finds no descriptor after 10 ms is refused.
template <connection_listener Listener>
task<accepted_from<Listener>> accept_one(Listener& listener, stop_token token, refusals* refused) {
  constexpr std::chrono::milliseconds first{10}, longest{1000};
  for (std::chrono::milliseconds delay = first;;) {
    after_failed_accept next{};
    try {
      accepted_from<Listener> accepted = co_await listener.accept(token);
      if (!refused || refused->renew_spare()) co_return accepted;
      accepted.close();
      refused->renew_spare();
      refused->tell();
      delay = first;
      continue;
    } catch (const std::system_error& failure) {
      next = detail::after(failure.code());
      if (next == detail::after_failed_accept::give_up) throw;
    }
    if (next == detail::after_failed_accept::accept_next) continue;
    if (refused && refused->spare.is_open() && delay != first) {
      refused->spare.close();
      continue;
    }
    if (token == stop_token{}) {
      co_await sleep_for(delay);
    } else {
      co_await with_stop(sleep_for(delay), token);
    }
    delay = delay < longest / 2 ? 2 * delay : longest;
  }
}
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
/// Prefer serve(), which also refuses what cannot be served; an async_semaphore of fewer permits than there are descriptors where clients are to be turned away, or served
/// one after the other, rather than to compete with the rest of the program for them.
/// Order         as accept(). Of several that accept on one socket, those that wait are passed by others.
/// Resumes on    as accept(); outside any executor, where it has waited, the thread of the program's timers.
/// Cancellation  ends the wait at once, that between two attempts as well; the connection is still there.
/// Exceptions    operation_cancelled; std::system_error for what does not pass, such as a socket that does not listen.
/// Threads       as accept().
/// Cost          a frame, in addition to accept(), and an exception for each attempt that fails.
template <connection_listener Listener>
[[nodiscard("nothing is accepted until this is awaited")]] CORACLE_CORO_WRAPPER()
    task<accepted_from<Listener>> accept_with_backoff(Listener& listener, stop_token token = {}) {
  return detail::accept_one(listener, std::move(token), nullptr);
}
}  // namespace coracle::net
