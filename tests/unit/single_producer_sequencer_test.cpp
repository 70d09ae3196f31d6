// tests/unit/single_producer_sequencer_test.cpp -- the slots of one producer in a ring buffer.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <coracle/compose/when_all.hpp>
#include <coracle/core/sync_wait.hpp>
#include <coracle/core/task.hpp>
#include <coracle/exec/inline_scheduler.hpp>
#include <coracle/exec/run_loop.hpp>
#include <coracle/exec/static_thread_pool.hpp>
#include <coracle/sync/single_producer_sequencer.hpp>
#include <coracle/testing/allocations.hpp>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "../support/abort_message.hpp"
#include "../support/detached.hpp"
#include "../support/stoppable.hpp"
#include "sequencer_claims.hpp"

namespace {
using coracle::run_loop;
using coracle::sequence_barrier;
using coracle::single_producer_sequencer;
using coracle::task;
using coracle_test::claim;
using coracle_test::detached;
using coracle_test::numbers;
using coracle_test::run_stoppable;

/// Claims up to each of the given counts.
detached claim_ranges(single_producer_sequencer<>& sequencer, numbers counts, std::vector<numbers>& claimed) {
  for (const std::size_t count : counts) {
    const auto range = co_await sequencer.claim_up_to(count);
    claimed.emplace_back(range.begin(), range.end());
  }
}

TEST_CASE("single_producer_sequencer: claims number after number, and waits where the ring is full") {
  sequence_barrier<> consumed;
  single_producer_sequencer sequencer{consumed, 4};
  CHECK(sequencer.buffer_size() == 4);
  numbers claimed;
  claim(sequencer, 8, claimed);
  CHECK(claimed == numbers{0, 1, 2, 3});
  consumed.publish(0);
  CHECK(claimed == numbers{0, 1, 2, 3, 4});
  consumed.publish(3);
  CHECK(claimed == numbers{0, 1, 2, 3, 4, 5, 6, 7});
}

TEST_CASE("single_producer_sequencer: a range takes what is free, at most what was asked for, at least one") {
  sequence_barrier<> consumed;
  single_producer_sequencer sequencer{consumed, 4};
  std::vector<numbers> claimed;
  claim_ranges(sequencer, {3, 3, 3, 1, 100}, claimed);
  CHECK(claimed == std::vector<numbers>{{0, 1, 2}, {3}});
  consumed.publish(1);
  CHECK(claimed.size() == 3);
  CHECK(claimed.back() == numbers{4, 5});
  consumed.publish(2);
  CHECK(claimed.back() == numbers{6});
  consumed.publish(6);
  CHECK(claimed.back() == numbers{7, 8, 9, 10});
}

TEST_CASE("single_producer_sequencer: a range whose producer resumes late takes what is free by then") {
  run_loop loop;
  sequence_barrier<> consumed;
  single_producer_sequencer sequencer{consumed, 2};
  std::size_t taken = 0;
  const auto produce = [&]() -> detached {
    co_await loop.schedule();
    const auto all = co_await sequencer.claim_up_to(2);
    sequencer.publish(all);
    taken = (co_await sequencer.claim_up_to(5)).size();
  };
  produce();
  CHECK(loop.run_one());
  consumed.publish(0);
  consumed.publish(1);
  CHECK(taken == 0);
  CHECK(loop.run_one());
  CHECK(taken == 2);
}

TEST_CASE("single_producer_sequencer: an operation that is awaited again, or late, claims only free slots") {
  sequence_barrier<> consumed;
  single_producer_sequencer sequencer{consumed, 2};
  auto one = sequencer.claim_one();
  auto up_to_five = sequencer.claim_up_to(5);
  numbers claimed;
  const auto claim_all = [&]() -> detached {
    for (int i = 0; i != 3; ++i) claimed.push_back(co_await one);
    for (int i = 0; i != 2; ++i) {
      for (const std::size_t each : co_await up_to_five) claimed.push_back(each);
    }
  };
  claim_all();
  CHECK(claimed == numbers{0, 1});
  consumed.publish(0);
  CHECK(claimed == numbers{0, 1, 2});
  consumed.publish(2);
  CHECK(claimed == numbers{0, 1, 2, 3, 4});
  consumed.publish(3);
  CHECK(claimed == numbers{0, 1, 2, 3, 4, 5});
}

TEST_CASE(
    "single_producer_sequencer: publishes a number, or a range, with all before; an empty range is none") {
  sequence_barrier<> consumed;
  single_producer_sequencer sequencer{consumed, 8};
  numbers claimed;
  claim(sequencer, 5, claimed);
  CHECK(sequencer.last_published() == static_cast<std::size_t>(-1));
  sequencer.publish(1);
  CHECK(sequencer.last_published() == 1);
  sequencer.publish(coracle::sequence_range<std::size_t>{2, 4});
  CHECK(sequencer.last_published() == 3);
  sequencer.publish(coracle::sequence_range<std::size_t>{2, 2});
  CHECK(sequencer.last_published() == 3);
}

TEST_CASE("single_producer_sequencer: a consumer waits until its number is published") {
  sequence_barrier<> consumed;
  single_producer_sequencer sequencer{consumed, 8};
  std::size_t last = 100;
  const auto consume = [&]() -> detached { last = co_await sequencer.wait_until_published(1); };
  consume();
  sequencer.publish(0);
  CHECK(last == 100);
  sequencer.publish(2);
  CHECK(last == 2);
}

TEST_CASE("single_producer_sequencer: starts at any number, and numbers wrap around") {
  sequence_barrier<std::uint8_t> consumed{253};
  single_producer_sequencer<std::uint8_t> sequencer{consumed, 4, 253};
  std::vector<int> claimed;
  const auto produce = [&]() -> detached {
    for (int i = 0; i != 600; ++i) {
      const std::uint8_t number = co_await sequencer.claim_one();
      claimed.push_back(number);
      sequencer.publish(number);
    }
  };
  produce();
  CHECK(claimed == std::vector{254, 255, 0, 1});
  for (std::uint8_t next = 254; claimed.size() != 600; ++next) consumed.publish(next);
  int wrong = 0;
  for (std::size_t i = 0; i != claimed.size(); ++i) wrong += claimed[i] != static_cast<std::uint8_t>(254 + i);
  CHECK(wrong == 0);
}

TEST_CASE("single_producer_sequencer: signed numbers serve as well") {
  sequence_barrier<std::int8_t> consumed;
  single_producer_sequencer<std::int8_t> sequencer{consumed, 2};
  int sum = 0;
  const auto produce = [&]() -> detached {
    for (int i = 0; i != 300; ++i) {
      const std::int8_t number = co_await sequencer.claim_one();
      sum += number;
    }
  };
  produce();
  for (int next = 0; next != 298; ++next) consumed.publish(static_cast<std::int8_t>(next));
  int wanted = 0;
  for (int i = 0; i != 300; ++i) wanted += static_cast<std::int8_t>(i);
  CHECK(sum == wanted);
}

TEST_CASE("single_producer_sequencer: resumes where it suspended, or on the scheduler if it had to wait") {
  run_loop home, abroad;
  coracle::inline_scheduler here;
  sequence_barrier<> consumed;
  single_producer_sequencer sequencer{consumed, 1};
  std::vector<const coracle::executor*> ran_on;
  const auto note = [&] { ran_on.push_back(coracle::current_executor()); };
  const auto produce = [&]() -> detached {
    co_await home.schedule();
    co_await sequencer.claim_one(abroad);
    note();
    co_await sequencer.claim_one();
    note();
    co_await sequencer.claim_one(abroad);
    note();
    const auto range = co_await sequencer.claim_up_to(3, here);
    note();
    CHECK(range.size() == 1);
    co_await sequencer.claim_up_to(1, home);
    note();
  };
  produce();
  CHECK(home.run_one());
  CHECK(ran_on == std::vector<const coracle::executor*>{&home});
  consumed.publish(0);
  CHECK(home.run_one());
  consumed.publish(1);
  CHECK(abroad.run_one());
  consumed.publish(2);
  CHECK(abroad.run_one());
  consumed.publish(3);
  CHECK(home.run_one());
  CHECK(ran_on == std::vector<const coracle::executor*>{&home, &home, &abroad, &abroad, &home});
}

TEST_CASE("single_producer_sequencer: a producer and a consumer on two threads, in batches") {
  constexpr std::size_t size = 64, count = 50'000;
  coracle::static_thread_pool pool{2};
  sequence_barrier<> consumed;
  single_producer_sequencer sequencer{consumed, size};
  std::vector<std::size_t> ring(size);
  const auto produce = [&]() -> task<> {
    co_await pool.schedule();
    for (std::size_t i = 0; i != count;) {
      const auto range = co_await sequencer.claim_up_to(count - i < 10 ? count - i : 10);
      for (const std::size_t number : range) ring[number % size] = ++i;
      sequencer.publish(range);
    }
  };
  const auto consume = [&]() -> task<std::size_t> {
    co_await pool.schedule();
    std::size_t sum = 0;
    for (std::size_t next = 0; next != count;) {
      const std::size_t last = co_await sequencer.wait_until_published(next);
      do sum += ring[next % size];
      while (next++ != last);
      consumed.publish(last);
    }
    co_return sum;
  };
  const auto [sum, nothing] = coracle::sync_wait(coracle::when_all(consume(), produce()));
  static_cast<void>(nothing);
  CHECK(sum == count * (count + 1) / 2);
}

TEST_CASE("single_producer_sequencer: a cancelled claim has claimed nothing") {
  sequence_barrier<> consumed;
  single_producer_sequencer sequencer{consumed, 2};
  numbers claimed;
  std::vector<int> log;
  coracle::stop_source before, during;
  before.request_stop();
  run_stoppable(before.get_token(), sequencer.claim_one(), log, 1);
  run_stoppable(before.get_token(), sequencer.claim_up_to(2), log, 2);
  claim(sequencer, 2, claimed);
  CHECK(claimed == numbers{0, 1});
  run_stoppable(during.get_token(), sequencer.claim_up_to(2), log, 3);
  during.request_stop();
  CHECK(log == std::vector{-1, -2, -3});
  claim(sequencer, 2, claimed);
  CHECK(claimed == numbers{0, 1});
  consumed.publish(1);
  CHECK(claimed == numbers{0, 1, 2, 3});
}

TEST_CASE("single_producer_sequencer: a consumer that is cancelled leaves the numbers to the others") {
  sequence_barrier<> consumed;
  single_producer_sequencer sequencer{consumed, 2};
  std::vector<int> log;
  coracle::stop_source stop;
  run_stoppable(stop.get_token(), sequencer.wait_until_published(0), log, 1);
  run_stoppable({}, sequencer.wait_until_published(0), log, 2);
  stop.request_stop();
  numbers claimed;
  claim(sequencer, 1, claimed);
  sequencer.publish(0);
  CHECK(log == std::vector{-1, 2});
}

TEST_CASE("single_producer_sequencer: claiming, waiting and publishing allocate nothing" *
          doctest::skip(!coracle::testing::allocations_are_counted)) {
  sequence_barrier<> consumed;
  run_loop loop;
  single_producer_sequencer sequencer{consumed, 1};
  std::size_t last = 0;
  const auto produce = [&]() -> detached {
    for (int i = 0; i != 3; ++i) last = co_await sequencer.claim_one();
    last = (co_await sequencer.claim_up_to(1, loop)).front();
  };
  produce();
  const auto before = coracle::testing::allocations();
  for (std::size_t i = 0; i != 3; ++i) consumed.publish(i);
  static_cast<void>(loop.run_one());
  const auto after = coracle::testing::allocations();
  CHECK(last == 3);
  CHECK(after == before);
}

TEST_CASE(
    "single_producer_sequencer: a ring of no places, or a claim of none, ends the program and says so") {
  const std::string places =
      "coracle: a ring buffer needs at least one slot, and at most half as many as there are numbers\n";
  CHECK(coracle_test::abort_message([] {
          const sequence_barrier<> consumed;
          single_producer_sequencer<> sequencer{consumed, 0};
        }) == places);
  CHECK(coracle_test::abort_message([] {
          const sequence_barrier<std::uint8_t> consumed;
          single_producer_sequencer<std::uint8_t> sequencer{consumed, 128};
        }) == places);
  CHECK(coracle_test::abort_message([] {
          const sequence_barrier<> consumed;
          single_producer_sequencer<> sequencer{consumed, 2};
          static_cast<void>(sequencer.claim_up_to(0));
        }) == "coracle: claim_up_to(0): claim at least one number\n");
}

using sequencer_type = single_producer_sequencer<>;
static_assert(!std::is_copy_constructible_v<sequencer_type> && !std::is_move_constructible_v<sequencer_type>);
static_assert(alignof(sequencer_type::claim_operation) <= 16);
static_assert(std::is_same_v<coracle::await_result_t<sequencer_type::claim_one_operation>, std::size_t> &&
              std::is_same_v<coracle::await_result_t<sequencer_type::claim_operation>,
                             coracle::sequence_range<std::size_t>>);
static_assert(noexcept(std::declval<sequencer_type&>().claim_one()) &&
              noexcept(std::declval<sequencer_type&>().claim_up_to(1)));
}  // namespace
