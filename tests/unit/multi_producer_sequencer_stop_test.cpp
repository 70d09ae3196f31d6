// tests/unit/multi_producer_sequencer_stop_test.cpp -- claims that are stopped, or lose a race.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <coracle/compose/when_any.hpp>
#include <coracle/core/sync_wait.hpp>
#include <coracle/exec/run_loop.hpp>
#include <coracle/sync/async_manual_reset_event.hpp>
#include <coracle/sync/multi_producer_sequencer.hpp>
#include <coracle/testing/allocations.hpp>
#include <cstdint>
#include <new>
#include <optional>
#include <string>
#include <vector>

#include "../support/abort_message.hpp"
#include "../support/detached.hpp"
#include "../support/indirect_scheduler.hpp"
#include "../support/stoppable.hpp"
#include "sequencer_claims.hpp"

namespace {
using coracle::multi_producer_sequencer;
using coracle::run_loop;
using coracle::sequence_barrier;
using coracle_test::claim;
using coracle_test::claim_range;
using coracle_test::detached;
using coracle_test::indirect_scheduler;
using coracle_test::none;
using coracle_test::numbers;
using coracle_test::run_stoppable;
using coracle_test::wait;

TEST_CASE("multi_producer_sequencer: stop requested before the await: nothing is claimed") {
  sequence_barrier<> consumed;
  multi_producer_sequencer sequencer{consumed, 2};
  numbers claimed;
  std::vector<int> log;
  coracle::stop_source stop;
  stop.request_stop();
  run_stoppable(stop.get_token(), sequencer.claim_one(), log, 1);
  run_stoppable(stop.get_token(), sequencer.claim_up_to(2), log, 2);
  CHECK(log == std::vector{-1, -2});
  claim(sequencer, 1, claimed);
  CHECK(claimed == numbers{0});
}

TEST_CASE("multi_producer_sequencer: a cancelled claim leaves no gap, the others keep their order") {
  sequence_barrier<> consumed;
  multi_producer_sequencer sequencer{consumed, 2};
  numbers claimed, first, last;
  claim(sequencer, 2, claimed);
  std::vector<int> log;
  coracle::stop_source stop;
  claim(sequencer, 1, first);
  run_stoppable(stop.get_token(), sequencer.claim_one(), log, 1);
  claim_range(sequencer, 2, last);
  stop.request_stop();
  CHECK(log == std::vector{-1});
  consumed.publish(0);
  CHECK(first == numbers{2});
  CHECK(last.empty());
  consumed.publish(1);
  CHECK(last == numbers{3});
}

TEST_CASE("multi_producer_sequencer: the first in the queue is cancelled, and the next gets its number") {
  sequence_barrier<> consumed;
  multi_producer_sequencer sequencer{consumed, 1};
  numbers claimed, next;
  claim(sequencer, 1, claimed);
  std::vector<int> log;
  coracle::stop_source stop;
  run_stoppable(stop.get_token(), sequencer.claim_up_to(3), log, 1);
  claim(sequencer, 1, next);
  stop.request_stop();
  consumed.publish(0);
  CHECK(log == std::vector{-1});
  CHECK(next == numbers{1});
}

TEST_CASE("multi_producer_sequencer: a stop request after a place was given has no effect") {
  run_loop loop;
  sequence_barrier<> consumed;
  multi_producer_sequencer sequencer{consumed, 1};
  numbers claimed;
  claim(sequencer, 1, claimed);
  std::vector<int> log;
  coracle::stop_source stop;
  coracle_test::run_stoppable_on(stop.get_token(), loop, sequencer.claim_one(), log, 1);
  CHECK(loop.run_one());
  consumed.publish(0);
  stop.request_stop();
  consumed.publish(1);
  claim(sequencer, 1, claimed);
  CHECK(claimed == numbers{0, 2});
  CHECK(loop.run_one());
  CHECK(log == std::vector{1});
}

TEST_CASE("multi_producer_sequencer: a claim that has its number is not stopped on the way to a scheduler") {
  run_loop home, abroad;
  const indirect_scheduler place{abroad};
  sequence_barrier<> consumed;
  multi_producer_sequencer sequencer{consumed, 1};
  numbers claimed;
  claim(sequencer, 1, claimed);
  std::vector<int> log;
  coracle::stop_source stop;
  coracle_test::run_stoppable_on(stop.get_token(), home, sequencer.claim_one(place), log, 1);
  CHECK(home.run_one());
  consumed.publish(0);
  stop.request_stop();
  CHECK(home.run_one());
  CHECK(log.empty());
  CHECK(abroad.run_one());
  CHECK(log == std::vector{1001});  // carried out, and not at home
}

TEST_CASE("multi_producer_sequencer: no want of memory loses a number on the way to a scheduler" *
          doctest::skip(!coracle::testing::allocations_are_counted)) {
  bool lost = false;
  const int failures = coracle::testing::fail_each_allocation([&] {
    run_loop abroad;
    const indirect_scheduler place{abroad};
    sequence_barrier<> consumed;
    std::optional<multi_producer_sequencer<>> sequencer;
    bool has_number = false;
    const auto produce = [&]() -> coracle::task<> {
      try {
        co_await sequencer->claim_one(place);
        has_number = true;
      } catch (const std::bad_alloc&) {
      }
    };
    try {
      sequencer.emplace(consumed, 1u);
      static_cast<void>(coracle::sync_wait(sequencer->claim_one()));
      coracle_test::run_detached(produce());
    } catch (const std::bad_alloc&) {
    }
    if (!sequencer) return;
    consumed.publish(0);
    static_cast<void>(abroad.run_one());
    lost = lost || (!has_number && !sequencer->any_available());
  });
  CHECK(failures >= 3);
  CHECK_FALSE(lost);
}

TEST_CASE("multi_producer_sequencer: a claim that comes while others wait for a slot waits behind them") {
  run_loop loop;
  sequence_barrier<> consumed;
  multi_producer_sequencer sequencer{consumed, 1};
  numbers claimed, first, second;
  claim(sequencer, 1, claimed);
  const auto claim_on_loop = [&]() -> detached {
    co_await loop.schedule();
    first.push_back(co_await sequencer.claim_one());
  };
  claim_on_loop();
  CHECK(loop.run_one());
  claim(sequencer, 1, second);
  consumed.publish(0);
  CHECK(second.empty());
  CHECK(loop.run_one());
  CHECK(first == numbers{1});
  consumed.publish(1);
  CHECK(second == numbers{2});
}

TEST_CASE(
    "multi_producer_sequencer: a claim whose when_any() is won by another takes no number, nor blocks") {
  run_loop loop;
  sequence_barrier<> consumed;
  multi_producer_sequencer sequencer{consumed, 1};
  coracle::async_manual_reset_event event;
  numbers claimed, next;
  std::size_t winner = 9;
  claim(sequencer, 1, claimed);
  const auto work = [&]() -> detached {
    co_await loop.schedule();
    winner = (co_await coracle::when_any(sequencer.claim_one(), event)).index();
  };
  work();
  CHECK(loop.run_one());
  event.set();
  consumed.publish(0);
  claim(sequencer, 1, next);  // behind the lost one
  CHECK(next == numbers{1});
  while (loop.run_one()) {
  }
  CHECK(winner == 1);
  consumed.publish(1);
  claim(sequencer, 1, next);
  CHECK(next == numbers{1, 2});
}

TEST_CASE("multi_producer_sequencer: when_any() claims from exactly one of two rings") {
  sequence_barrier<> consumed;
  multi_producer_sequencer first{consumed, 1}, second{consumed, 1};
  numbers claimed;
  std::size_t winner = 9;
  claim(first, 1, claimed);
  claim(second, 1, claimed);
  const auto work = [&]() -> detached {
    winner = (co_await coracle::when_any(first.claim_one(), second.claim_one())).index();
  };
  work();
  CHECK(winner == 9);
  consumed.publish(0);
  CHECK(winner == 0);
  claim(second, 1, claimed);
  CHECK(claimed == numbers{0, 0, 1});
}

TEST_CASE("multi_producer_sequencer: 50'000 claims are cancelled in any order, each in a moment") {
  sequence_barrier<> consumed;
  multi_producer_sequencer sequencer{consumed, 1};
  numbers claimed;
  claim(sequencer, 1, claimed);
  CHECK(coracle_test::cancels_many(50'000, false, [&] { return sequencer.claim_one(); }));
  CHECK(coracle_test::cancels_many(50'000, true, [&] { return sequencer.claim_up_to(2); }));
  consumed.publish(0);
  claim(sequencer, 1, claimed);
  CHECK(claimed == numbers{0, 1});
}

TEST_CASE("multi_producer_sequencer: claiming, waiting and publishing allocate nothing" *
          doctest::skip(!coracle::testing::allocations_are_counted)) {
  sequence_barrier<> consumed;
  multi_producer_sequencer sequencer{consumed, 1};
  std::size_t last = 0;
  const auto produce = [&]() -> detached {
    for (int i = 0; i != 3; ++i) last = co_await sequencer.claim_one();
    co_await sequencer.wait_until_published(0, none);
  };
  produce();
  const auto before = coracle::testing::allocations();
  consumed.publish(0);
  consumed.publish(1);
  sequencer.publish(0);
  const auto after = coracle::testing::allocations();
  CHECK(last == 2);
  CHECK(after == before);
}

TEST_CASE("multi_producer_sequencer: without memory for its slots the constructor throws, and nothing leaks" *
          doctest::skip(!coracle::testing::allocations_are_counted)) {
  const int failed = coracle::testing::fail_each_allocation([] {
    try {
      sequence_barrier<> consumed;
      multi_producer_sequencer sequencer{consumed, 16};
      const auto* const volatile seen = &sequencer;  // or the compiler leaves the allocation out
      CHECK(seen->any_available());
    } catch (const std::bad_alloc&) {
    }
  });
  CHECK(failed == 1);
}

TEST_CASE("multi_producer_sequencer: broken preconditions end the program and say so") {
  const std::string size =
      "coracle: multi_producer_sequencer: the size of the ring buffer has to be a power of two, and at most "
      "half "
      "as many as there are numbers\n";
  const std::string waits =
      "coracle: a multi_producer_sequencer was destroyed while coroutines wait for a number: stop and join "
      "them first\n";
  CHECK(coracle_test::abort_message([] {
          const sequence_barrier<> consumed;
          multi_producer_sequencer<> sequencer{consumed, 3};
        }) == size);
  CHECK(coracle_test::abort_message([] {
          const sequence_barrier<> consumed;
          multi_producer_sequencer<> sequencer{consumed, 0};
        }) == size);
  CHECK(coracle_test::abort_message([] {
          const sequence_barrier<std::uint8_t> consumed;
          multi_producer_sequencer<std::uint8_t> sequencer{consumed, 128};
        }) == size);
  CHECK(coracle_test::abort_message([] {
          const sequence_barrier<> consumed;
          multi_producer_sequencer<> sequencer{consumed, 2};
          numbers log;
          wait(sequencer, 0, none, log);
        }) == waits);
  CHECK(coracle_test::abort_message([] {
          const sequence_barrier<> consumed;
          multi_producer_sequencer<> sequencer{consumed, 1};
          numbers claimed;
          claim(sequencer, 2, claimed);
        }) ==
        "coracle: a multi_producer_sequencer was destroyed while coroutines wait for a slot: stop and join "
        "them first\n");
}
}  // namespace
