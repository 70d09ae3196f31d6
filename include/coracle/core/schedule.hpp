// coracle/core/schedule.hpp -- move a coroutine to an executor, cancellably.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/core/detail/stopped_tasks.hpp>
#include <coracle/core/environment.hpp>
#include <coracle/core/executor.hpp>

namespace coracle {
namespace detail {
/// Base of an awaiter of nothing that goes to the end of an executor's queue. An executor is no wait queue,
/// and entries are never removed from it: a coroutine that is stopped on the way arrives, and is cancelled
/// there, with an exception. A task that would begin the hop once stop is requested may end without one:
/// core/detail/stopped_tasks.hpp.
class stoppable_hop : resumption {
 public:
  bool await_ready() const noexcept { return false; }
  void await_resume() const {
    if (inherited_ && inherited_->stop.stop_requested()) [[unlikely]]
      throw_cancelled(inherited_->stop.reason());
  }

 protected:
  stoppable_hop() noexcept = default;
  /// If `place` is null, the coroutine stays where it is.
  template <class Executor, class Promise>
  CORACLE_ALWAYS_INLINE()
  bool go(Executor* place, std::coroutine_handle<Promise> suspended) noexcept {
    if (!leaves(place, suspended)) return false;
    place->post_scheduled(*this);
    return true;
  }
  /// As go(), behind everything that is queued there.
  template <class Promise>
  CORACLE_ALWAYS_INLINE()
  bool go_behind(executor* place, std::coroutine_handle<Promise> suspended) noexcept {
    if (!leaves(place, suspended)) return false;
    place->post(*this);
    return true;
  }
  /// For a coroutine that need not go anywhere. Returns false if it continues at once.
  CORACLE_COLD() bool give_way(std::coroutine_handle<> suspended) noexcept {
    handle = suspended;
    return detail::give_way(*this);
  }
  /// After go() or go_behind() has returned false. If stop is requested, has `suspended` end when it is
  /// resumed; returns false if it is no task or must throw. `end`: of its task.
  CORACLE_COLD() bool end_quietly(std::coroutine_handle<> suspended, end_of_task* end) const noexcept {
    if (!end || !inherited_) return false;
    const stop_reason why = inherited_->stop.reason();
    return why != stop_reason::none && end(suspended, why);
  }
  /// As end_quietly(), and has it resumed once await_suspend() has returned true.
  CORACLE_COLD() bool end_here(std::coroutine_handle<> suspended, end_of_task* end) const noexcept {
    if (!end_quietly(suspended, end)) return false;
    resume_on_return(suspended);
    return true;
  }
  /// For a coroutine that suspended all the same: it continues on its own executor or, outside any, before
  /// this returns.
  CORACLE_COLD() void come_back(std::coroutine_handle<> suspended, end_of_task* end) noexcept {
    static_cast<void>(end_quietly(suspended, end));
    handle = suspended;
    if (executor* const home = current_executor()) {
      home->post(*this);
    } else {
      resume_here(*this);
    }
  }

 private:
  /// Returns false if there is nowhere to go, or if stop is requested.
  template <class Promise>
  CORACLE_ALWAYS_INLINE()
  bool leaves(const executor* place, std::coroutine_handle<Promise> suspended) noexcept {
    inherited_ = environment_of(suspended);
    if (!place || (inherited_ && inherited_->stop.stop_requested())) return false;
    handle = suspended;
    return true;
  }

  const environment* inherited_ = nullptr;
};
}  // namespace detail

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
  explicit schedule_operation(Executor& place) noexcept : place_(place) {}
  /// Always suspends, so an awaiter that wraps this one may ignore the result.
  template <class Promise>
  void await_suspend(std::coroutine_handle<Promise> suspended) noexcept {
    if (!go(&place_, suspended)) [[unlikely]]
      come_back(suspended, detail::end_of_parent<Promise>());
  }

 private:
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
      const bool stays = place_ == current_executor();
      if (go(stays ? nullptr : place_, suspended)) return true;
      if (end_here(suspended, detail::end_of_parent<Promise>())) return true;
      return stays && detail::has_to_give_way() && give_way(suspended);
    }

   private:
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
