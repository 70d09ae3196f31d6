// coracle/core/schedule.hpp -- move a coroutine to an executor, cancellably.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/core/environment.hpp>
#include <coracle/core/executor.hpp>

namespace coracle {
namespace detail {
/// Base of an awaiter of nothing that goes to the end of an executor's queue. An executor is no wait queue, and
/// nothing is taken out of it: whoever is asked to stop on the way arrives, and is cancelled there.
class stoppable_hop : resumption {
 public:
  bool await_ready() const noexcept { return false; }
  void await_resume() const {
    if (inherited_ && inherited_->stop.stop_requested()) [[unlikely]]
      throw_cancelled(inherited_->stop.reason());
  }

 protected:
  stoppable_hop() noexcept = default;
  /// `place` null: the coroutine stays where it is.
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
  /// For one that need not go anywhere. False: it goes on at once.
  CORACLE_COLD() bool give_way(std::coroutine_handle<> suspended) noexcept {
    handle = suspended;
    return detail::give_way(*this);
  }
  /// For one that suspended all the same: it goes on on its own executor or, outside any, before this returns.
  CORACLE_COLD() void come_back(std::coroutine_handle<> suspended) noexcept {
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

/// What the `schedule()` of an executor gives: awaited, it goes there, behind what is queued already.
///
///     schedule_operation<my_executor> schedule() noexcept { return schedule_operation{*this}; }
///
/// Resumes on    the executor.
/// Cancellation  stop requested before: it does not move, but takes a turn where it is, if that is on an executor. On
///               the way: it takes its turn, arrives there, and is cancelled then.
/// Exceptions    operation_cancelled, and nothing else.
/// Threads       as the executor's post().
/// Cost          no allocation; the executor's post(), and two looks at the stop token.
template <class Executor>
class [[nodiscard("schedule() does nothing until it is awaited")]] schedule_operation
    : public detail::stoppable_hop {
 public:
  explicit schedule_operation(Executor& place) noexcept : place_(place) {}
  /// Always suspends, so that an awaiter around this one may ignore what it returns.
  template <class Promise>
  CORACLE_NOINLINE_SUSPEND()
  void await_suspend(std::coroutine_handle<Promise> suspended) noexcept {
    if (!go(&place_, suspended)) [[unlikely]]
      come_back(suspended);
  }

 private:
  Executor& place_;
};

/// An executor as a scheduler: a pointer that may be copied and kept, to come back to where one was.
///
///     const coracle::scheduler_ref home = coracle::current_scheduler();
///     co_await coracle::resume_on(foreign_operation(), home);  // a type that knows nothing of coracle
///
/// Resumes on    its executor; at once, without suspending, if the caller is there already or there is none.
/// Cancellation  as schedule_operation.
/// Threads       any number of threads at once, while the executor lives.
class scheduler_ref {
 public:
  explicit scheduler_ref(executor* place) noexcept : place_(place) {}

  class [[nodiscard("schedule() does nothing until it is awaited")]] schedule_operation
      : public detail::stoppable_hop {
   public:
    explicit schedule_operation(executor* place) noexcept : place_(place) {}
    template <class Promise>
    CORACLE_NOINLINE_SUSPEND()
    bool await_suspend(std::coroutine_handle<Promise> suspended) noexcept {
      const bool stays = place_ == current_executor();
      if (go(stays ? nullptr : place_, suspended)) return true;
      return stays && detail::has_to_give_way() && give_way(suspended);
    }

   private:
    executor* place_;
  };
  schedule_operation schedule() const noexcept { return schedule_operation{place_}; }
  /// Null if there is none.
  [[nodiscard]] executor* place() const noexcept { return place_; }
  friend bool operator==(scheduler_ref, scheduler_ref) = default;

 private:
  executor* place_;
};
/// The scheduler on which the calling thread runs a coroutine now.
[[nodiscard]] inline scheduler_ref current_scheduler() noexcept { return scheduler_ref{current_executor()}; }
}  // namespace coracle
