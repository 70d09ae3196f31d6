// coracle/testing/virtual_time_loop.hpp -- runs sleeping coroutines in virtual time.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/base/intrusive_queue.hpp>
#include <coracle/core/awaitable.hpp>
#include <coracle/core/detail/callback_frame.hpp>
#include <coracle/core/detail/nested_starts.hpp>
#include <coracle/core/schedule.hpp>
#include <coracle/inspect/live_coroutines.hpp>
#include <coracle/testing/virtual_clock.hpp>

namespace coracle::testing {
/// A single-threaded executor with its own clock, which stands still while anything is runnable, then jumps
/// to the next timer. So a test of an hour takes no time and is deterministic.
///
///     coracle::testing::virtual_time_loop loop;
///     loop.run(serve_for(1h));                     // to its end
///     loop.advance(10ms);                          // or step by step, if started otherwise
///
/// Order         first posted, first run; timers by deadline, equal deadlines in the order in which they were
///               armed.
/// Resumes on    the thread that is inside run(), run_pending() or advance().
/// Cancellation  schedule(): as schedule_operation.
/// Exceptions    run(): those of the awaitable.
/// Threads       one: everything must happen on the thread that created it.
/// Cost          no allocation.
class virtual_time_loop final : public executor {
 public:
  using time_point = virtual_clock::time_point;
  using duration = virtual_clock::duration;
  /// The initial time of the clock.
  static constexpr time_point start = virtual_clock::start;

  virtual_time_loop() noexcept = default;
  virtual_time_loop(const virtual_time_loop&) = delete;
  virtual_time_loop& operator=(const virtual_time_loop&) = delete;
  /// Requires: nothing is queued, and no timer is armed.
  ~virtual_time_loop() {
    CORACLE_REQUIRE(queue_.empty() && clock_.empty(),
                    "a virtual_time_loop was destroyed with coroutines in its queue or timers armed: join "
                    "its coroutines first");
  }

  /// Awaits an awaitable from plain code: runs everything here until it has completed, and returns its
  /// result. Other coroutines stay suspended where they are. A deadlock (nothing is runnable and no timer is
  /// armed) ends the program with a message and a list of all coroutines.
  template <awaitable Awaitable>
  detail::kept_result_t<Awaitable> run(Awaitable&& value);

  /// Runs what is queued, and what that queues, without moving the clock. Returns the number of coroutines
  /// run.
  std::size_t run_pending();
  /// Advances the clock by `step`, fires each timer at its time, and runs what that wakes.
  template <class Rep, class Period>
  void advance(std::chrono::duration<Rep, Period> step) {
    advance_to(detail::later_by(now(), detail::clock_duration(step)));
  }

  [[nodiscard]] time_point now() noexcept { return clock_.now(); }
  void post(resumption& item) noexcept override {
    check_thread();
    queue_.push(item);
  }
  [[nodiscard]] timer_service* timers() noexcept override { return &clock_; }

  /// Awaitable of nothing: continues on this loop, behind what is already queued.
  schedule_operation<virtual_time_loop> schedule() noexcept {
    return schedule_operation<virtual_time_loop>{*this};
  }

 private:
  void check_thread() const noexcept {
    CORACLE_REQUIRE(owner_ == &detail::this_thread(),
                    "a virtual_time_loop was used by a thread other than its own");
  }
  bool fire_next(time_point latest);
  void advance_to(time_point end);

  detail::intrusive_queue<resumption> queue_;
  virtual_clock clock_;
  [[maybe_unused]] const detail::thread_state* const owner_ = &detail::this_thread();
};

inline std::size_t virtual_time_loop::run_pending() {
  const detail::executor_scope here{this};
  std::size_t count = 0;
  for (; !queue_.empty(); ++count) resume(queue_.pop().handle);
  return count;
}

/// Advances the clock to the next timers and fires them. Returns false if there are none until `latest`.
inline bool virtual_time_loop::fire_next(time_point latest) {
  if (!clock_.jump(latest)) return false;
  while (clock_.fire_due()) {
  }
  return true;
}

inline void virtual_time_loop::advance_to(time_point end) {
  do run_pending();
  while (fire_next(end));
  clock_.advance_to(end);
}

template <awaitable Awaitable>
detail::kept_result_t<Awaitable> virtual_time_loop::run(Awaitable&& value) {
  struct completion : detail::callback_frame {
    completion() noexcept : detail::callback_frame(&completed, nullptr) {}
    static void completed(detail::callback_frame* self) { static_cast<completion*>(self)->reached = true; }
    bool reached = false;
  } end;
  auto&& a = get_awaiter(static_cast<Awaitable&&>(value));
  {
    const detail::executor_scope here{this};
    const detail::starts_before_blocking nothing_put_off;
    if (detail::is_ready_for_plain_code(a) || !detail::suspend_into(a, end.handle())) end.reached = true;
  }
  while (!end.reached) {
    if (run_pending() == 0 && !fire_next(time_point::max())) {
      detail::print_message(
          "deadlock in virtual_time_loop::run(): nothing is runnable and no timer is armed");
      std::fputs(live_coroutines().c_str(), stderr);
      __builtin_abort();
    }
  }
  // The result is taken where a coroutine would take it: that may read the clock, as an interval does.
  const detail::executor_scope here{this};
  return detail::result_for_plain_code(a);
}
}  // namespace coracle::testing
