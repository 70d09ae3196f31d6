// coracle/exec/static_thread_pool.hpp -- a fixed number of threads that share their work.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/base/atomic.hpp>
#include <coracle/core/schedule.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace coracle {
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
/// Order         a thread runs what its own coroutines have forked, scheduled or spawned newest first, so that a tree
///               unfolds depth first, in memory that grows with its depth; what was woken on it, has yielded, or comes
///               back by schedule() with nothing started in between, oldest first. A higher priority goes first, but
///               for one turn in 20. Nothing starves: where several kinds of work wait, each gets its turn within
///               about 20 us of each other kind, or one turn of theirs that lasts longer; low priority gets one such
///               round in 32, and the oldest of what a thread has forked or scheduled itself is moved to the others
///               after some 10 ms. What a thread cannot come to, because it runs one coroutine for long, is taken by an
///               idle one within microseconds, or 0.2 ms where entries that were alone have not had to wait for a while.
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
  /// Awaitable of nothing: continues on a pool thread. Others get their turn, within the bounds above.
  schedule_operation schedule() noexcept { return schedule_operation{*this}; }
  void post(resumption& item) noexcept override;
  void post_scheduled(resumption& item) noexcept override;
  /// Which of those that wait for a thread goes first.
  enum class priority : std::uint8_t { high, normal, low };
  /// The pool for what is more urgent than the rest, or less. Who goes there stays at that level, also when an event
  /// wakes it, until it schedules itself elsewhere.
  ///
  ///     co_await coracle::schedule_on(rebuild_index(), pool.with_priority(static_thread_pool::priority::low));
  ///
  /// Cost  a lock to post and to take, where priority::normal, which is the pool itself, needs none.
  [[nodiscard]] pool_level with_priority(priority level) noexcept;
  [[nodiscard]] std::size_t thread_count() const noexcept;

 private:
  class shared_state;
  std::unique_ptr<shared_state> state_;
};
}  // namespace coracle
