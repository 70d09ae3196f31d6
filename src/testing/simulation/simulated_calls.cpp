// SPDX-License-Identifier: MIT
#include "simulated_calls.hpp"

#include <chrono>
#include <coracle/testing/allocations.hpp>
#include <coracle/testing/simulation/simulation.hpp>

namespace coracle::detail {
namespace {
constexpr testing::simulation::duration shortest = std::chrono::microseconds{1};
constexpr testing::simulation::duration longest = std::chrono::milliseconds{1};
}  // namespace

bool simulated_calls::enqueue(blocking_call& call) noexcept {
  const testing::allocations_aside of_a_thread;
  if (!waiting_.push(node_of(call))) return false;
  sim_.at(sim_.now() + sim_.random().between(shortest, longest), [this] {
    if (due_++ == 0) sim_.post(turn_);
  });
  return true;
}

void simulated_calls::make_first() {
  if (--due_ != 0) sim_.post(turn_);
  queued_waiter* const first = waiting_.claim();
  if (!first) return;  // withdrawn
  const executor_scope outside{nullptr};
  make(call_of(*first));
  first->wake();
}
}  // namespace coracle::detail
