// tests/unit/round_robin_scheduler_test.cpp -- coroutines that take turns on one thread.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <coracle/compose/via.hpp>
#include <coracle/compose/when_all.hpp>
#include <coracle/core/sync_wait.hpp>
#include <coracle/core/task.hpp>
#include <coracle/exec/round_robin_scheduler.hpp>
#include <coracle/testing/allocations.hpp>
#include <stdexcept>
#include <string>
#include <type_traits>

#include "../support/abort_message.hpp"
#include "../support/detached.hpp"
#include "../support/run_on_stack.hpp"

namespace {
using coracle::round_robin_scheduler;
using coracle::sync_wait;
using coracle::task;
using coracle::when_all;
using coracle_test::detached;

template <std::size_t N>
detached take_turns(round_robin_scheduler<N>& ring, char name, int turns, std::string& log) {
  for (int i = 0; i != turns; ++i) {
    log += name;
    co_await ring.schedule();
  }
  log += '.';
}

TEST_CASE("round_robin_scheduler: the N-th coroutine continues the first, and so on round the ring") {
  round_robin_scheduler<3> ring;
  std::string log;
  take_turns(ring, 'a', 3, log);
  take_turns(ring, 'b', 3, log);
  CHECK(log == "ab");
  take_turns(ring, 'c', 3, log);
  CHECK(log == "abcabcabc.");
  ring.drain();
  CHECK(log == "abcabcabc...");
}

TEST_CASE("round_robin_scheduler: fewer than N wait until drain(), which goes on until none is left") {
  round_robin_scheduler<8> ring;
  std::string log;
  take_turns(ring, 'a', 3, log);
  take_turns(ring, 'b', 1, log);
  CHECK(log == "ab");
  ring.drain();
  CHECK(log == "aba.a.");
  ring.drain();
}

TEST_CASE("round_robin_scheduler: drain() runs those, too, that come while it runs") {
  round_robin_scheduler<4> ring;
  std::string log;
  const auto begin = [&]() -> detached {
    co_await ring.schedule();
    take_turns(ring, 'x', 5, log);
  };
  begin();
  ring.drain();
  CHECK(log == "xxxxx.");
}

TEST_CASE("round_robin_scheduler: two in a ring for two alternate, as when_all starts them") {
  round_robin_scheduler<2> ring;
  std::string log;
  const auto work = [&](char name) -> task<> {
    co_await ring.schedule();
    for (int i = 0; i != 3; ++i) {
      log += name;
      co_await ring.schedule();
    }
  };
  const auto drain = [&]() -> task<> {
    ring.drain();
    co_return;
  };
  sync_wait(when_all(work('a'), work('b'), drain()));
  CHECK(log == "ababab");
}

TEST_CASE("round_robin_scheduler: serves where a scheduler is asked for") {
  round_robin_scheduler<2> ring;
  static_assert(coracle::scheduler<round_robin_scheduler<2>>);
  int result = 0;
  const auto give = []() -> task<int> { co_return 4; };
  const auto work = [&]() -> detached { result = co_await coracle::schedule_on(give(), ring); };
  work();
  CHECK(result == 0);
  ring.drain();
  CHECK(result == 4);
}

TEST_CASE("round_robin_scheduler: an exception stays in the coroutine that threw it") {
  round_robin_scheduler<2> ring;
  int caught = 0;
  const auto fail = [&]() -> task<> {
    co_await ring.schedule();
    throw std::runtime_error("my turn");
  };
  const auto work = [&]() -> detached {
    try {
      co_await fail();
    } catch (const std::runtime_error&) {
      ++caught;
    }
  };
  work();
  work();
  CHECK(caught == 1);
  ring.drain();
  CHECK(caught == 2);
}

TEST_CASE("round_robin_scheduler: a million turns on a small stack") {
  int turns = 0;
  const bool ran = coracle_test::run_on_stack(256 * 1024, [&] {
    round_robin_scheduler<4> ring;
    const auto work = [&]() -> detached {
      for (int i = 0; i != 250'000; ++i) {
        co_await ring.schedule();
        ++turns;
      }
    };
    for (int i = 0; i != 4; ++i) work();
    ring.drain();
  });
  CHECK(ran);
  CHECK(turns == 1'000'000);
}

TEST_CASE("round_robin_scheduler: taking turns allocates nothing" *
          doctest::skip(!coracle::testing::allocations_are_counted)) {
  round_robin_scheduler<2> ring;
  int turns = 0;
  const auto work = [&]() -> detached {
    for (int i = 0; i != 3; ++i) {
      co_await ring.schedule();
      ++turns;
    }
  };
  work();
  const auto before = coracle::testing::allocations();
  ring.drain();
  const auto after = coracle::testing::allocations();
  CHECK(turns == 3);
  CHECK(after == before);
}

TEST_CASE("round_robin_scheduler: destroyed while somebody waits ends the program and says so") {
  CHECK(coracle_test::abort_message([] {
          round_robin_scheduler<3> ring;
          std::string log;
          take_turns(ring, 'a', 2, log);
        }) ==
        "coracle: a round_robin_scheduler was destroyed while coroutines wait for their turn: drain() it\n");
}

static_assert(!std::is_copy_constructible_v<round_robin_scheduler<2>>);
static_assert(sizeof(round_robin_scheduler<4>) == 5 * sizeof(void*));
static_assert(noexcept(std::declval<round_robin_scheduler<2>&>().schedule()));
}  // namespace
