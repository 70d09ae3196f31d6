// tests/unit/sequence_barrier_test.cpp -- a sequence number that one side advances and others wait for.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <coracle/compose/when_all.hpp>
#include <coracle/core/sync_wait.hpp>
#include <coracle/core/task.hpp>
#include <coracle/exec/inline_scheduler.hpp>
#include <coracle/exec/run_loop.hpp>
#include <coracle/exec/static_thread_pool.hpp>
#include <coracle/sync/sequence_barrier.hpp>
#include <coracle/testing/allocations.hpp>
#include <cstdint>
#include <memory>
#include <thread>
#include <type_traits>
#include <vector>

#include "../support/abort_message.hpp"
#include "../support/detached.hpp"
#include "../support/indirect_scheduler.hpp"
#include "../support/many.hpp"
#include "../support/run_on_stack.hpp"

namespace {
using coracle::current_executor;
using coracle::run_loop;
using coracle::sequence_barrier;
using coracle::task;
using coracle_test::detached;
using coracle_test::indirect_scheduler;

template <class Sequence>
detached wait_and_log(const sequence_barrier<Sequence>& barrier, Sequence target, std::vector<int>& log) {
  log.push_back(static_cast<int>(co_await barrier.wait_until_published(target)));
}

TEST_CASE("sequence_barrier: a new one has published the initial sequence") {
  sequence_barrier<std::uint32_t> barrier;
  CHECK(barrier.last_published() == coracle::sequence_traits<std::uint32_t>::initial_sequence);
  barrier.publish(3);
  CHECK(barrier.last_published() == 3);
  const sequence_barrier<std::uint64_t> other{100};
  CHECK(other.last_published() == 100);
}

TEST_CASE("sequence_barrier: a wait for what is published does not suspend, and gives the last number") {
  sequence_barrier<> barrier;
  std::vector<int> log;
  barrier.publish(7);
  wait_and_log<std::size_t>(barrier, 7, log);
  wait_and_log<std::size_t>(barrier, 3, log);
  CHECK(log == std::vector{7, 7});
}

TEST_CASE("sequence_barrier: a waiter goes on when its number or a later one is published, not before") {
  sequence_barrier<> barrier;
  std::vector<int> log;
  wait_and_log<std::size_t>(barrier, 0, log);
  wait_and_log<std::size_t>(barrier, 3, log);
  CHECK(log.empty());
  barrier.publish(0);
  CHECK(log == std::vector{0});
  barrier.publish(2);
  CHECK(log == std::vector{0});
  barrier.publish(9);
  CHECK(log == std::vector{0, 9});
}

TEST_CASE("sequence_barrier: the same number may be published again") {
  sequence_barrier<> barrier;
  std::vector<int> log;
  barrier.publish(1);
  wait_and_log<std::size_t>(barrier, 2, log);
  barrier.publish(1);
  CHECK(log.empty());
  barrier.publish(2);
  CHECK(log == std::vector{2});
}

TEST_CASE("sequence_barrier: those whom one publish() wakes go first come, first served, also if put back") {
  sequence_barrier<> barrier;
  std::vector<int> log;
  const auto wait = [&](int name, std::size_t target) -> detached {
    co_await barrier.wait_until_published(target);
    log.push_back(name);
  };
  wait(1, 5);
  wait(2, 0);
  wait(3, 5);
  wait(4, 7);
  wait(5, 3);
  barrier.publish(0);
  CHECK(log == std::vector{2});
  wait(6, 4);
  barrier.publish(5);
  CHECK(log == std::vector{2, 1, 3, 5, 6});
  barrier.publish(7);
  CHECK(log.back() == 4);
}

TEST_CASE("sequence_barrier: numbers wrap around") {
  sequence_barrier<std::uint8_t> barrier{250};
  std::vector<int> log;
  wait_and_log<std::uint8_t>(barrier, 1, log);
  wait_and_log<std::uint8_t>(barrier, 254, log);
  barrier.publish(253);
  CHECK(log.empty());
  barrier.publish(255);
  CHECK(log == std::vector{255});
  barrier.publish(2);
  CHECK(log == std::vector{255, 2});
}

TEST_CASE("sequence_barrier: a woken waiter that waits again inside publish() waits for the next number") {
  sequence_barrier<> barrier;
  std::vector<std::size_t> log;
  const auto follow = [&]() -> detached {
    for (std::size_t next = 0; next != 5; ++next) log.push_back(co_await barrier.wait_until_published(next));
  };
  follow();
  barrier.publish(0);
  CHECK(log == std::vector<std::size_t>{0});
  barrier.publish(1);
  CHECK(log == std::vector<std::size_t>{0, 1});
  barrier.publish(4);
  CHECK(log == std::vector<std::size_t>{0, 1, 4, 4, 4});
}

TEST_CASE("sequence_barrier: each waiter resumes on its own executor, publish() does not run it") {
  run_loop first, second;
  sequence_barrier<> barrier;
  std::vector<int> log;
  const auto wait_on = [&](run_loop& loop, int name) -> detached {
    co_await loop.schedule();
    co_await barrier.wait_until_published(0);
    log.push_back(current_executor() == &loop ? name : -name);
  };
  wait_on(first, 1);
  wait_on(second, 2);
  CHECK(first.run_one());
  CHECK(second.run_one());
  barrier.publish(0);
  CHECK(log.empty());
  CHECK(second.run_one());
  CHECK(first.run_one());
  CHECK(log == std::vector{2, 1});
}

TEST_CASE("sequence_barrier: a waiter that resumes late gets the last number published by then") {
  run_loop loop;
  sequence_barrier<> barrier;
  std::size_t last = 0;
  const auto wait = [&]() -> detached {
    co_await loop.schedule();
    last = co_await barrier.wait_until_published(0);
  };
  wait();
  CHECK(loop.run_one());
  barrier.publish(0);
  barrier.publish(6);
  CHECK(loop.run_one());
  CHECK(last == 6);
}

TEST_CASE("sequence_barrier: a waiter outside any executor runs inside publish(), on its thread") {
  sequence_barrier<> barrier;
  std::thread::id ran_on;
  const auto wait = [&]() -> detached {
    co_await barrier.wait_until_published(0);
    ran_on = std::this_thread::get_id();
  };
  wait();
  std::thread::id publisher;
  std::thread([&] {
    publisher = std::this_thread::get_id();
    barrier.publish(0);
  }).join();
  CHECK(ran_on == publisher);
}

TEST_CASE("sequence_barrier: with an executor as scheduler a waiter goes on there after one post") {
  run_loop home, abroad;
  sequence_barrier<> barrier;
  const coracle::executor* ran_on = nullptr;
  const auto wait = [&]() -> detached {
    co_await home.schedule();
    co_await barrier.wait_until_published(0, abroad);
    ran_on = current_executor();
  };
  wait();
  CHECK(home.run_one());
  barrier.publish(0);
  CHECK_FALSE(home.run_one());
  CHECK(ran_on == nullptr);
  CHECK(abroad.run_one());
  CHECK(ran_on == &abroad);
}

TEST_CASE("sequence_barrier: with another scheduler a waiter goes there from where it suspended") {
  run_loop home, abroad;
  const indirect_scheduler place{abroad};
  sequence_barrier<> barrier;
  const coracle::executor* ran_on = nullptr;
  std::size_t last = 0;
  const auto wait = [&]() -> detached {
    co_await home.schedule();
    last = co_await barrier.wait_until_published(0, place);
    ran_on = current_executor();
  };
  wait();
  CHECK(home.run_one());
  barrier.publish(2);
  CHECK(home.run_one());
  CHECK(ran_on == nullptr);
  CHECK(abroad.run_one());
  CHECK(ran_on == &abroad);
  CHECK(last == 2);
}

TEST_CASE("sequence_barrier: with a scheduler, a wait for what is published stays where it is") {
  run_loop abroad;
  const indirect_scheduler place{abroad};
  coracle::inline_scheduler here;
  sequence_barrier<> barrier;
  barrier.publish(4);
  const auto wait = [&]() -> task<std::size_t> {
    std::size_t sum = co_await barrier.wait_until_published(1, abroad);
    sum += co_await barrier.wait_until_published(2, place);
    sum += co_await barrier.wait_until_published(3, here);
    co_return sum;
  };
  CHECK(coracle::sync_wait(wait()) == 12);
  CHECK_FALSE(abroad.run_one());
}

TEST_CASE("sequence_barrier: publish() touches nothing once it has woken the last waiter, who may end it") {
  auto barrier = std::make_unique<sequence_barrier<>>();
  bool destroyed = false;
  const auto first = [&]() -> detached { co_await barrier->wait_until_published(0); };
  const auto last = [&]() -> detached {
    co_await barrier->wait_until_published(0);
    barrier.reset();
    destroyed = true;
  };
  first();
  last();
  barrier->publish(0);
  CHECK(destroyed);
}

TEST_CASE("sequence_barrier: waits can be moved before they are awaited, as when_all does") {
  sequence_barrier<> barrier;
  run_loop loop;
  std::size_t sum = 0;
  const auto wait = [&]() -> detached {
    auto [a, b, c] =
        co_await coracle::when_all(barrier.wait_until_published(1), barrier.wait_until_published(2),
                                   barrier.wait_until_published(3, loop));
    sum = a + b + c;
  };
  wait();
  for (const std::size_t each : {1u, 2u, 3u}) barrier.publish(each);
  CHECK(sum == 0);
  CHECK(loop.run_one());
  CHECK(sum == 1 + 2 + 3);
}

TEST_CASE(
    "sequence_barrier: 100,000 waits one after the other inside one another's publish() take no stack") {
  constexpr std::size_t turns = coracle_test::many(100'000);
  sequence_barrier<> ping, pong;
  std::size_t sum = 0;
  const auto answer = [&]() -> detached {
    for (std::size_t i = 0; i != turns; ++i) {
      sum += co_await ping.wait_until_published(i);
      pong.publish(i);
    }
  };
  const auto ask = [&]() -> detached {
    for (std::size_t i = 0; i != turns; ++i) {
      ping.publish(i);
      co_await pong.wait_until_published(i);
    }
  };
  CHECK(coracle_test::run_on_stack(256 * 1024, [&] {
    answer();
    ask();
  }));
  CHECK(sum == turns * (turns - 1) / 2);
}

TEST_CASE("sequence_barrier: two threads hand a ring buffer to and fro") {
  constexpr std::size_t size = 16, count = 20'000;
  sequence_barrier<> written, read;
  std::vector<std::size_t> ring(size);
  coracle::static_thread_pool pool{2};
  const auto write = [&]() -> task<> {
    co_await pool.schedule();
    for (std::size_t i = 0; i != count; ++i) {
      co_await read.wait_until_published(i - size);
      ring[i % size] = i;
      written.publish(i);
    }
  };
  const auto sum_up = [&]() -> task<std::size_t> {
    co_await pool.schedule();
    std::size_t sum = 0;
    for (std::size_t next = 0; next != count;) {
      const std::size_t last = co_await written.wait_until_published(next);
      do sum += ring[next % size];
      while (next++ != last);
      read.publish(last);
    }
    co_return sum;
  };
  const auto [sum, nothing] = coracle::sync_wait(coracle::when_all(sum_up(), write()));
  static_cast<void>(nothing);
  CHECK(sum == count * (count - 1) / 2);
}

TEST_CASE("sequence_barrier: waiting and publishing allocate nothing, also with an executor as scheduler" *
          doctest::skip(!coracle::testing::allocations_are_counted)) {
  sequence_barrier<> barrier;
  run_loop loop;
  std::size_t last = 0;
  const auto wait = [&]() -> detached {
    for (std::size_t i = 0; i != 3; ++i) last = co_await barrier.wait_until_published(i);
    last = co_await barrier.wait_until_published(3, loop);
  };
  wait();
  const auto before = coracle::testing::allocations();
  for (std::size_t i = 0; i != 4; ++i) barrier.publish(i);
  static_cast<void>(loop.run_one());
  const auto after = coracle::testing::allocations();
  CHECK(last == 3);
  CHECK(after == before);
}

TEST_CASE("sequence_barrier: without memory for the way to a scheduler the wait throws, and nothing leaks" *
          doctest::skip(!coracle::testing::allocations_are_counted)) {
  const int failed = coracle::testing::fail_each_allocation([] {
    run_loop loop;
    const indirect_scheduler place{loop};
    sequence_barrier<> barrier;
    barrier.publish(0);
    const auto wait = [&]() -> task<> { co_await barrier.wait_until_published(0, place); };
    try {
      coracle::sync_wait(wait());
    } catch (const std::bad_alloc&) {
    }
  });
  CHECK(failed >= 0);
}

TEST_CASE("sequence_barrier: destroyed while somebody waits ends the program and says so") {
  CHECK(coracle_test::abort_message([] {
          sequence_barrier<> barrier;
          [&]() -> detached { co_await barrier.wait_until_published(0); }();
        }) ==
        "coracle: a sequence_barrier was destroyed while coroutines wait for it: stop and join them first\n");
}

TEST_CASE("sequence_barrier: publishing backwards ends the program and says so" *
          doctest::skip(!CORACLE_CHECKS())) {
  CHECK(coracle_test::abort_message([] {
          sequence_barrier<> barrier;
          barrier.publish(3);
          barrier.publish(2);
        }) == "coracle: sequence_barrier::publish() of a number before the last one\n");
}

using waiting = sequence_barrier<>::wait_operation;
static_assert(!std::is_copy_constructible_v<sequence_barrier<>> &&
              !std::is_move_constructible_v<sequence_barrier<>>);
static_assert(sizeof(sequence_barrier<>) == 128 && alignof(sequence_barrier<>) == alignof(void*));
static_assert(alignof(waiting) <= 16 && !std::is_aggregate_v<waiting>);
static_assert(noexcept(std::declval<sequence_barrier<>&>().publish(0)) &&
              noexcept(std::declval<sequence_barrier<>&>().wait_until_published(0)));
static_assert(noexcept(std::declval<waiting&>().await_ready()) &&
              noexcept(std::declval<waiting&>().await_suspend(std::noop_coroutine())) &&
              !noexcept(std::declval<waiting&>().await_resume()));
static_assert(std::is_same_v<coracle::await_result_t<waiting>, std::size_t>);
}  // namespace
