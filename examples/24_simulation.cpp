// examples/24_simulation.cpp -- an account from which several coroutines draw. Tests with one order of events
// pass; a simulation tries a thousand, names the seed of one that fails, and also tries each stop request and
// each failure.
// SPDX-License-Identifier: MIT
#include <coracle/compose/when_all.hpp>
#include <coracle/core/task.hpp>
#include <coracle/sync/async_mutex.hpp>
#include <coracle/testing/allocations.hpp>
#include <coracle/testing/simulation/simulate.hpp>
#include <coracle/time/sleep.hpp>
#include <coracle/time/timeout.hpp>
#include <cstdio>
#include <stdexcept>
#include <string_view>

CORACLE_COUNT_ALLOCATIONS();  // so that for_every_fault() can make the k-th one fail

using namespace std::chrono_literals;
using coracle::testing::simulation;

struct account {
  int balance = 150;
  coracle::async_mutex mutex;
};

/// Asks the bank, which takes time and may be unreachable.
coracle::task<> confirm(simulation& sim) {
  co_await coracle::sleep_for(sim.random().between(1ms, 20ms));
  if (sim.fails("the bank answers")) throw std::runtime_error("the bank is out of reach");
}

coracle::task<> draw(simulation& sim, account& from, int amount) {
  if (from.balance < amount) co_return;
  co_await confirm(sim);
  from.balance -= amount;  // the balance was sufficient when checked; others have run since
}

coracle::task<> draw_alone(simulation& sim, account& from, int amount) {
  const auto lock = co_await from.mutex.scoped_lock_async();
  co_await draw(sim, from, amount);
}

/// Three customers arrive within two seconds; the balance suffices for two.
template <class Draw>
void three_customers(simulation& sim, Draw draw_from) {
  account shared;
  const auto customer = [&]() -> coracle::task<> {
    co_await coracle::sleep_for(sim.random().between(0ms, 2000ms));
    co_await coracle::timeout(draw_from(sim, shared, 70), 1h);
  };
  sim.run(coracle::when_all(customer(), customer(), customer()));
  sim.expect(shared.balance >= 0, "nobody draws more than there is");
}
void without_a_lock(simulation& sim) { three_customers(sim, draw); }
void with_a_lock(simulation& sim) { three_customers(sim, draw_alone); }

int main() {
  try {
    coracle::testing::simulate({.count = 1000}, without_a_lock);
    std::puts("without a lock: no seed fails");
  } catch (const coracle::testing::simulation_failure& failure) {
    // The whole text has the source location, the end of the trace, and how to rerun this seed.
    const std::string_view text = failure.what();
    std::printf("without a lock: %.*s\n", static_cast<int>(text.find(" (")), text.data());
  }
  coracle::testing::simulate({.count = 1000}, with_a_lock);
  std::puts("with a lock: 1000 seeds, no failure");

  const auto counts = coracle::testing::for_every_fault(1, with_a_lock);
  std::printf("with each of %d stop requests, and each of %d failures of the bank: no failure\n",
              static_cast<int>(counts.cancellations), static_cast<int>(counts.operations));
}

// Output:
//   without a lock: simulation, seed 44: expectation failed: nobody draws more than there is
//   with a lock: 1000 seeds, no failure
//   with each of 10 stop requests, and each of 2 failures of the bank: no failure
