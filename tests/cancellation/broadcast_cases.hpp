// tests/cancellation/broadcast_cases.hpp -- oneshot, broadcast and watch.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/channels/broadcast.hpp>
#include <coracle/channels/oneshot.hpp>
#include <coracle/channels/watched_value.hpp>
#include <coracle/core/sync_wait.hpp>

#include "cancellation_case.hpp"

namespace coracle_test {
/// The value is received exactly once: by this recv(), or by the next one after a cancellation.
class oneshot_case final : public cancellation_case {
  coracle::task<> operation() override { received_ += co_await ends_.second.recv(); }
  void complete() override { given_back_ = ends_.first.send(7).has_value(); }
  bool intact(bool carried_out, bool completed) override {
    if (!completed) complete();
    if (!carried_out) received_ += coracle::sync_wait(ends_.second.recv());
    return received_ == 7 && !given_back_;
  }

  std::pair<coracle::oneshot_sender<int>, coracle::oneshot_receiver<int>> ends_ = coracle::oneshot<int>();
  int received_ = 0;
  bool given_back_ = false;
};

class broadcast_case final : public cancellation_case {
  coracle::task<> operation() override { received_ += (co_await mine_.recv()).value(); }
  void complete() override { values_.send(7); }
  bool intact(bool carried_out, bool completed) override {
    if (!completed) complete();
    if (!carried_out) received_ += coracle::sync_wait(mine_.recv()).value();
    values_.close();
    return received_ == 7 && !coracle::sync_wait(mine_.recv());
  }

  coracle::broadcast<int> values_{1};
  coracle::broadcast_subscription<int> mine_ = values_.subscribe();
  int received_ = 0;
};

class watch_case final : public cancellation_case {
  coracle::task<> operation() override { seen_ += *co_await mine_.changed(); }
  void complete() override { value_.set(7); }
  bool intact(bool carried_out, bool completed) override {
    if (!completed) complete();
    if (!carried_out) seen_ += *coracle::sync_wait(mine_.changed());
    return seen_ == 7 && *mine_.get() == 7;
  }

  coracle::watched_value<int> value_{1};
  coracle::value_observer<int> mine_ = value_.observe();
  int seen_ = 0;
};

inline std::vector<cancellation_entry> broadcast_cases() {
  return {{"oneshot_receiver::recv_operation", &make_case<oneshot_case>},
          {"broadcast_subscription::recv_operation", &make_case<broadcast_case>},
          {"value_observer::changed_operation", &make_case<watch_case>}};
}
}  // namespace coracle_test
