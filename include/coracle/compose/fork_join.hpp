// coracle/compose/fork_join.hpp -- tasks that divide one computation among the threads of a pool.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/compose/detail/fork_join_operation.hpp>

namespace coracle {
/// Awaits tasks in parallel and returns their results in a tuple, with void_value for a task without a
/// result: for divide-and-conquer work, the cheapest way to use more than one thread.
///
///     coracle::task<long> fibonacci(int n) {
///       if (n < 2) co_return n;
///       auto [left, right] = co_await coracle::fork_join(fibonacci(n - 1), fibonacci(n - 2));
///       co_return left + right;
///     }
///
/// Prefer when_all() where the children wait for something: it stops the others when one fails. It also takes
/// a range, and anything that can be awaited.
/// Order         the first task runs on this thread, at once. On a pool, an idle thread meanwhile takes over
///               starting the rest; otherwise the next one starts here when the previous one has ended or
///               waits. Elsewhere all start in this way on the awaiting thread. Once one has failed or been
///               stopped, the rest are not started. Where more than 16 such starts are nested outside a pool,
///               the tasks start before the outermost of them returns.
/// Resumes on    the executor of the awaiting coroutine; without one, wherever the last task ended.
/// Cancellation  the tasks inherit the environment, and nothing stops them but its token. It always waits for
///               all that were started. Throws operation_cancelled if one was stopped and none has failed.
/// Exceptions    that of the task that fails; an error_group if several do.
/// Threads       the tasks may end on any threads. They may use the locals of the awaiting coroutine, which
///               continues only after all have ended, even if they fail.
/// Cost          nothing is allocated besides the frames of the tasks. On a pool no atomic read-modify-write
///               and no fence, unless another thread has taken the rest, or an older entry of this thread's
///               queue.
/// Source        continuation stealing: M. Frigo, C. Leiserson, K. Randall, "The implementation of the Cilk-5
///               multithreaded language", PLDI 1998.
template <class... Ts>
  requires(sizeof...(Ts) != 0)
CORACLE_ALWAYS_INLINE()
detail::fork_join_operation<Ts...> fork_join(task<Ts>&&... each) noexcept {
  return detail::fork_join_operation<Ts...>{std::move(each)...};
}
template <class... Others>
auto fork_join(Others&&...) {
  static_assert(
      (std::is_void_v<Others> || ...),
      "fork_join takes over tasks: pass the calls that return them, or std::move of those that have a "
      "name; when_all awaits anything else");
  return detail::any_awaiter{};
}
}  // namespace coracle
