// coracle/net/accept_with_backoff.hpp -- accept connections, and survive shortages of descriptors or memory.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/base/chrono.hpp>
#include <coracle/base/functional.hpp>
#include <coracle/compose/as_outcome.hpp>
#include <coracle/core/detail/library_task.hpp>
#include <coracle/core/task.hpp>
#include <coracle/io/io_result.hpp>
#include <coracle/io/owned_descriptor.hpp>
#include <coracle/net/socket.hpp>
#include <exception>
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

/// Refuses connections for which there is no descriptor: closes a spare one to accept the connection, and
/// closes the connection.
struct refusals {
  /// `on_refusal`, if not empty, is called with an error for each refused connection.
  explicit refusals(std::function<void(std::exception_ptr)> on_refusal) : told(std::move(on_refusal)) {
    renew_spare();
  }
  /// Returns false if no descriptor is available.
  bool renew_spare() noexcept;
  void tell() const;

  owned_descriptor spare;
  std::function<void(std::exception_ptr)> told;
};

/// The first delay after a shortage of descriptors or memory.
inline constexpr std::chrono::milliseconds after_shortage{10};

coracle::detail::library_task<> pause_body(std::chrono::milliseconds duration);
coracle::detail::library_task<> pause_body(std::chrono::milliseconds duration, stop_token token);
/// Sleeps. A token that can be stopped replaces the inherited one.
CORACLE_CORO_WRAPPER()
inline task<> pause(std::chrono::milliseconds duration, stop_token token) {
  if (token == stop_token{}) return pause_body(duration);
  return pause_body(duration, std::move(token));
}
}  // namespace detail

/// A source of connections: a socket, a unix_socket, or a type of your own. `accept(token)` is an awaitable
/// of the next connection.
template <class T>
concept connection_listener = requires(T& from, stop_token token) {
  { from.accept(token) } -> awaitable;
};
/// The type of its connections.
template <connection_listener Listener>
using accepted_from = await_result_t<decltype(std::declval<Listener&>().accept(stop_token{}))>;

namespace detail {
/// As accept_with_backoff(). With `refused`, a connection for which there is still no descriptor after 10 ms
/// is refused; if there is not even a spare one to do so with, it tries again every 20 ms.
template <connection_listener Listener>
task<accepted_from<Listener>> accept_one(Listener& listener, stop_token token, refusals* refused) {
  const std::chrono::milliseconds longest{refused ? 20 : 1000};
  const auto accept = [&] { return listener.accept(token); };
  for (std::chrono::milliseconds delay = after_shortage;;) {
    auto end = co_await coracle::detail::passing(accept);
    if (end.has_value()) {
      accepted_from<Listener> accepted = std::move(end).get();
      if (!refused || refused->renew_spare()) co_return accepted;
      accepted.close();
      refused->renew_spare();
      refused->tell();
      delay = after_shortage;
      continue;
    }
    const after_failed_accept next = detail::after(error_code_of(end.error()));
    if (next == after_failed_accept::give_up) {
      co_await coracle::detail::ends_unless_value(end);
      static_cast<void>(std::move(end).get());
    }
    if (next == after_failed_accept::accept_next) continue;
    if (refused && refused->spare.is_open() && delay != after_shortage) {
      refused->spare.close();
      continue;
    }
    co_await pause(delay, token);
    delay = delay < longest / 2 ? 2 * delay : longest;
  }
}
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
/// Prefer serve(), which also refuses connections that it cannot handle, or limit concurrency with an
/// async_semaphore of fewer permits than there are descriptors, so that clients do not compete with the rest
/// of the program for them.
/// Order         as accept(). While one caller waits after a shortage, others that accept on the same socket
///               overtake it.
/// Resumes on    as accept(); outside any executor, after a delay, the program's timer thread.
/// Cancellation  ends the wait immediately, including the delay between two attempts; no connection is lost.
/// Exceptions    operation_cancelled; std::system_error for a permanent error, such as a socket that does not
///               listen.
/// Threads       as accept().
/// Cost          a frame, in addition to accept(), and exceptions for each failed attempt.
template <connection_listener Listener>
[[nodiscard("nothing is accepted until this is awaited")]] CORACLE_CORO_WRAPPER()
    task<accepted_from<Listener>> accept_with_backoff(Listener& listener, stop_token token = {}) {
  return detail::accept_one(listener, std::move(token), nullptr);
}
}  // namespace coracle::net
