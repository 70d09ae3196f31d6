// coracle/compose/with_scope.hpp -- a scope that is joined on every way out.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/compose/as_outcome.hpp>
#include <coracle/compose/async_scope.hpp>
#include <coracle/core/invoke.hpp>
#include <coracle/core/task.hpp>

namespace coracle {
namespace detail {
template <class Body, class... Args>
using scope_body_result_t = kept_result_t<std::invoke_result_t<Body&, async_scope&, Args...>>;
template <class Body, class... Args>
concept scope_body = std::is_invocable_v<Body&, async_scope&, Args...> &&
                     awaitable<std::invoke_result_t<Body&, async_scope&, Args...>>;

/// The body is a child, so its errors are reported together with those of the others; its cancellation is
/// kept here. Where `on_error` gets the errors of the others, that of the body is kept here, too.
template <class T, class Body, class... Args>
task<> run_body(outcome<T>& end, bool has_on_error, async_scope& scope, Body& body, Args&... args) {
  CORACLE_TRY() {
    auto own = co_await detail::passing(detail::call(body, scope, static_cast<Args&&>(args)...));
    if (!own.has_value()) [[unlikely]] {
      end = std::move(own);
    } else if constexpr (std::is_void_v<T>) {
      end.emplace();
    } else {
      end.emplace(std::move(own).get());
    }
  }
  CORACLE_CATCH_ALL() { end.emplace_failure(std::current_exception()); }
  if (end.has_error() && !has_on_error) {
    co_await ends_unless_value(end);
    static_cast<void>(std::move(end).get());
  }
}
template <class T, class Body, class... Args>
task<T> run_in_scope(scope_policy policy, Body body, Args... args) {
  const parent_of_children parent = co_await parent_of_children();
  if (const stop_reason why = parent.inherited().stop.reason(); why != stop_reason::none)
    co_await ends_as_stopped(why);
  const bool has_on_error(policy.on_error());
  async_scope scope{std::move(policy), parent};
  outcome<T> end;
  outcome<void> spawned;
  spawned.emplace_from([&] { scope.spawn(run_body<T>(end, has_on_error, scope, body, args...)); });
  co_await scope.join();
  co_await ends_unless_value(spawned);
  std::move(spawned).get();
  co_await ends_unless_value(end);
  co_return std::move(end).get();
}
}  // namespace detail

/// Calls `body(scope, args...)`, awaits what it returns, joins the scope, and returns the body's result.
///
///     const auto serve_all = [&](coracle::async_scope& scope) -> coracle::task<> {
///       for (int i = 0; i != 10; ++i) scope.spawn(serve(i));
///       co_await serve_the_boss();
///     };
///     co_await coracle::with_scope(serve_all);
///
/// `body` and `args` are moved in, or copied, and live until the scope is joined; the arguments are passed on
/// as rvalues. Give a lambda a name: if it is a temporary in a co_await, g++ 12 destroys its captures twice.
/// Order         the body is the scope's first child.
/// Resumes on    the executor of the awaiting coroutine; without one, where the last child ended.
/// Cancellation  body and children inherit the environment; all are stopped by a stop request to it, by
///               scope.request_stop() and, by default, when the first of them fails. All are joined. Then
///               operation_cancelled is thrown if the body was cancelled, or if a request from outside
///               cancelled a child.
/// Exceptions    those of the body and the children, as thrown by async_scope::join(). std::bad_alloc. With
///               scope_policy::supervise(), `on_error` receives those of the children, and that of the body
///               is thrown when all have ended.
/// Cost          as async_scope, and two frames.
template <class Body, class... Args>
  requires detail::scope_body<std::decay_t<Body>, std::decay_t<Args>...>
CORACLE_CORO_WRAPPER()
auto with_scope(scope_policy policy, Body&& body, Args&&... args) {
  using result = detail::scope_body_result_t<std::decay_t<Body>, std::decay_t<Args>...>;
  return detail::run_in_scope<result, std::decay_t<Body>, std::decay_t<Args>...>(
      std::move(policy), static_cast<Body&&>(body), static_cast<Args&&>(args)...);
}
template <class Body, class... Args>
  requires detail::scope_body<std::decay_t<Body>, std::decay_t<Args>...>
CORACLE_CORO_WRAPPER()
auto with_scope(Body&& body, Args&&... args) {
  return coracle::with_scope(scope_policy::fail_fast(), static_cast<Body&&>(body),
                             static_cast<Args&&>(args)...);
}
template <class... Ts>
auto with_scope(Ts&&...) {
  static_assert(
      detail::never<Ts...>,
      "with_scope needs, perhaps after a scope_policy, a function that takes an async_scope& and "
      "returns a task: [&](coracle::async_scope& scope) -> coracle::task<> { ... }; what else it takes "
      "follows it");
  return detail::any_awaiter{};
}
}  // namespace coracle
