// coracle/core/schedule.hpp -- move a coroutine to an executor, cancellably.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/core/detail/stoppable_hop.hpp>
#include <coracle/core/executor.hpp>

namespace coracle {
/// Returned by the `schedule()` of an executor: awaiting it moves the coroutine there, behind everything
/// queued already.
///
///     schedule_operation<my_executor> schedule() noexcept { return schedule_operation{*this}; }
///
/// Resumes on    the executor.
/// Cancellation  stop requested before: it does not move, but takes a turn where it is, if that is on an
///               executor. Stop requested on the way: it takes its turn, arrives there, and is then
///               cancelled.
/// Exceptions    operation_cancelled only.
/// Threads       as the executor's post().
/// Cost          no allocation; the executor's post(), and two reads of the stop token.
template <class Executor>
class [[nodiscard("schedule() does nothing until it is awaited")]] schedule_operation
    : public detail::stoppable_hop {
 public:
  explicit schedule_operation(Executor& place) noexcept : place_(place) {
    static_assert(std::is_base_of_v<executor, Executor>,
                  "schedule_operation needs an executor: derive this class from coracle::executor");
  }
  /// Always suspends, so an awaiter that wraps this one may ignore the result.
  template <class Promise>
  void await_suspend(std::coroutine_handle<Promise> suspended) noexcept {
    if (!departs(suspended)) [[unlikely]]
      return depart_late(suspended);
    place_.post_scheduled(entry());
  }

 private:
  template <class Promise>
  CORACLE_COLD()
  void depart_late(std::coroutine_handle<Promise> suspended) noexcept {
    if (const stop_reason why = departs_late(suspended); why != stop_reason::none)
      return come_back(suspended, why, detail::end_of_parent<Promise>());
    place_.post_scheduled(entry());
  }

  Executor& place_;
};

/// An executor as a scheduler: a pointer that may be copied and kept, to return to the current executor
/// later.
///
///     const coracle::scheduler_ref home = coracle::current_scheduler();
///     co_await coracle::resume_on(foreign_operation(), home);  // a type that knows nothing of coracle
///
/// Resumes on    its executor; at once, without suspending, if the caller is already there or there is none.
/// Cancellation  as schedule_operation.
/// Threads       any number of threads at once, while the executor exists.
class scheduler_ref {
 public:
  explicit scheduler_ref(executor* place) noexcept : place_(place) {}

  class [[nodiscard("schedule() does nothing until it is awaited")]] schedule_operation
      : public detail::stoppable_hop {
   public:
    explicit schedule_operation(executor* place) noexcept : place_(place) {}
    template <class Promise>
    bool await_suspend(std::coroutine_handle<Promise> suspended) noexcept {
      if (!place_ || place_ == current_executor() || !departs(suspended)) [[unlikely]]
        return stay_or_depart_late(suspended);
      place_->post_scheduled(entry());
      return true;
    }

   private:
    template <class Promise>
    CORACLE_COLD()
    bool stay_or_depart_late(std::coroutine_handle<Promise> suspended) noexcept {
      if (const stop_reason why = departs_late(suspended); why != stop_reason::none)
        return end_here(suspended, why, detail::end_of_parent<Promise>());
      const bool stays = place_ == current_executor();
      if (!place_ || stays) return stays && detail::has_to_give_way() && give_way(suspended);
      place_->post_scheduled(entry());
      return true;
    }

    executor* place_;
  };
  schedule_operation schedule() const noexcept { return schedule_operation{place_}; }
  /// Returns null if there is none.
  [[nodiscard]] executor* place() const noexcept { return place_; }
  friend bool operator==(scheduler_ref, scheduler_ref) = default;

 private:
  executor* place_;
};
/// Returns the scheduler on which the calling thread currently runs a coroutine.
[[nodiscard]] inline scheduler_ref current_scheduler() noexcept { return scheduler_ref{current_executor()}; }
}  // namespace coracle
