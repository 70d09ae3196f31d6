// coracle/exec/static_thread_pool.hpp -- a fixed number of threads that share their work.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/core/schedule.hpp>
#include <coracle/detail/atomic.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace coracle {
/// Which of those that wait for a thread of a pool goes first.
enum class priority : std::uint8_t { high, normal, low };

/// One priority of a pool as a scheduler: `schedule()` goes behind what is queued at that level, also from there, as the pool's
/// own does.
class pool_level : public scheduler_ref {
 public:
  using scheduler_ref::scheduler_ref;
  [[nodiscard]] coracle::schedule_operation<executor> schedule() const noexcept {
    return coracle::schedule_operation{*place()};
  }
};

/// Threads that run coroutines; an idle one takes work from a busy one.
///
///     coracle::static_thread_pool pool{4};
///     co_await pool.schedule();  // from here on: one of its threads
///
/// Order         a higher priority goes first; within one no order is promised. None waits for ever: also where
///               there is always work of a higher priority, each level gets one turn in 60 of each thread.
///               What a thread cannot come to, because it runs one coroutine for long, is taken by an idle one: within
///               microseconds or, where entries that were alone have not had to wait for a while, some 0.2 ms.
/// Resumes on    any of its threads.
/// Cancellation  schedule(): as schedule_operation.
/// Exceptions    the constructor: std::system_error where a thread cannot be started.
/// Threads       all members are thread-safe; the destructor is not called from a pool thread. For a pool that is a
///               static object std::exit() does call it, so its coroutines return to main() instead, or end the
///               program by std::quick_exit(). The child that fork() makes has none of its threads, and neither uses
///               nor destroys it.
/// Cost          no allocation after construction; idle threads sleep.
class static_thread_pool final : public executor {
 public:
  /// One thread for each that the machine runs at the same time.
  static_thread_pool();
  /// Requires: threads >= 1.
  explicit static_thread_pool(std::size_t threads);
  static_thread_pool(const static_thread_pool&) = delete;
  static_thread_pool& operator=(const static_thread_pool&) = delete;
  /// Runs all that is queued, and what that posts to the pool, then joins the threads. Nothing is dropped. Requires: not
  /// called on one of them; whoever suspended on the pool and waits elsewhere, and so would come back, has ended.
  ~static_thread_pool();

  using schedule_operation = coracle::schedule_operation<static_thread_pool>;
  /// Awaitable of nothing: continues on a pool thread, behind what is queued there already.
  schedule_operation schedule() noexcept { return schedule_operation{*this}; }
  void post(resumption& item) noexcept override;
  /// The pool for what is more urgent than the rest, or less. Who goes there stays at that level, also when an event
  /// wakes it, until it schedules itself elsewhere.
  ///
  ///     co_await coracle::schedule_on(pool.with_priority(coracle::priority::low), rebuild_index());
  ///
  /// Cost  a lock to post and to take, where priority::normal, which is the pool itself, needs none.
  [[nodiscard]] pool_level with_priority(priority level) noexcept;
  [[nodiscard]] std::size_t thread_count() const noexcept;

 private:
  class shared_state;
  std::unique_ptr<shared_state> state_;
};
}  // namespace coracle
