// tests/cancellation/core_cases.hpp -- a shared_task that another coroutine runs.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/core/shared_task.hpp>
#include <coracle/core/sync_wait.hpp>
#include <coracle/sync/async_manual_reset_event.hpp>

#include "cancellation_case.hpp"

namespace coracle_test {
template <bool OnlyItsEnd>
class shared_task_case final : public cancellation_case {
  coracle::task<> operation() override {
    if constexpr (OnlyItsEnd) {
      co_await shared_.when_ready();
    } else {
      const int& value = co_await shared_;
      right_ = value == 7;
    }
  }
  void complete() override { open_.set(); }
  /// A later awaiter gets the result, even of a body that no coroutine awaited in the meantime.
  bool intact(bool, bool completed) override {
    if (!completed) open_.set();
    return right_ && coracle::sync_wait(shared_) == 7 && runs_ == 1;
  }

  static coracle::shared_task<int> body(coracle::async_manual_reset_event& open, int& runs) {
    ++runs;
    co_await open;
    co_return 7;
  }

  coracle::async_manual_reset_event open_;
  int runs_ = 0;
  bool right_ = true;
  coracle::shared_task<int> shared_ = body(open_, runs_);
};

inline std::vector<cancellation_entry> core_cases() {
  return {{"shared_task::awaiter", &make_case<shared_task_case<false>>},
          {"shared_task::ready_awaiter", &make_case<shared_task_case<true>>}};
}
}  // namespace coracle_test
