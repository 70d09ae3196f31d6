// coracle/compose/with_scope.hpp -- a scope that is joined on every way out.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/compose/async_scope.hpp>
#include <coracle/core/task.hpp>
#include <functional>

namespace coracle {
namespace detail {
template <class Body>
using scope_body_result_t = await_result_t<std::invoke_result_t<Body&, async_scope&>>;
template <class Body>
concept scope_body =
    std::invocable<Body&, async_scope&> && awaitable<std::invoke_result_t<Body&, async_scope&>>;

/// As a child, the body throws its errors where the errors of the others go; its cancellation it keeps for itself.
template <class T, class Body>
task<> run_body(outcome<T>& end, Body& body, async_scope& scope) {
#if CORACLE_EXCEPTIONS()
  try {
#endif
    if constexpr (std::is_void_v<T>) {
      co_await std::invoke(body, scope);
      end.emplace();
    } else {
      end.emplace(co_await std::invoke(body, scope));
    }
#if CORACLE_EXCEPTIONS()
  } catch (const operation_cancelled& cancelled) {
    end.emplace_cancelled(cancelled.reason());
  }
#endif
}
template <class T, class Body>
task<T> run_in_scope(scope_policy policy, Body body) {
  const environment* const around = co_await read_environment([](const environment& here) { return &here; });
  if (around->stop.stop_requested()) throw_cancelled(around->stop.reason());
  async_scope scope{std::move(policy), *around};
  outcome<T> end;
  outcome<void> spawned;
  spawned.emplace_from([&] { scope.spawn(run_body<T>(end, body, scope)); });
  co_await scope.join();
  std::move(spawned).get();
  co_return std::move(end).get();
}
}  // namespace detail

/// Calls `body(scope)`, awaits what that returns, joins the scope, and gives the body's result.
///
///     const auto serve_all = [&](coracle::async_scope& scope) -> coracle::task<> {
///       for (int i = 0; i != 10; ++i) scope.spawn(serve(i));
///       co_await serve_the_boss();
///     };
///     co_await coracle::with_scope(serve_all);
///
/// `body` is moved in, or copied; it lives until the scope is joined. Give it a name: g++ 12 destroys a capture of
/// a lambda twice that is a temporary in a co_await.
/// Order         the body is the scope's first child.
/// Resumes on    the executor of the awaiting coroutine; if it has none, where the last child ended.
/// Cancellation  body and children inherit the environment; all are stopped by a stop request to it, by
///               scope.request_stop() and, by default, when the first of them fails. All are joined. Then it throws
///               operation_cancelled if the body was cancelled, or a child was by a request from outside.
/// Exceptions    those of the body and of the children as join() of async_scope throws them. std::bad_alloc.
/// Cost          as async_scope, and two frames.
template <class Body>
  requires detail::scope_body<std::decay_t<Body>>
CORACLE_CORO_WRAPPER()
auto with_scope(scope_policy policy, Body&& body) {
  using kept = std::decay_t<Body>;
  return detail::run_in_scope<detail::scope_body_result_t<kept>, kept>(std::move(policy),
                                                                       static_cast<Body&&>(body));
}
template <class Body>
  requires detail::scope_body<std::decay_t<Body>>
CORACLE_CORO_WRAPPER()
auto with_scope(Body&& body) {
  return coracle::with_scope(scope_policy::fail_fast(), static_cast<Body&&>(body));
}
template <class... Ts>
detail::any_awaiter with_scope(Ts&&...) {
  static_assert(sizeof...(Ts) == ~std::size_t{0},
                "with_scope needs, perhaps after a scope_policy, a function that takes an async_scope& and "
                "returns a task: [&](coracle::async_scope& scope) -> coracle::task<> { ... }");
  return {};
}
}  // namespace coracle
