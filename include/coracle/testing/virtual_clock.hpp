// coracle/testing/virtual_clock.hpp -- a clock that moves only on request, and its timers.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/base/check.hpp>
#include <coracle/time/detail/timer_queue.hpp>

namespace coracle::testing {
/// The clock of sleep_for(), stop_after() and everything else that depends on time, on an executor whose
/// timers() it is.
///
///     coracle::testing::virtual_clock clock;
///     clock.advance(10ms);  // fires each timer at its time
///
/// Prefer virtual_time_loop or simulation, which have one and advance it when nothing is runnable.
/// Order    timers fire by deadline, equal deadlines in the order in which they were armed.
/// Threads  one: the thread that created it.
/// Cost     no allocation.
class virtual_clock final : public timer_service {
 public:
  using duration = std::chrono::steady_clock::duration;
  /// The initial time.
  static constexpr time_point start{std::chrono::hours{1}};

  virtual_clock() noexcept = default;
  virtual_clock(const virtual_clock&) = delete;
  virtual_clock& operator=(const virtual_clock&) = delete;
  /// Requires: no timer is armed.
  ~virtual_clock() {
    CORACLE_REQUIRE(timers_.empty(),
                    "a virtual clock was destroyed with timers armed: join the coroutines that sleep first");
  }

  [[nodiscard]] time_point now() noexcept override { return now_; }
  /// Returns true if no timer is armed.
  [[nodiscard]] bool empty() const noexcept { return timers_.empty(); }
  bool add(detail::timer& each, time_point deadline) noexcept override {
    check_thread();
    return timers_.add(each, deadline);
  }
  bool remove(detail::timer& each) noexcept override {
    check_thread();
    return timers_.remove(each);
  }

  /// Advances to the first deadline, or to a time before it, and fires nothing. Returns false if there is
  /// none until `latest`.
  bool jump(time_point latest = time_point::max()) noexcept {
    const time_point next = timers_.next();
    if (next > latest || next == time_point::max()) return false;
    if (next > now_) now_ = next;
    return true;
  }
  /// Fires the first timer that is due. Returns false if none is.
  bool fire_due() noexcept {
    detail::timer* const due = timers_.pop_due(now_);
    if (due) detail::fire(*due);
    return due != nullptr;
  }
  /// Fires all timers due until `end`, each at its time; afterwards now() is `end`.
  void advance_to(time_point end) noexcept {
    do {
      while (fire_due()) {
      }
    } while (jump(end));
    if (end > now_) now_ = end;
  }
  template <class Rep, class Period>
  void advance(std::chrono::duration<Rep, Period> step) noexcept {
    advance_to(detail::later_by(now_, detail::clock_duration(step)));
  }

 private:
  void check_thread() const noexcept {
    CORACLE_REQUIRE(owner_ == &detail::this_thread(),
                    "a virtual clock was used by a thread other than its own");
  }

  time_point now_ = start;
  detail::timer_queue timers_{start};
  [[maybe_unused]] const detail::thread_state* const owner_ = &detail::this_thread();
};
}  // namespace coracle::testing
