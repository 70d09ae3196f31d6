// coracle/net/serve.hpp -- a server: accept connections, as many at a time as are allowed, and let them end in peace.
// SPDX-License-Identifier: MIT
#pragma once
#include <chrono>
#include <concepts>
#include <coracle/compose/async_scope.hpp>
#include <coracle/core/operation_cancelled.hpp>
#include <coracle/core/task.hpp>
#include <coracle/core/with_environment.hpp>
#include <coracle/net/accept_with_backoff.hpp>
#include <coracle/net/socket.hpp>
#include <coracle/sync/async_semaphore.hpp>
#include <coracle/time/timeout.hpp>
#include <cstddef>
#include <exception>
#include <utility>

namespace coracle::net {
/// How much a server takes on, and how long it takes to stop.
struct serve_limits {
  std::ptrdiff_t connections = 1000;  ///< at a time; more wait in the listener's backlog
  std::chrono::nanoseconds drain =
      std::chrono::seconds{10};  ///< for so long connections may go on after a stop request
};

namespace detail {
template <class Handler, class Connection>
concept connection_handler =
    std::invocable<Handler&, Connection> && awaitable_of<std::invoke_result_t<Handler&, Connection>, void>;

/// Holds its place until the handler has ended.
template <class Handler, class Connection>
task<> handle_connection(Handler& handler, Connection client, [[maybe_unused]] async_semaphore_permit place) {
  co_await handler(std::move(client));
}
template <class Listener, class Handler>
task<> accept_all(Listener& listener, Handler& handler, async_scope& clients, async_semaphore& places,
                  refusals refused) {
  for (;;) {
    async_semaphore_permit place = co_await places.scoped_acquire();
    accepted_from<Listener> client = co_await accept_one(listener, {}, &refused);
    clients.spawn(handle_connection(handler, std::move(client), std::move(place)));
  }
}
}  // namespace detail

/// Accepts connections on `listener`, a socket or a unix_socket, and starts `handler(connection)` for each, a task.
///
///     const auto echo = [](socket client) -> coracle::task<> { ... };
///     co_await coracle::when_any(signals.wait(), serve(listener, echo, {.connections = 5000, .drain = 5s}));
///
/// It goes on until it is stopped, or the listener fails. Then it accepts no more, and waits for the connections; those that
/// have not ended when `limits.drain` is over are asked to stop. None outlives it.
///
/// Order         connections are handled at the same time. When there are as many as `limits.connections`, the next one is
///               accepted once another has ended. One that finds no free descriptor (EMFILE, ENFILE) is refused after
///               10 ms: closed at once, so that its client need not wait for an answer in vain.
/// Resumes on    handlers start, and it continues, where it was awaited.
/// Cancellation  as said: no connection is cut off before the time is over. Then it throws operation_cancelled. Handlers
///               inherit no stop token, deadline or value from here.
/// Exceptions    an error of a handler ends that connection alone, and goes to `on_error`, if there is one, which must not
///               throw; a refused connection is std::errc::too_many_files_open there. A handler that was cancelled has no error. Errors of accept() that pass are waited out
///               (accept_with_backoff()); others are thrown, after the connections have ended. std::bad_alloc.
/// Threads       the listener is not used otherwise meanwhile, and outlives it.
/// Cost          a frame and a child of an async_scope for each connection, beside the handler's own frame; a descriptor
///               that is kept spare.
template <connection_listener Listener, detail::connection_handler<accepted_from<Listener>> Handler>
[[nodiscard("nothing is accepted until this is awaited")]] task<> serve(
    Listener& listener, Handler handler, serve_limits limits = {}, scope_policy::handler on_error = nullptr) {
  if (!on_error) on_error = [](const std::exception_ptr&) {};
  async_semaphore places{limits.connections};
  async_scope clients{scope_policy::supervise(on_error)};
  std::exception_ptr end;
  try {
    detail::refusals refused{std::move(on_error)};
    co_await detail::accept_all(listener, handler, clients, places, std::move(refused));
  } catch (...) {
    end = std::current_exception();
  }
  try {
    co_await shielded(stop_after(clients.join(), limits.drain));
  } catch (const operation_cancelled&) {  // some did not end in time
  }
  std::rethrow_exception(end);
}
}  // namespace coracle::net
