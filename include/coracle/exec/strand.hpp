// coracle/exec/strand.hpp -- runs one coroutine at a time on an executor that runs many.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/core/schedule.hpp>

namespace coracle {
namespace detail {
class strand_state;
}  // namespace detail

/// An executor that runs coroutines one at a time, in order, on another executor. Coroutines on one strand
/// may share data without a lock.
///
///     coracle::strand accounts{pool};
///     co_await accounts.schedule();  // from here to the next await: exclusive
///     balance += amount;
///
/// A coroutine holds the strand until it suspends, not across an await: for critical sections with an await
/// in them use async_mutex. Prefer async_mutex if a section is short and stays in one coroutine: it moves no
/// coroutine.
/// Order         first posted, first run. After 64 in a row the underlying executor runs something else. So a
///               tree whose calls each schedule() themselves here unfolds breadth first, in memory
///               proportional to its width, not its depth: let the calls of one computation await each other
///               without schedule().
/// Resumes on    a thread of the underlying executor; current_executor() is the strand.
/// Cancellation  schedule(): as schedule_operation.
/// Exceptions    the constructor: std::bad_alloc. An exception that leaves a coroutine's promise ends the
///               program.
/// Threads       schedule() and post() from any thread. It may be destroyed once nothing is queued, runs or
///               waits on it. A coroutine on the strand may destroy it, too, and continues on the underlying
///               executor, which outlives the strand.
/// Cost          one allocation per strand, none per coroutine; one atomic operation to post, none from a
///               coroutine that runs on the strand, and a post to the underlying executor if the strand was
///               idle.
class strand final : public executor {
 public:
  explicit strand(executor& underlying);
  /// For example on a pool or one of its priorities. Requires: `underlying` refers to an executor.
  explicit strand(scheduler_ref underlying);
  strand(const strand&) = delete;
  strand& operator=(const strand&) = delete;
  /// Requires: nothing is queued, and nothing that suspended on the strand still waits.
  ~strand();

  /// Awaitable of nothing: continues on the strand, behind what is already queued.
  schedule_operation<strand> schedule() noexcept { return schedule_operation{*this}; }
  void post(resumption& item) noexcept override;
  /// Returns the timers of the underlying executor.
  [[nodiscard]] timer_service* timers() noexcept override;
  [[nodiscard]] blocking_service* blocking_calls() noexcept override;

 private:
  detail::strand_state* state_;
};
}  // namespace coracle
