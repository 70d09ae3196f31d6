// coracle/core/executor.hpp -- the place a coroutine belongs to, and the rule by which it is woken there.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/core/transfer.hpp>

namespace coracle {
/// A suspended coroutine on its way to an executor: a queue entry that lives in the coroutine's own frame.
struct resumption {
  std::coroutine_handle<> handle;
  resumption* next = nullptr;  ///< belongs to whichever queue holds the entry
};

/// What a scheduler's `schedule()` leads to: runs posted coroutines. Derive from it to write a scheduler.
/// Threads  post() may be called from any thread.
class executor {
 public:
  /// Queues `item` to be resumed here. Never runs it before returning; never allocates. `item` may be gone
  /// as soon as it can run, so the caller touches nothing of it afterwards.
  virtual void post(resumption& item) noexcept = 0;

 protected:
  ~executor() = default;
};

/// The executor on which the calling thread runs a coroutine now; null outside any.
[[nodiscard]] inline executor* current_executor() noexcept { return detail::this_thread().current; }

namespace detail {
/// While it lives, the calling thread belongs to `place`.
class executor_scope {
 public:
  explicit executor_scope(executor* place) noexcept
      : thread_(this_thread()), outer_(std::exchange(thread_.current, place)) {}
  executor_scope(const executor_scope&) = delete;
  executor_scope& operator=(const executor_scope&) = delete;
  ~executor_scope() { thread_.current = outer_; }

 private:
  thread_state& thread_;
  executor* outer_;
};

/// Resumes `item` on this thread outside any scheduler. Wake-ups that run inside one another deeper than
/// `max_wake_depth` wait in the thread's list until the innermost has returned, so a chain of any length
/// runs on a bounded stack.
inline constexpr unsigned max_wake_depth = 64;

inline void resume_here(resumption& item) noexcept {
  thread_state& thread = this_thread();
  if (thread.wake_depth == max_wake_depth) {
    item.next = nullptr;
    (thread.late_head ? thread.late_tail->next : thread.late_head) = &item;
    thread.late_tail = &item;
    return;
  }
  const executor_scope outside{nullptr};
  ++thread.wake_depth;
  resume(item.handle);
  while (resumption* late = thread.late_head) {
    thread.late_head = late->next;
    resume(late->handle);
  }
  --thread.wake_depth;
}
}  // namespace detail

/// A coroutine in a wait queue. It remembers where it suspended, so that whoever wakes it hands it back.
struct waiter : resumption {
  executor* home = nullptr;

  /// Called in await_suspend, before the waiter is published.
  void suspend(std::coroutine_handle<> suspended) noexcept {
    handle = suspended;
    home = current_executor();
  }
  /// Wakes the coroutine by the rule: posted to its executor, or resumed here if it had none. The waiter may
  /// be gone when this returns.
  void wake() noexcept {
    if (home) {
      home->post(*this);
    } else {
      detail::resume_here(*this);
    }
  }
};

namespace detail {
/// Turns a stack of waiters (newest first, ends in null) into a queue.
inline waiter* oldest_first(waiter* newest) noexcept {
  waiter* oldest = nullptr;
  while (newest) {
    waiter* const next = static_cast<waiter*>(newest->next);
    newest->next = oldest;
    oldest = newest;
    newest = next;
  }
  return oldest;
}
/// Wakes a queue of waiters in order. Reads each link before the wake-up that may end the waiter's life.
inline void wake_all(waiter* first) noexcept {
  while (first) {
    waiter* const next = static_cast<waiter*>(first->next);
    first->wake();
    first = next;
  }
}

/// Awaiting it continues on `place`: at once if the caller is there already or `place` is null.
class [[nodiscard]] return_to : resumption {
 public:
  explicit return_to(executor* place) noexcept : place_(place) {}
  bool await_ready() const noexcept { return !place_ || place_ == current_executor(); }
  CORACLE_NOINLINE_SUSPEND() void await_suspend(std::coroutine_handle<> suspended) noexcept {
    handle = suspended;
    place_->post(*this);
  }
  void await_resume() const noexcept {}

 private:
  executor* place_;
};
}  // namespace detail
}  // namespace coracle
