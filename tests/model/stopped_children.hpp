// tests/model/stopped_children.hpp -- tasks that are stopped where they wait, and what has happened to them.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/compose/as_outcome.hpp>
#include <coracle/core/task.hpp>
#include <coracle/core/with_environment.hpp>
#include <coracle/sync/async_manual_reset_event.hpp>

#include "model_executor.hpp"
#include "model_waits.hpp"

namespace coracle_test {
/// What has happened to a child that waits.
struct child_log {
  plain_int destroyed = 0, handled = 0, went_on = 0;
};
struct counts_destruction {
  explicit counts_destruction(child_log& its_log) noexcept : log(its_log) {}
  counts_destruction(const counts_destruction&) = delete;
  counts_destruction& operator=(const counts_destruction&) = delete;
  ~counts_destruction() { ++log.destroyed; }
  child_log& log;
};
inline coracle::task<int> waits(child_log& log, const coracle::async_manual_reset_event& event) {
  const counts_destruction local(log);
  try {
    co_await event;
  } catch (const coracle::operation_cancelled&) {
    ++log.handled;
    throw;
  }
  ++log.went_on;
  co_return 1;
}

/// Takes the end of `work` as a value, and records it: v, e, or c.
template <class Work>
detached end_of(Work work, coracle::stop_token token, char& end, int& ended) {
  auto outcome = co_await coracle::with_stop(coracle::as_outcome(std::move(work)), std::move(token));
  end = outcome.has_value() ? 'v' : outcome.has_error() ? 'e' : 'c';
  ++ended;
}

/// The body runs it. As one that wakes its thread does, post() uses the executor after the item can run.
class waking_executor final : public coracle::executor {
 public:
  void post(coracle::resumption& item) noexcept override {
    queue_.post(item);
    model_expect(has_thread_ == 1, "the executor is still there");
  }
  template <class Start>
  void begin(Start start) {
    const coracle::detail::executor_scope here{this};
    start();
  }
  void run_until(const int& ended) {
    while (ended == 0) {
      if (queue_.run_posted(*this) == 0) coracle::testing::model_yield();
    }
  }

 private:
  model_executor queue_;
  plain_int has_thread_ = 1;
};
}  // namespace coracle_test
