// coracle/exec/strand.hpp -- one coroutine at a time, on an executor that runs many.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/core/schedule.hpp>

namespace coracle {
namespace detail {
class strand_state;
}  // namespace detail

/// An executor that runs what is posted to it one at a time, in order, on another executor. What runs on it may
/// share data without a lock.
///
///     coracle::strand accounts{pool};
///     co_await accounts.schedule();  // from here to the next await: alone
///     balance += amount;
///
/// A coroutine holds it until it suspends, not across an await: what must not be interleaved with others in between
/// is what async_mutex is for.
/// Prefer async_mutex where a section is short and stays in one coroutine: it moves nobody.
/// Order         first posted, first run. After 64 in a row it lets the underlying executor run something else. So a tree whose
///               calls each schedule() themselves here unfolds breadth first, and takes memory for its width, not its
///               depth: let the calls of one computation await each other without schedule().
/// Resumes on    a thread of the underlying executor; current_executor() is the strand.
/// Cancellation  schedule(): as schedule_operation.
/// Exceptions    the constructor: std::bad_alloc. One that leaves a coroutine's own promise ends the program.
/// Threads       schedule() and post() from any thread. It may be destroyed as soon as all that was posted has run
///               and is on its way elsewhere; the underlying executor outlives it.
/// Cost          one allocation for the strand, none for what runs on it; one atomic operation to post, and a post
///               to the underlying executor if the strand was idle.
class strand final : public executor {
 public:
  explicit strand(executor& underlying);
  /// A level of a pool, for example. Requires: it refers to an executor.
  explicit strand(scheduler_ref underlying);
  strand(const strand&) = delete;
  strand& operator=(const strand&) = delete;
  /// Requires: nothing is queued.
  ~strand();

  /// Awaitable of nothing: continues on the strand, behind what is queued already.
  schedule_operation<strand> schedule() noexcept { return schedule_operation{*this}; }
  void post(resumption& item) noexcept override;
  /// Those of the underlying executor.
  [[nodiscard]] timer_service* timers() noexcept override;

 private:
  detail::strand_state* state_;
};
}  // namespace coracle
