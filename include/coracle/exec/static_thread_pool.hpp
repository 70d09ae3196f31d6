// coracle/exec/static_thread_pool.hpp -- a fixed number of threads with work stealing.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/base/atomic.hpp>
#include <coracle/core/schedule.hpp>
#include <cstddef>
#include <cstdint>

namespace coracle {
/// One priority of a pool as a scheduler. Like the pool's own, `schedule()` queues behind the work at that
/// level, even when called from there.
class pool_level : public scheduler_ref {
 public:
  using scheduler_ref::scheduler_ref;
  [[nodiscard]] coracle::schedule_operation<executor> schedule() const noexcept {
    return coracle::schedule_operation{*place()};
  }
};

/// Threads that run coroutines; an idle thread steals work from a busy one.
///
///     coracle::static_thread_pool pool{4};
///     co_await pool.schedule();  // from here on: one of its threads
///
/// Order         newest first for what the thread's coroutines fork, schedule or spawn, so that a tree
///               unfolds depth first, in memory proportional to its depth. Oldest first for what was woken on
///               the thread, has yielded, or calls schedule() again without having started anything since.
///               Nothing starves: high priority goes first, except for one turn in 20; of the other kinds
///               each waits about 20 us for each other one, or for one longer turn of it, and low priority
///               for 32 such rounds. What waits behind a long turn is stolen by an idle thread within
///               microseconds; a single entry, if such entries have not had to wait recently, within 0.2 ms.
///               docs/scheduling.md has all bounds.
/// Resumes on    any of its threads.
/// Cancellation  schedule(): as schedule_operation.
/// Exceptions    the constructor: std::system_error if a thread cannot be started.
/// Threads       all members are thread-safe; the destructor is not called from a pool thread. std::exit()
///               destroys a pool that is a static object, so its coroutines must not call that: they return
///               to main(), or call std::quick_exit(). A child process of fork() has none of the threads, and
///               must neither use nor destroy the pool.
/// Cost          no allocation after construction; idle threads sleep.
class static_thread_pool final : public executor {
 public:
  /// One thread per hardware thread.
  static_thread_pool();
  /// Requires: threads >= 1.
  explicit static_thread_pool(std::size_t threads);
  static_thread_pool(const static_thread_pool&) = delete;
  static_thread_pool& operator=(const static_thread_pool&) = delete;
  /// Runs everything queued, and what that posts to the pool, then joins the threads. Nothing is dropped.
  /// Requires: not called on a thread of the pool; no coroutine that suspended on the pool is still waiting
  /// elsewhere, because it would resume here.
  ~static_thread_pool();

  using schedule_operation = coracle::schedule_operation<static_thread_pool>;
  /// Awaitable without a result: continues on a pool thread. Other work gets its turn, within the bounds
  /// above.
  schedule_operation schedule() noexcept { return schedule_operation{*this}; }
  void post(resumption& item) noexcept override;
  void post_scheduled(resumption& item) noexcept override;
  /// Decides which of the coroutines that wait for a thread runs first.
  enum class priority : std::uint8_t { high, normal, low };
  /// The pool at a priority. A coroutine scheduled there stays at that level, also when an event wakes it,
  /// until it schedules itself elsewhere.
  ///
  ///     const auto low = pool.with_priority(coracle::static_thread_pool::priority::low);
  ///     co_await coracle::schedule_on(rebuild_index(), low);
  ///
  /// Cost  a lock to post and to take; priority::normal, which is the pool itself, needs none.
  [[nodiscard]] pool_level with_priority(priority level) noexcept;
  [[nodiscard]] std::size_t thread_count() const noexcept;

 private:
  class shared_state;
  shared_state* state_;  // its own
};
}  // namespace coracle
