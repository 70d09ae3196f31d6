// tests/unit/multi_producer_sequencer_test.cpp -- the slots of many producers in one ring buffer.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <coracle/compose/when_all.hpp>
#include <coracle/core/sync_wait.hpp>
#include <coracle/core/task.hpp>
#include <coracle/exec/inline_scheduler.hpp>
#include <coracle/exec/run_loop.hpp>
#include <coracle/exec/static_thread_pool.hpp>
#include <coracle/sync/multi_producer_sequencer.hpp>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <vector>

#include "../support/abort_message.hpp"
#include "../support/detached.hpp"
#include "../support/indirect_scheduler.hpp"
#include "sequencer_claims.hpp"

namespace {
using coracle::multi_producer_sequencer;
using coracle::run_loop;
using coracle::sequence_barrier;
using coracle::task;
using coracle_test::claim;
using coracle_test::claim_range;
using coracle_test::detached;
using coracle_test::indirect_scheduler;
using coracle_test::none;
using coracle_test::numbers;
using coracle_test::wait;

TEST_CASE("multi_producer_sequencer: claims number after number, and waits where the ring is full") {
  sequence_barrier<> consumed;
  multi_producer_sequencer sequencer{consumed, 4};
  CHECK(sequencer.buffer_size() == 4);
  numbers first, second;
  claim(sequencer, 3, first);
  claim(sequencer, 3, second);
  claim(sequencer, 1, first);
  CHECK(first == numbers{0, 1, 2});
  CHECK(second == numbers{3});
  consumed.publish(0);
  CHECK(second == numbers{3, 4});
  consumed.publish(1);
  CHECK(first.back() == 5);
  consumed.publish(2);
  CHECK(second == numbers{3, 4, 6});
}

TEST_CASE("multi_producer_sequencer: any_available() tells of every free place, the last one too") {
  sequence_barrier<> consumed;
  multi_producer_sequencer sequencer{consumed, 2};
  numbers claimed;
  CHECK(sequencer.any_available());
  claim(sequencer, 1, claimed);
  CHECK(sequencer.any_available());
  claim(sequencer, 1, claimed);
  CHECK_FALSE(sequencer.any_available());
  consumed.publish(0);
  CHECK(sequencer.any_available());
}

TEST_CASE("multi_producer_sequencer: a range takes what is free, at most what was asked for, at least one") {
  sequence_barrier<> consumed;
  multi_producer_sequencer sequencer{consumed, 4};
  numbers first, second, third;
  claim_range(sequencer, 3, first);
  claim_range(sequencer, 3, second);
  claim_range(sequencer, 3, third);
  CHECK(first == numbers{0, 1, 2});
  CHECK(second == numbers{3});
  CHECK(third.empty());
  consumed.publish(0);
  CHECK(third == numbers{4});
  consumed.publish(3);
  claim_range(sequencer, 100, first);
  CHECK(first == numbers{5, 6, 7});
}

TEST_CASE("multi_producer_sequencer: to publish an empty range publishes nothing") {
  sequence_barrier<> consumed;
  multi_producer_sequencer sequencer{consumed, 4};
  sequencer.publish(coracle::sequence_range<std::size_t>{});
  CHECK(sequencer.last_published_after(none) == none);
}

TEST_CASE("multi_producer_sequencer: a claim that nobody awaits takes no number") {
  sequence_barrier<> consumed;
  multi_producer_sequencer sequencer{consumed, 4};
  numbers claimed;
  {
    const auto one = sequencer.claim_one();
    const auto many = sequencer.claim_up_to(3);
    static_cast<void>(one);
    static_cast<void>(many);
  }
  claim(sequencer, 1, claimed);
  CHECK(claimed == numbers{0});
}

TEST_CASE("multi_producer_sequencer: consumers see numbers without a gap, in whatever order they come") {
  sequence_barrier<> consumed;
  multi_producer_sequencer sequencer{consumed, 4};
  numbers claimed, log;
  claim(sequencer, 4, claimed);
  CHECK(sequencer.last_published_after(none) == none);
  wait(sequencer, 1, none, log);
  sequencer.publish(1);
  CHECK(sequencer.last_published_after(none) == none);
  sequencer.publish(3);
  CHECK(log.empty());
  sequencer.publish(0);
  CHECK(log == numbers{1});
  CHECK(sequencer.last_published_after(none) == 1);
  CHECK(sequencer.last_published_after(2) == 3);
  sequencer.publish(2);
  CHECK(sequencer.last_published_after(none) == 3);
  wait(sequencer, 2, 1, log);
  CHECK(log == numbers{1, 3});
}

TEST_CASE("multi_producer_sequencer: a range is published as a whole; an empty one is none") {
  sequence_barrier<> consumed;
  multi_producer_sequencer sequencer{consumed, 8};
  numbers claimed, log;
  claim_range(sequencer, 5, claimed);
  wait(sequencer, 0, none, log);
  wait(sequencer, 4, none, log);
  sequencer.publish(coracle::sequence_range<std::size_t>{1, 1});
  sequencer.publish(coracle::sequence_range<std::size_t>{1, 5});
  CHECK(log.empty());
  sequencer.publish(coracle::sequence_range<std::size_t>{0, 1});
  CHECK(log == numbers{4, 4});
}

TEST_CASE("multi_producer_sequencer: who waits for the last of a range is woken when it is published") {
  sequence_barrier<> consumed;
  multi_producer_sequencer sequencer{consumed, 8};
  numbers claimed, log;
  claim_range(sequencer, 5, claimed);
  wait(sequencer, 4, none, log);
  sequencer.publish(coracle::sequence_range<std::size_t>{0, 5});
  CHECK(log == numbers{4});
}

TEST_CASE("multi_producer_sequencer: waiters with different targets each wait for their own") {
  sequence_barrier<> consumed;
  multi_producer_sequencer sequencer{consumed, 4};
  numbers claimed, log;
  claim(sequencer, 3, claimed);
  wait(sequencer, 2, none, log);
  wait(sequencer, 0, none, log);
  sequencer.publish(0);
  CHECK(log == numbers{0});
  sequencer.publish(1);
  CHECK(log == numbers{0});
  sequencer.publish(2);
  CHECK(log == numbers{0, 2});
}

TEST_CASE("multi_producer_sequencer: what is left of the last round of the ring is not taken for new") {
  sequence_barrier<> consumed;
  multi_producer_sequencer sequencer{consumed, 2};
  numbers claimed, log;
  for (std::size_t round = 0; round != 3; ++round) {
    claim(sequencer, 2, claimed);
    wait(sequencer, 2 * round + 1, 2 * round - 1, log);
    sequencer.publish(2 * round + 1);
    CHECK(log.size() == round);
    sequencer.publish(2 * round);
    CHECK(log.size() == round + 1);
    consumed.publish(2 * round + 1);
  }
  CHECK(log == numbers{1, 3, 5});
}

TEST_CASE_TEMPLATE("multi_producer_sequencer: starts at any number, and numbers wrap around", T, std::uint8_t,
                   std::int8_t) {
  const T start = static_cast<T>(120);
  sequence_barrier<T> consumed{start};
  multi_producer_sequencer<T> sequencer{consumed, 4, start};
  int claimed = 0, consumed_count = 0;
  const auto produce = [&]() -> detached {
    for (int i = 0; i != 300; ++i) {
      const T number = co_await sequencer.claim_one();
      ++claimed;
      sequencer.publish(number);
    }
  };
  const auto consume = [&]() -> detached {
    T last = start;
    while (consumed_count != 600) {
      const T available = co_await sequencer.wait_until_published(static_cast<T>(last + 1), last);
      consumed_count += coracle::sequence_traits<T>::difference(available, last);
      last = available;
      consumed.publish(last);
    }
  };
  produce();
  consume();
  produce();
  CHECK(claimed == 600);
  CHECK(consumed_count == 600);
}

TEST_CASE("multi_producer_sequencer: resumes where it suspended, or on the scheduler if it had to wait") {
  run_loop home, abroad;
  coracle::inline_scheduler here;
  sequence_barrier<> consumed;
  multi_producer_sequencer sequencer{consumed, 1};
  std::vector<const coracle::executor*> ran_on;
  const auto note = [&] { ran_on.push_back(coracle::current_executor()); };
  const auto produce = [&]() -> detached {
    co_await home.schedule();
    co_await sequencer.claim_one(abroad);
    note();
    co_await sequencer.claim_one();
    note();
    const auto range = co_await sequencer.claim_up_to(5, here);
    CHECK(range.size() == 1);
    note();
    co_await sequencer.wait_until_published(0, none, abroad);
    note();
  };
  produce();
  CHECK(home.run_one());
  CHECK(ran_on == std::vector<const coracle::executor*>{&home});
  consumed.publish(0);
  CHECK(home.run_one());
  consumed.publish(1);
  CHECK(home.run_one());
  sequencer.publish(0);
  CHECK_FALSE(home.run_one());
  CHECK(abroad.run_one());
  CHECK(ran_on == std::vector<const coracle::executor*>{&home, &home, &home, &abroad});
}

TEST_CASE(
    "multi_producer_sequencer: with another scheduler it goes there from where it suspended, if it had to") {
  run_loop home, abroad;
  const indirect_scheduler place{abroad};
  sequence_barrier<> consumed;
  multi_producer_sequencer sequencer{consumed, 1};
  numbers claimed;
  const coracle::executor* ran_on = nullptr;
  const auto produce = [&]() -> detached {
    co_await home.schedule();
    claimed.push_back(co_await sequencer.claim_one(place));
    ran_on = coracle::current_executor();
    claimed.push_back(co_await sequencer.claim_one(place));
    ran_on = coracle::current_executor();
  };
  produce();
  CHECK(home.run_one());
  CHECK(ran_on == &home);
  consumed.publish(0);
  CHECK(home.run_one());
  CHECK(claimed == numbers{0});
  CHECK(abroad.run_one());
  CHECK(ran_on == &abroad);
  CHECK(claimed == numbers{0, 1});
}

TEST_CASE(
    "multi_producer_sequencer: publish() touches nothing once it has woken the last waiter, who may end it") {
  sequence_barrier<> consumed;
  auto sequencer = std::make_unique<multi_producer_sequencer<>>(consumed, 4u);
  bool destroyed = false;
  const auto consume = [&]() -> detached {
    co_await sequencer->wait_until_published(0, none);
    sequencer.reset();
    destroyed = true;
  };
  consume();
  sequencer->publish(0);
  CHECK(destroyed);
}

TEST_CASE("multi_producer_sequencer: two producers, one in batches, and a consumer on three threads") {
  constexpr std::size_t size = 64, count = 20'000;
  coracle::static_thread_pool pool{3};
  sequence_barrier<> consumed;
  multi_producer_sequencer sequencer{consumed, size};
  numbers ring(size);
  const auto produce = [&](std::size_t batch) -> task<> {
    co_await pool.schedule();
    for (std::size_t i = 0; i != count;) {
      const auto range = co_await sequencer.claim_up_to(count - i < batch ? count - i : batch);
      for (const std::size_t number : range) ring[number % size] = ++i;
      sequencer.publish(range);
    }
  };
  const auto consume = [&]() -> task<std::size_t> {
    co_await pool.schedule();
    std::size_t sum = 0;
    for (std::size_t next = 0; next != 2 * count;) {
      const std::size_t last = co_await sequencer.wait_until_published(next, next - 1);
      do sum += ring[next % size];
      while (next++ != last);
      consumed.publish(last);
    }
    co_return sum;
  };
  const auto results = coracle::sync_wait(coracle::when_all(consume(), produce(1), produce(10)));
  CHECK(std::get<0>(results) == count * (count + 1));
}

using sequencer_type = multi_producer_sequencer<>;
static_assert(!std::is_copy_constructible_v<sequencer_type> && !std::is_move_constructible_v<sequencer_type>);
static_assert(alignof(sequencer_type) == alignof(void*));
static_assert(std::is_same_v<coracle::await_result_t<sequencer_type::claim_one_operation>, std::size_t> &&
              std::is_same_v<coracle::await_result_t<sequencer_type::claim_operation>,
                             coracle::sequence_range<std::size_t>> &&
              std::is_same_v<coracle::await_result_t<sequencer_type::wait_operation>, std::size_t>);

TEST_CASE("multi_producer_sequencer: to claim no number at all ends the program and says so") {
  CHECK(coracle_test::abort_message([] {
          sequence_barrier<> consumed;
          multi_producer_sequencer sequencer{consumed, 4};
          static_cast<void>(sequencer.claim_up_to(0));
        }).find("coracle: claim_up_to(0): claim at least one num") == 0);
}
}  // namespace
