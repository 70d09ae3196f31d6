// coracle/compose/detail/spawned_work.hpp -- a detached child of a scope, here or on another scheduler.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/compose/detail/child.hpp>
#include <coracle/compose/detail/scope_state.hpp>
#include <coracle/core/invoke.hpp>

namespace coracle::detail {
/// A child whose result is dropped. `Whole`, which derives from it, is the allocated object.
template <class Whole, class Awaitable>
class dropped_work : public scope_child {
 public:
  static void over(scope_frame* self) noexcept {
    auto& mine = static_cast<Whole&>(*self);
    if (!mine.work_.finish()) [[unlikely]]
      return mine.over_badly();
    mine.work_.~child();
    mine.end_well();
  }

 protected:
  dropped_work(function* on_resume, scope_state& owner, std::source_location where, Awaitable&& value)
      : scope_child(on_resume, owner, where), work_(static_cast<Awaitable&&>(value)) {}
  ~dropped_work() {}

  /// Requires: `work_` is destroyed.
  void end_well() noexcept {
    this->scope().ended(*this, false);
    delete static_cast<Whole*>(this);
  }
  /// The same.
  void end_badly(const outcome<void>& end) noexcept {
    detail::end_badly(*this, end, [](scope_frame* self) { delete static_cast<Whole*>(self); });
  }
  CORACLE_COLD() void over_badly() noexcept {
    const outcome<void> end = work_.failure();
    work_.~child();
    end_badly(end);
  }

  union {
    child<Awaitable> work_;  // until it is over
  };
};

/// Runs a child where it was spawned.
template <class Awaitable>
class spawned_work final : public dropped_work<spawned_work<Awaitable>, Awaitable> {
 public:
  spawned_work(scope_state& owner, std::source_location where, Awaitable&& value)
      : dropped_work<spawned_work, Awaitable>(&spawned_work::over, owner, where,
                                              static_cast<Awaitable&&>(value)) {}
  void run() noexcept {
    if (!this->work_.start(this->scope_frame::handle())) this->over(this);
  }
};

/// Holds a scheduler, or a reference to one, and returns the awaitable that goes there.
template <class Scheduler>
struct way_to {
  explicit way_to(Scheduler&& given) : place(static_cast<Scheduler&&>(given)) {}
  decltype(auto) operator()() { return place.schedule(); }
  Scheduler place;
};
/// Runs a child on another scheduler.
template <class Scheduler, class Awaitable>
class work_spawned_on final : public dropped_work<work_spawned_on<Scheduler, Awaitable>, Awaitable> {
  using base = dropped_work<work_spawned_on, Awaitable>;
  using hop = invocation<way_to<Scheduler>>;

 public:
  work_spawned_on(scope_state& owner, std::source_location where, Scheduler&& place, Awaitable&& value)
      : base(&arrived, owner, where, static_cast<Awaitable&&>(value)),
        hop_(hop{std::in_place, way_to<Scheduler>(static_cast<Scheduler&&>(place))}) {}
  ~work_spawned_on() {}

  void run() noexcept {
    this->set_function(&arrived);
    if (hop_.start(this->scope_frame::handle())) return;
    if (leave_hop() && !this->work_.start(this->scope_frame::handle())) this->over(this);
  }

 private:
  CORACLE_TRANSFER_ABI() static void arrived(scope_frame* self) {
    auto& mine = static_cast<work_spawned_on&>(*self);
    if (!mine.leave_hop()) return;
    const std::coroutine_handle<> next = mine.work_.begin(mine.scope_frame::handle());
    if (!next) return mine.over(self);
    CORACLE_RETURN_TO(self, next);
  }
  /// Returns false if it was cancelled on its way, or the scheduler has failed; the work was then not
  /// started, and this is gone.
  bool leave_hop() noexcept {
    const bool is_there = hop_.finish();
    if (is_there) [[likely]] {
      hop_.~child();
      this->set_function(&work_spawned_on::over);
    } else {
      give_up();
    }
    return is_there;
  }
  CORACLE_COLD() void give_up() noexcept {
    const outcome<void> end = hop_.failure();
    hop_.~child();
    this->work_.~child();
    this->end_badly(end);
  }

  union {
    child<hop> hop_;  // until it has arrived
  };
};
}  // namespace coracle::detail
