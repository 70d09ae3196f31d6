// coracle/core/executor.hpp -- executors, and the rule by which coroutines are woken on them.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/base/exchange.hpp>
#include <coracle/base/plain.hpp>
#include <coracle/core/detail/turn_watch.hpp>
#include <coracle/core/transfer.hpp>

namespace coracle {
/// A suspended coroutine on its way to an executor: a queue entry that lives in the coroutine's own frame.
struct resumption {
  detail::plain<std::coroutine_handle<>> handle;
  detail::plain<resumption*> next = nullptr;  ///< belongs to the queue that holds the entry
};

class timer_service;
class blocking_service;

/// The target of a scheduler's `schedule()`: runs posted coroutines. Derive from it to write a scheduler.
///
///     void post(coracle::resumption& item) noexcept override { queue_.push(item); }
///     coracle::schedule_operation<my_loop> schedule() noexcept {
///       return coracle::schedule_operation{*this};
///     }
///     void run() {
///       while (coracle::resumption* item = queue_.pop()) coracle::resume(*item, *this);
///     }
///
/// Threads  post() may be called from any thread.
class executor {
 public:
  /// Queues `item` for one resume(item, *this). Must not run it before returning, and must not allocate.
  /// `item` may be gone as soon as it can run, so the caller must not access it afterwards.
  virtual void post(resumption& item) noexcept = 0;
  /// As post(), for a coroutine that arrives by schedule() rather than by a wake-up. An executor may run it
  /// before older entries, provided that those still get their turn.
  virtual void post_scheduled(resumption& item) noexcept { post(item); }
  /// The clock and the timers of the coroutines that run here; null: the program's.
  [[nodiscard]] virtual timer_service* timers() noexcept { return nullptr; }
  /// What makes the blocking() calls of the coroutines that run here; null: the threads of their pool.
  [[nodiscard]] virtual blocking_service* blocking_calls() noexcept { return nullptr; }

 protected:
  ~executor() = default;
};

/// The executor on which the calling thread runs a coroutine now; null outside any.
[[nodiscard]] inline executor* current_executor() noexcept { return detail::this_thread().current; }

namespace detail {
/// The last step of the destructor of an executor: a coroutine that is woken there afterwards ends the
/// program with a message, as long as the memory is not used for something else.
void mark_destroyed(executor& gone) noexcept;

/// Counts a ready await. Returns true if it is time to give_way().
inline bool has_to_give_way() noexcept { return this_thread().budget.spend_await(); }
/// For an await that has to wait: the thread runs others meanwhile, so the count begins anew.
inline void restart_budget() noexcept { this_thread().budget.begin(); }
/// Posts `self`, which need not wait, behind the other runnable coroutines of its executor. Returns false if
/// it has none.
CORACLE_COLD() bool give_way(resumption& self) noexcept;

/// Awaited by a coroutine of the library that may have nothing to wait for: counts as a ready await.
class [[nodiscard]] counted_as_ready : resumption {
 public:
  counted_as_ready() noexcept = default;
  bool await_ready() const noexcept { return !has_to_give_way(); }
  bool await_suspend(std::coroutine_handle<> self) noexcept {
    handle = self;
    return give_way(*this);
  }
  void await_resume() const noexcept {}
};

/// While it exists, the calling thread belongs to `place`.
class executor_scope {
 public:
  explicit executor_scope(executor* place) noexcept
      : thread_(this_thread()), outer_(detail::exchange(thread_.current, place)) {}
  executor_scope(const executor_scope&) = delete;
  executor_scope& operator=(const executor_scope&) = delete;
  ~executor_scope() { thread_.current = outer_; }

 private:
  thread_state& thread_;
  executor* outer_;
};

/// Resumes an entry that an executor has taken from its queue.
CORACLE_ALWAYS_INLINE() void run_turn(resumption& item, const drain_scope& here) {
  if (are_turns_watched()) [[unlikely]]
    return run_watched_turn(item);
  here.drain(item.handle);
}
inline void run_turn(resumption& item) {
  const drain_scope here{this_thread()};
  run_turn(item, here);
}
CORACLE_SAVES_REGISTERS() inline void report_post_out_of_line(const resumption& item, bool by_io) noexcept {
  report_post(item, by_io);
}
/// Called before an executor queues an entry, which may be gone afterwards.
CORACLE_ALWAYS_INLINE() void note_post(const resumption& item, bool by_io = false) noexcept {
  if (are_turns_watched()) [[unlikely]]
    report_post_out_of_line(item, by_io);
}

/// Has `item` resumed later, after those in `late`.
void put_off(late_resumptions& late, resumption& item) noexcept;
CORACLE_NOINLINE() void run_late_wakeups_now(thread_state& thread) noexcept;
inline void run_late_wakeups(thread_state& thread) noexcept {
  if (thread.late_wakes.first) [[unlikely]]
    run_late_wakeups_now(thread);
}
/// Resumes `item` on this thread outside any scheduler. Wake-ups nested deeper than `max_wake_depth` wait in
/// the thread's list until the innermost has returned, so a chain of any length runs on a bounded stack.
CORACLE_NOINLINE() void resume_here(resumption& item) noexcept;
}  // namespace detail

/// Resumes an entry posted to `place`, on this thread. Everything that runs until this returns belongs to
/// `place`. The item may then be gone, and so may `place`, if one of its coroutines destroys it.
inline void resume(resumption& item, executor& place) {
  const detail::executor_scope here{&place};
  detail::run_turn(item);
}

/// A coroutine in a wait queue. It stores the executor on which it suspended, so that it is resumed there.
struct waiter : resumption {
  detail::plain<executor*> home = nullptr;

  waiter() noexcept = default;
  /// For a coroutine that suspends here.
  explicit waiter(std::coroutine_handle<> suspended) noexcept
      : resumption{suspended}, home(current_executor()) {}

  /// Called in await_suspend, before the waiter is published.
  void suspend(std::coroutine_handle<> suspended) noexcept {
    handle = suspended;
    home = current_executor();
  }
  /// Wakes the coroutine: posts it to its executor, or resumes it here if it had none. The waiter may be gone
  /// when this returns.
  void wake() noexcept {
    if (home) {
      home->post(*this);
    } else {
      detail::resume_here(*this);
    }
  }
};

namespace detail {
/// Wakes `suspended` from plain code that is about to return to this thread's drain loop: without a post if
/// it waits on the executor of this thread.
inline void wake_on_return(waiter& suspended) {
  if (suspended.home == current_executor()) {
    resume_on_return(suspended.handle);
  } else {
    suspended.wake();
  }
}
/// Turns a null-terminated stack of entries, newest first, into a queue.
inline resumption* oldest_first(resumption* newest) noexcept {
  resumption* oldest = nullptr;
  while (newest) {
    resumption* const earlier = newest->next;
    newest->next = oldest;
    oldest = newest;
    newest = earlier;
  }
  return oldest;
}
/// Wakes a queue of waiters in order. Reads each link before the wake-up that may end the waiter's lifetime.
CORACLE_NOINLINE() void wake_several(waiter* first) noexcept;
/// As above; saves no registers for one waiter or none.
inline void wake_all(waiter* first) noexcept {
  if (!first) return;
  first->next ? wake_several(first) : first->wake();
}
}  // namespace detail
}  // namespace coracle
