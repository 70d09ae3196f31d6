// tests/model/model_executor.hpp -- an executor that a thread of a model check runs.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/base/atomic.hpp>
#include <coracle/core/schedule.hpp>
#include <coracle/testing/model/model_check.hpp>

namespace coracle_test {
/// First in, first out, with one atomic operation per post, so that a case which uses it has few executions.
class model_executor final : public coracle::executor {
 public:
  model_executor() = default;
  model_executor(const model_executor&) = delete;
  model_executor& operator=(const model_executor&) = delete;
  ~model_executor() {
    coracle::testing::model_expect(posted_.load(coracle::detail::memory_order_relaxed) == nullptr,
                                   "nothing is left in the queue of an executor");
  }

  void post(coracle::resumption& item) noexcept override {
    coracle::resumption* newest = posted_.load(coracle::detail::memory_order_relaxed);
    do {
      item.next = newest;
    } while (!posted_.compare_exchange_strong(newest, &item, coracle::detail::memory_order_release,
                                              coracle::detail::memory_order_relaxed));
  }
  /// Waits for items and runs them on the calling thread until it has run that many, and those that arrived
  /// with the last one.
  void run(unsigned count) {
    for (unsigned ran = 0; ran < count;) {
      const unsigned more = run_posted();
      if (more == 0) coracle::testing::model_yield();
      ran += more;
    }
  }
  /// Runs the entries that are queued now, as executor `place`. Returns their number.
  unsigned run_posted() { return run_posted(*this); }
  unsigned run_posted(coracle::executor& place) {
    coracle::resumption* each =
        coracle::detail::oldest_first(posted_.exchange(nullptr, coracle::detail::memory_order_acquire));
    unsigned ran = 0;
    for (; each; ++ran) {
      coracle::resumption& item = *std::exchange(each, each->next);
      const coracle::detail::executor_scope here{&place};
      coracle::resume(item.handle);
    }
    return ran;
  }
  coracle::schedule_operation<model_executor> schedule() noexcept {
    return coracle::schedule_operation<model_executor>{*this};
  }

 private:
  coracle::detail::atomic<coracle::resumption*> posted_{nullptr};
};

/// Starts a coroutine that waits in the queue of `place` until it is run.
template <class Start>
void start_on(model_executor& place, Start start) {
  const coracle::detail::executor_scope here{&place};
  start();
}
/// Runs what is posted to `place` until `over()`, of which only the calling thread knows.
template <class Predicate>
void run_until(model_executor& place, Predicate over) {
  while (!over()) {
    if (place.run_posted() == 0) coracle::testing::model_yield();
  }
}
}  // namespace coracle_test
