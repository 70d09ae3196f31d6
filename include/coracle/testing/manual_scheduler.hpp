// coracle/testing/manual_scheduler.hpp -- an executor on which the test picks the next coroutine.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/base/exchange.hpp>
#include <coracle/core/schedule.hpp>
#include <coracle/testing/virtual_clock.hpp>
#include <cstddef>

namespace coracle::testing {
/// Queues coroutines until the test resumes one of its choice.
///
///     coracle::testing::manual_scheduler place;
///     // ... three coroutines wait there: resume the third, then the first
///     place.run(2);
///     place.run(0);
///
/// Prefer run_loop if first come, first served is enough, or other threads post.
/// Resumes on    the thread that is inside run(), run_one() or run_all().
/// Cancellation  schedule(): as schedule_operation; it must be run.
/// Threads       one: everything must happen on the thread that created it.
/// Cost          no allocation; run(i) visits i + 1 entries.
class manual_scheduler final : public executor {
 public:
  manual_scheduler() noexcept = default;
  /// Sleeping coroutines use `clock`, which outlives this.
  explicit manual_scheduler(virtual_clock& clock) noexcept : clock_(&clock) {}
  manual_scheduler(const manual_scheduler&) = delete;
  manual_scheduler& operator=(const manual_scheduler&) = delete;
  /// Requires: nothing is queued.
  ~manual_scheduler() {
    CORACLE_REQUIRE(first_ == nullptr,
                    "a manual_scheduler was destroyed with coroutines in its queue: join them first");
  }

  /// Awaitable of nothing: continues here, when the test resumes it.
  schedule_operation<manual_scheduler> schedule() noexcept {
    return schedule_operation<manual_scheduler>{*this};
  }
  void post(resumption& item) noexcept override;
  [[nodiscard]] timer_service* timers() noexcept override { return clock_; }

  [[nodiscard]] std::size_t queued() const noexcept;
  /// Resumes the coroutine at `index` in posting order. Requires: index < queued().
  void run(std::size_t index);
  /// Resumes the oldest. Returns false if nothing is queued.
  bool run_one();
  /// Resumes the oldest until nothing is queued. Returns the number of coroutines resumed.
  std::size_t run_all();

 private:
  void check_thread() const noexcept {
    CORACLE_REQUIRE(owner_ == &detail::this_thread(),
                    "a manual_scheduler was used by a thread other than its own");
  }

  resumption* first_ = nullptr;  // oldest first
  virtual_clock* clock_ = nullptr;
  [[maybe_unused]] const detail::thread_state* const owner_ = &detail::this_thread();
};

inline void manual_scheduler::post(resumption& item) noexcept {
  check_thread();
  resumption** end = &first_;
  while (*end) end = &(*end)->next;
  *end = &item;
  item.next = nullptr;
}

inline std::size_t manual_scheduler::queued() const noexcept {
  std::size_t count = 0;
  for (const resumption* each = first_; each; each = each->next) ++count;
  return count;
}

inline void manual_scheduler::run(std::size_t index) {
  check_thread();
  resumption** at = &first_;
  for (; *at && index != 0; --index) at = &(*at)->next;
  CORACLE_REQUIRE(*at, "run() of a manual_scheduler: no coroutine is queued at this index");
  resumption& picked = *detail::exchange(*at, (*at)->next);
  const detail::executor_scope here{this};
  resume(picked.handle);
}

inline bool manual_scheduler::run_one() {
  if (!first_) return false;
  run(0);
  return true;
}

inline std::size_t manual_scheduler::run_all() {
  std::size_t count = 0;
  while (run_one()) ++count;
  return count;
}
}  // namespace coracle::testing
