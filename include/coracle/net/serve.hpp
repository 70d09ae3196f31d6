// coracle/net/serve.hpp -- a server: limits concurrent connections and lets them finish before it stops.
// SPDX-License-Identifier: MIT
#pragma once
#include <chrono>
#include <concepts>
#include <coracle/compose/as_outcome.hpp>
#include <coracle/compose/async_scope.hpp>
#include <coracle/core/detail/library_task.hpp>
#include <coracle/core/task.hpp>
#include <coracle/net/accept_with_backoff.hpp>
#include <coracle/net/socket.hpp>
#include <coracle/sync/async_semaphore.hpp>
#include <cstddef>
#include <exception>
#include <new>
#include <utility>

namespace coracle::net {
/// The limits of a server: how many connections it handles concurrently, and how long it takes to stop.
struct serve_limits {
  /// Concurrent connections, at least 1; further ones wait in the listener's backlog.
  std::ptrdiff_t connections = 1000;
  /// The time for which connections may continue after a stop request.
  std::chrono::nanoseconds drain = std::chrono::seconds{10};
};

namespace detail {
template <class Handler, class Connection>
concept connection_handler =
    std::invocable<Handler&, Connection> && awaitable_of<std::invoke_result_t<Handler&, Connection>, void>;

/// Holds its permit until the handler has ended.
template <class Handler, class Connection>
task<> handle_connection(Handler& handler, Connection client,
                         [[maybe_unused]] async_semaphore_permit permit) {
  co_await handler(std::move(client));
}
/// Requires: at least 1 connection.
[[nodiscard]] std::ptrdiff_t permits_for(const serve_limits& limits) noexcept;
coracle::detail::library_task<> drain_body(async_scope& clients, std::chrono::nanoseconds patience,
                                           bool& joins);
/// Waits until the connections have ended, and requests them to stop after `patience`. Cannot be stopped.
/// Sets `joins` when the wait has begun; before that there may be no memory for it.
CORACLE_CORO_WRAPPER()
inline task<> drain(async_scope& clients, std::chrono::nanoseconds patience, bool& joins) {
  return drain_body(clients, patience, joins);
}
template <class Listener, class Handler>
task<> accept_all(Listener& listener, Handler& handler, async_scope& clients, async_semaphore& permits,
                  refusals refused) {
  for (;;) {
    async_semaphore_permit permit = co_await permits.scoped_acquire();
    CORACLE_TRY() {
      accepted_from<Listener> client = co_await accept_one(listener, {}, &refused);
      clients.spawn(handle_connection(handler, std::move(client), std::move(permit)));
      continue;
    }
    CORACLE_CATCH(const std::bad_alloc&, error) { refused.told(std::current_exception()); }
    co_await pause(after_shortage, {});  // if there is no memory even for this, serve() ends
  }
}
}  // namespace detail

/// Accepts connections on `listener`, a socket or a unix_socket, and starts the task `handler(connection)`
/// for each.
///
///     const auto echo = [](socket client) -> coracle::task<> { ... };
///     co_await coracle::when_any(signals.wait(), serve(listener, echo, {.connections = 5000, .drain = 5s}));
///
/// Runs until it is stopped, or the listener fails. Then it accepts no more connections and waits for the
/// remaining ones; when `limits.drain` has passed, it requests them to stop. No connection outlives it.
///
/// Order         connections are handled concurrently. While there are `limits.connections`, the next one is
///               accepted when another has ended. A connection for which there is no descriptor (EMFILE,
///               ENFILE) is refused after 10 ms: it is closed, so that its client does not wait for nothing.
///               If serve() begins when no descriptor is free, connections wait until one is, which becomes
///               the spare one.
/// Resumes on    handlers start, and serve() resumes, where serve() was awaited.
/// Cancellation  stops accepting; connections get until the end of `limits.drain` before stop is requested
///               for them. Then serve() throws operation_cancelled, also as the loser of a race. Handlers do
///               not inherit its stop token, deadline or task-local values.
/// Exceptions    an exception of a handler ends only its connection, and is passed to `on_error`, if given,
///               which must not throw; operation_cancelled is not. A refused connection is reported there as
///               std::errc::too_many_files_open. Transient errors of accept() are retried
///               (accept_with_backoff()); others are thrown after the connections have ended. std::bad_alloc,
///               likewise; without memory for the time limit, they are stopped at once.
/// Threads       the listener must outlive serve(), and must not be used otherwise meanwhile.
/// Cost          a spare descriptor; for each connection a frame and a child of an async_scope, in addition
///               to the handler's own frame.
template <connection_listener Listener, detail::connection_handler<accepted_from<Listener>> Handler>
[[nodiscard("nothing is accepted until this is awaited")]] task<> serve(
    Listener& listener, Handler handler, serve_limits limits = {}, scope_policy::handler on_error = nullptr) {
  if (!on_error) on_error = [](const std::exception_ptr&) {};
  async_semaphore permits{detail::permits_for(limits)};
  async_scope clients{scope_policy::supervise(on_error)};
  outcome<void> end = co_await coracle::detail::passing(
      detail::accept_all(listener, handler, clients, permits, detail::refusals{std::move(on_error)}));
  bool joins = false;
  CORACLE_TRY() { static_cast<void>(co_await as_outcome(detail::drain(clients, limits.drain, joins))); }
  CORACLE_CATCH_ALL() {}  // no memory for its frame
  if (!joins) {
    clients.request_stop();
    static_cast<void>(co_await as_outcome(clients.join()));
  }
  if constexpr (!CORACLE_EXCEPTIONS()) co_await coracle::detail::ends_unless_value(end);
  end.get();  // throws also where a task is usually ended without an exception
}
namespace detail {
template <class Listener, class Handler>
inline constexpr bool can_serve = connection_listener<Listener> &&
                                  requires { requires connection_handler<Handler, accepted_from<Listener>>; };
}  // namespace detail
template <class Listener, class Handler>
  requires(!detail::can_serve<Listener, Handler>)
auto serve(Listener&, const Handler&, serve_limits = {}, scope_policy::handler = nullptr) {
  static_assert(!sizeof(Handler*),
                "serve() needs a listener, such as a socket or unix_socket, and a function that takes a "
                "connection of it by value and returns a task: [](socket client) -> coracle::task<> { ... }");
  return coracle::detail::any_awaiter{};
}

namespace detail {
template <class Limits>
auto no_serve_limits() noexcept {
  static_assert(!sizeof(std::decay_t<Limits>*),
                "the limits before on_error are serve_limits, such as {.connections = 100}, or {}");
  return coracle::detail::any_awaiter{};
}
template <class OnError>
auto no_error_handler() noexcept {
  static_assert(!sizeof(std::decay_t<OnError>*),
                "on_error takes a std::exception_ptr: [](const std::exception_ptr& error) { ... }");
  return coracle::detail::any_awaiter{};
}
}  // namespace detail
template <class Listener, class Handler, class Limits, class... Rest>
  requires(!std::is_convertible_v<Limits, serve_limits>)
auto serve(Listener&&, Handler&&, Limits&&, Rest&&...) {
  return detail::no_serve_limits<Limits>();
}
template <class Listener, class Handler, class OnError>
  requires(!std::is_convertible_v<OnError, scope_policy::handler>)
auto serve(Listener&&, Handler&&, const serve_limits&, OnError&&) {
  return detail::no_error_handler<OnError>();
}
}  // namespace coracle::net
