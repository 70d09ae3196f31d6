// coracle/core/sync_wait.hpp -- the way from plain code into coroutines and back.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/core/awaitable.hpp>
#include <coracle/core/callback_frame.hpp>
#include <coracle/core/executor.hpp>
#include <coracle/detail/park.hpp>

namespace coracle {
namespace detail {
struct waiting_thread : callback_frame {
  waiting_thread() noexcept : callback_frame(&finished, nullptr) {}
  static void finished(callback_frame* self) { static_cast<waiting_thread*>(self)->event.set(); }
  one_shot event;
};
}  // namespace detail

/// Awaits on behalf of plain code: starts the awaitable on this thread, blocks the thread until it has
/// completed, and returns its result.
///
///     int value = coracle::sync_wait(answer());
///
/// Prefer co_await wherever there is a coroutine: a scheduler's thread that blocks here runs nothing else.
/// Resumes on    the awaited coroutines belong to no scheduler until one moves them.
/// Cancellation  the awaited coroutines get an empty environment: nothing stops them.
/// Exceptions    those of the awaitable.
/// Threads       any number of threads at once.
/// Cost          no allocation; a system call only if the thread really has to sleep.
template <awaitable Awaitable>
await_result_t<Awaitable> sync_wait(Awaitable&& value) {
  auto&& a = get_awaiter(static_cast<Awaitable&&>(value));
  if (!a.await_ready()) {
    detail::waiting_thread thread;
    bool suspended;
    {
      const detail::executor_scope outside{nullptr};
      suspended = detail::suspend_into(a, thread.handle());
      detail::run_late_wakeups(detail::this_thread());
    }
    if (suspended) thread.event.wait();
  }
  return a.await_resume();
}
template <class T>
detail::any_awaiter::anything sync_wait(T&&) {
  static_assert(detail::is_awaitable<T>,
                "sync_wait needs an awaitable: a call that returns a task, or std::move of a task that has a name");
  return {};
}
}  // namespace coracle
