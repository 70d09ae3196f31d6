// coracle/core/sync_wait.hpp -- run an awaitable from plain code and block until it completes.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/base/check.hpp>
#include <coracle/base/park.hpp>
#include <coracle/core/awaitable.hpp>
#include <coracle/core/detail/callback_frame.hpp>
#include <coracle/core/detail/nested_starts.hpp>

namespace coracle {
namespace detail {
class waiting_thread : public callback_frame {
 public:
  waiting_thread() noexcept : callback_frame(&finished, nullptr), owner_(&this_thread()) {}
  void wait() noexcept {
    if (finished_here_) return;
    if (CORACLE_CHECKS() && !is_modelled && current_executor()) report_if_long();
    event_.wait();
  }

 private:
  /// The wait may be a deadlock, but that cannot be detected: another thread may be about to complete the
  /// awaitable.
  CORACLE_COLD() void report_if_long() noexcept {
    const timespec second{1, 0};
    if (event_.wait(&second)) return;
    print_deadlock(
        "sync_wait() has blocked a scheduler's thread for a second: a deadlock, if it awaits something that "
        "must run there");
  }
  static void finished(callback_frame* self) {
    auto* const waiting = static_cast<waiting_thread*>(self);
    if (waiting->owner_ == &this_thread()) {
      waiting->finished_here_ = true;
    } else {
      waiting->event_.set();
    }
  }
  const thread_state* owner_;
  bool finished_here_ = false;  // only the owner accesses it, so the common case needs no atomic operation
  one_shot event_;
};
}  // namespace detail

/// Awaits on behalf of plain code: starts the awaitable on this thread, blocks the thread until it has
/// completed, and returns its result.
///
///     int value = coracle::sync_wait(answer());
///
/// Prefer co_await inside a coroutine: a scheduler's thread that blocks here runs nothing else, and deadlocks
/// if the awaited work must run there. A checked build reports a long wait on stderr after a second. Prefer
/// io_service::run() for work that awaits I/O: no other thread completes it, unless it processes events.
/// Resumes on    the awaited coroutines belong to no scheduler until one moves them.
/// Cancellation  the awaited coroutines get an empty environment: nothing stops them.
/// Exceptions    those of the awaitable.
/// Threads       any number of threads at once.
/// Cost          no allocation; a system call only if the thread has to sleep.
template <awaitable Awaitable>
detail::kept_result_t<Awaitable> sync_wait(Awaitable&& value) {
  auto&& a = coracle::get_awaiter(static_cast<Awaitable&&>(value));
  if (!detail::is_ready_for_plain_code(a)) {
    detail::waiting_thread thread;
    bool suspended;
    {
      const detail::executor_scope outside{nullptr};
      const detail::starts_before_blocking nothing_put_off;
      suspended = detail::suspend_into(a, thread.handle());
    }
    if (suspended) thread.wait();
  }
  return detail::result_for_plain_code(a);
}
template <class T>
auto sync_wait(T&&) {
  static_assert(
      detail::is_awaitable<T>,
      "sync_wait needs an awaitable: a call that returns a task, or std::move of a task that has a name");
  return detail::any_awaiter::anything{};
}
}  // namespace coracle
