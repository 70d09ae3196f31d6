// tests/cancellation/sequencer_cases.hpp -- sequence barriers and sequencers.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/sync/multi_producer_sequencer.hpp>
#include <coracle/sync/sequence_barrier.hpp>
#include <coracle/sync/single_producer_sequencer.hpp>
#include <cstddef>

#include "../support/detached.hpp"
#include "cancellation_case.hpp"

namespace coracle_test {
/// Publishing does not depend on the waiters.
class sequence_barrier_case final : public cancellation_case {
  coracle::task<> operation() override { co_await barrier_.wait_until_published(1); }
  void complete() override { barrier_.publish(1); }
  bool intact(bool, bool completed) override { return barrier_.last_published() == (completed ? 1 : -1); }

  coracle::sequence_barrier<int> barrier_;
};
class multi_producer_wait_case final : public cancellation_case {
  coracle::task<> operation() override { co_await sequencer_.wait_until_published(1, -1); }
  void complete() override { sequencer_.publish(coracle::sequence_range<int>{0, 2}); }
  bool intact(bool, bool completed) override {
    return sequencer_.last_published_after(-1) == (completed ? 1 : -1);
  }

  coracle::sequence_barrier<int> consumed_;
  coracle::multi_producer_sequencer<int> sequencer_{consumed_, 4};
};

/// All slots of a ring of two are taken; the case frees one. The next claim gets the number after
/// those that were claimed: a cancelled claim leaves no gap.
template <class Sequencer, bool InBatches>
class claim_case final : public cancellation_case {
 public:
  claim_case() {
    claim_next();
    claim_next();
  }

 private:
  coracle::task<> operation() override {
    if constexpr (InBatches) {
      const auto range = co_await sequencer_.claim_up_to(3);
      claimed_ = range.size() == 1 ? range.front() : -1;
    } else {
      claimed_ = co_await sequencer_.claim_one();
    }
  }
  void complete() override { consumed_.publish(0); }
  bool intact(bool carried_out, bool) override {
    consumed_.publish(1);  // one more is free now, whatever has happened
    claim_next();
    return claimed_ == (carried_out ? 2 : 0) && next_ == (carried_out ? 3 : 2);
  }
  detached claim_next() { next_ = co_await sequencer_.claim_one(); }

  coracle::sequence_barrier<int> consumed_;
  Sequencer sequencer_{consumed_, 2};
  int claimed_ = 0;  // by the operation
  int next_ = -1;    // by the case
};

inline std::vector<cancellation_entry> sequencer_cases() {
  using single = coracle::single_producer_sequencer<int>;
  using multi = coracle::multi_producer_sequencer<int>;
  return {{"sequence_wait", &make_case<sequence_barrier_case>},
          {"sequence_wait", &make_case<multi_producer_wait_case>},
          {"single_producer_sequencer::claim_one_operation", &make_case<claim_case<single, false>>},
          {"single_producer_sequencer::claim_operation", &make_case<claim_case<single, true>>},
          {"multi_producer_sequencer::claim_one_operation", &make_case<claim_case<multi, false>>},
          {"multi_producer_sequencer::claim_operation", &make_case<claim_case<multi, true>>}};
}
}  // namespace coracle_test
