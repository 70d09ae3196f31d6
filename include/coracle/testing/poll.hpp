// coracle/testing/poll.hpp -- awaits from plain code, step by step, without threads.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/core/awaitable.hpp>
#include <coracle/core/detail/callback_frame.hpp>
#include <coracle/core/detail/nested_starts.hpp>
#include <coracle/core/environment.hpp>
#include <coracle/testing/manual_scheduler.hpp>

namespace coracle::testing {
/// The result of poll(): a started awaitable that advances only inside step() and run().
template <class Awaitable>
class [[nodiscard("destroying this destroys the polled awaitable")]] polled : detail::callback_frame {
 public:
  using result_type = await_result_t<Awaitable>;

  /// If `place` is null, it uses a scheduler of its own.
  explicit polled(Awaitable&& value, manual_scheduler* place)
      : detail::callback_frame(&completed, &environment_),
        place_(place ? *place : own_place_),
        value_(static_cast<Awaitable&&>(value)) {
    environment_.stop = stop_.get_token();
    const detail::executor_scope here{&place_};
    const detail::starts_before_blocking nothing_put_off;
    if (detail::is_ready_for_plain_code(awaiter_) || !detail::suspend_into(awaiter_, handle())) ready_ = true;
  }

  /// Returns true if it has completed: get() then returns its result or throws.
  [[nodiscard]] bool ready() const noexcept { return ready_; }
  /// Returns true if a coroutine has been woken and waits for step().
  [[nodiscard]] bool woken() const noexcept { return place_.queued() != 0; }
  /// Resumes the coroutine that was woken first. Returns false if none was.
  bool step() { return place_.run_one(); }
  /// Steps until it is ready or has to wait. Returns true if it is ready.
  bool run() {
    while (!ready_ && step()) {
    }
    return ready_;
  }
  /// Requests a stop; coroutines that this wakes wait for step().
  void request_stop() { stop_.request_stop(); }
  /// Returns the result. Requires: ready; called once.
  result_type get() {
    CORACLE_REQUIRE(ready_, "get() of a polled awaitable that is not ready: run() it first");
    // As a coroutine there would take it: that may read the clock, as an interval does.
    const detail::executor_scope here{&place_};
    return detail::result_for_plain_code(awaiter_);
  }
  /// Where it runs.
  [[nodiscard]] manual_scheduler& place() noexcept { return place_; }

 private:
  static void completed(detail::callback_frame* self) { static_cast<polled*>(self)->ready_ = true; }

  manual_scheduler own_place_;
  manual_scheduler& place_;
  stop_source stop_;
  environment environment_;
  bool ready_ = false;
  Awaitable value_;  // a reference if poll() was passed an lvalue
  awaiter_type_t<Awaitable> awaiter_ = get_awaiter(static_cast<Awaitable&&>(value_));
};

/// Starts an awaitable on a manual_scheduler and runs it to its first suspension.
///
///     auto waiting = coracle::testing::poll(event);
///     CHECK_FALSE(waiting.ready());
///     event.set();
///     CHECK(waiting.run());
///
/// An rvalue is moved in, an lvalue, such as an event, is referred to. Prefer sync_wait if nothing has to
/// happen between the steps.
/// Resumes on    `place`, by default a scheduler of its own: only inside step() and run().
/// Cancellation  request_stop(); it inherits no other token, and no deadline.
/// Exceptions    get() throws those of the awaitable.
/// Threads       one.
/// Cost          one allocation, for the stop token.
template <awaitable Awaitable>
polled<Awaitable> poll(Awaitable&& value) {
  return polled<Awaitable>{static_cast<Awaitable&&>(value), nullptr};
}
/// The same on a given scheduler, with its clock if it has one. `place` outlives it.
template <awaitable Awaitable>
polled<Awaitable> poll(manual_scheduler& place, Awaitable&& value) {
  return polled<Awaitable>{static_cast<Awaitable&&>(value), &place};
}
template <class... Ts>
  requires(!awaitable<Ts> && ...)
auto poll(Ts&&...) {
  static_assert(
      detail::never<Ts...>,
      "poll needs an awaitable: a call that returns a task, or std::move of a task that has a name");
  return detail::any_awaiter{};
}
}  // namespace coracle::testing
