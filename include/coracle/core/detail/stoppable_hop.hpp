// coracle/core/detail/stoppable_hop.hpp -- the base of awaiters that go to an executor, and what they queue
// there.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/core/detail/stopped_tasks.hpp>
#include <coracle/core/environment.hpp>
#include <coracle/core/executor.hpp>
#include <coracle/core/stop.hpp>
#include <coroutine>

namespace coracle::detail {
/// Queued in place of a coroutine that can be stopped. Looks like a coroutine frame; resuming it resumes the
/// coroutine, unless that was stopped on the way and is ended. The token is looked at here, and not once the
/// coroutine runs again: what runs can only be ended by an exception.
///
/// Nothing destroys an entry, so the coroutine is where other frames have their destroy function.
class hop_arrival {
 public:
  hop_arrival() noexcept {}

  /// Returns what to queue for `suspended`, which has a token.
  template <class Promise>
  [[nodiscard]] CORACLE_ALWAYS_INLINE() std::coroutine_handle<> of(
      std::coroutine_handle<Promise> suspended) noexcept {
    function* run = &resumed<Promise>;
    CORACLE_HIDES_RESUMED(run);
    resume_ = run;
    coroutine_ = suspended.address();
    return std::coroutine_handle<>::from_address(this);
  }
  /// For a coroutine that is queued itself, or not at all.
  void is_of(std::coroutine_handle<> suspended) noexcept { coroutine_ = suspended.address(); }
  /// Has `suspended`, which is stopped, end when it is resumed. Returns false if it is no task or must throw.
  /// `end`: its end_of_parent().
  bool cancel(std::coroutine_handle<> suspended, stop_reason why, end_of_task* end) noexcept {
    if (end && end(suspended, why)) return true;
    why_ = why;
    coroutine_ = nullptr;
    return false;
  }
  /// Called by the coroutine: returns why it was stopped, or none.
  [[nodiscard]] stop_reason stopped_for() const noexcept { return coroutine_ ? stop_reason::none : why_; }
  /// Called by the coroutine: throws if it was stopped.
  CORACLE_ALWAYS_INLINE() void require_not_stopped() const {
    if (!coroutine_) [[unlikely]]
      throw_cancelled(why_);
  }

  /// For traces: returns the coroutine that `item` resumes by a hop_arrival, which is directly behind it;
  /// null if it resumes another frame.
  [[nodiscard]] static void* behind(const resumption& item) noexcept;

 private:
  using function = void(hop_arrival*);

  template <class Promise>
  static std::coroutine_handle<Promise> coroutine_of(hop_arrival* self) noexcept {
    return std::coroutine_handle<Promise>::from_address(self->coroutine_);
  }
  template <class Promise>
  CORACLE_TRANSFER_ABI()
  static void resumed(hop_arrival* self) {
    const auto suspended = coroutine_of<Promise>(self);
    if (stop_registration::may_be_late_by(detail::environment_of(suspended)->stop)) [[unlikely]] {
      CORACLE_MUST_TAIL()
      return resumed_late<Promise>(self);  // this function then saves no registers
    }
    const std::coroutine_handle<> next = coracle::transfer_to(suspended);
    CORACLE_RETURN_TO(self, next);
  }
  template <class Promise>
  CORACLE_TRANSFER_ABI()
  CORACLE_COLD() static void resumed_late(hop_arrival* self) {
    const auto suspended = coroutine_of<Promise>(self);
    if (const stop_reason why = detail::environment_of(suspended)->stop.reason(); why != stop_reason::none)
      static_cast<void>(self->cancel(suspended, why, end_of_parent<Promise>()));
    const std::coroutine_handle<> next = coracle::transfer_to(suspended);
    CORACLE_RETURN_TO(self, next);
  }

  union {
    function* resume_;
    stop_reason why_;
  };
  union {              // not initialised
    void* coroutine_;  // null: it was stopped, and throws
  };
};

inline void* hop_arrival::behind(const resumption& item) noexcept {
  const std::coroutine_handle<> queued = item.handle;
  if (queued.address() != &item + 1 || callback_mark::is_at(queued) || shared_frame::is_one(queued))
    return nullptr;
  return static_cast<const hop_arrival*>(queued.address())->coroutine_;
}

/// Base of an awaiter of nothing that goes to the end of an executor's queue. An executor is no wait queue,
/// and entries are never removed from it: a coroutine that is stopped on the way arrives, and is cancelled
/// there. A task then ends without an exception where no exception will be seen:
/// core/detail/stopped_tasks.hpp.
class stoppable_hop : resumption {
 public:
  bool await_ready() const noexcept { return false; }
  void await_resume() const { arrival_.require_not_stopped(); }
  /// Returns why it was cancelled, or none. Called in place of await_resume() to avoid an exception.
  [[nodiscard]] stop_reason await_cancelled() const noexcept { return arrival_.stopped_for(); }

 protected:
  stoppable_hop() noexcept = default;

  /// Makes this the entry for `suspended`. Returns false if stop may be requested. await_suspend() then ends
  /// with the call of a cold function that calls departs_late(), so that the short path saves no registers.
  template <class Promise>
  [[nodiscard]] CORACLE_ALWAYS_INLINE() bool departs(std::coroutine_handle<Promise> suspended) noexcept {
    const environment* const inherited = detail::environment_of(suspended);
    if (!inherited || stop_registration::is_empty(inherited->stop)) {
      queue_itself(suspended);
      return true;
    }
    if (stop_registration::may_be_late_by(inherited->stop)) [[unlikely]]
      return false;
    handle = arrival_.of(suspended);
    return true;
  }
  /// As departs(). Returns why stop is requested, or none if it is not.
  template <class Promise>
  [[nodiscard]] stop_reason departs_late(std::coroutine_handle<Promise> suspended) noexcept {
    const environment* const inherited = detail::environment_of(suspended);
    if (!inherited) {
      queue_itself(suspended);
      return stop_reason::none;
    }
    const stop_reason why = inherited->stop.reason();
    if (why == stop_reason::none) handle = arrival_.of(suspended);
    return why;
  }
  [[nodiscard]] resumption& entry() noexcept { return *this; }

  /// For a coroutine that need not go anywhere. Returns false if it continues at once.
  CORACLE_COLD() bool give_way(std::coroutine_handle<> suspended) noexcept {
    queue_itself(suspended);
    return detail::give_way(*this);
  }
  /// Has `suspended`, which is stopped, end once await_suspend() has returned true. Returns false if it is no
  /// task or must throw. `end`: its end_of_parent().
  CORACLE_COLD()
  bool end_here(std::coroutine_handle<> suspended, stop_reason why, end_of_task* end) noexcept {
    if (!arrival_.cancel(suspended, why, end)) return false;
    resume_on_return(suspended);
    return true;
  }
  /// For a coroutine that is stopped and suspended all the same: it continues on its own executor or, outside
  /// any, before this returns.
  CORACLE_COLD()
  void come_back(std::coroutine_handle<> suspended, stop_reason why, end_of_task* end) noexcept {
    static_cast<void>(arrival_.cancel(suspended, why, end));
    handle = suspended;
    if (executor* const home = current_executor()) {
      home->post(*this);
    } else {
      resume_here(*this);
    }
  }

 private:
  void queue_itself(std::coroutine_handle<> suspended) noexcept {
    handle = suspended;
    arrival_.is_of(suspended);
  }

  hop_arrival arrival_;  // directly behind the resumption: hop_arrival::behind()
};
}  // namespace coracle::detail
