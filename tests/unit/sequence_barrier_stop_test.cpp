// tests/unit/sequence_barrier_stop_test.cpp -- waits that are stopped, or lose a race.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <coracle/compose/when_any.hpp>
#include <coracle/exec/run_loop.hpp>
#include <coracle/sync/sequence_barrier.hpp>
#include <vector>

#include "../support/detached.hpp"
#include "../support/indirect_scheduler.hpp"
#include "../support/stoppable.hpp"

namespace {
using coracle::run_loop;
using coracle::sequence_barrier;
using coracle_test::detached;
using coracle_test::indirect_scheduler;
using coracle_test::run_stoppable;
using coracle_test::run_stoppable_on;

TEST_CASE("sequence_barrier: stop requested before the await: it is cancelled, published or not") {
  sequence_barrier<> barrier;
  coracle::stop_source stop;
  std::vector<int> log;
  barrier.publish(3);
  stop.request_stop();
  run_stoppable(stop.get_token(), barrier.wait_until_published(3), log, 1);
  run_stoppable(stop.get_token(), barrier.wait_until_published(4), log, 2);
  CHECK(log == std::vector{-1, -2});
}

TEST_CASE("sequence_barrier: a stop request ends the wait, the others keep their order") {
  sequence_barrier<> barrier;
  coracle::stop_source stops[4];
  std::vector<int> log;
  const std::size_t targets[] = {2, 1, 1, 2};
  for (int i = 0; i != 4; ++i) {
    run_stoppable(stops[i].get_token(), barrier.wait_until_published(targets[i]), log, i + 1);
  }
  stops[1].request_stop();
  CHECK(log == std::vector{-2});
  barrier.publish(1);
  CHECK(log == std::vector{-2, 3});
  barrier.publish(2);
  CHECK(log == std::vector{-2, 3, 1, 4});
}

TEST_CASE("sequence_barrier: a stop request after the number was published has no effect") {
  run_loop loop;
  sequence_barrier<> barrier;
  coracle::stop_source stop;
  std::vector<int> log;
  run_stoppable_on(stop.get_token(), loop, barrier.wait_until_published(0), log, 1);
  CHECK(loop.run_one());
  barrier.publish(0);
  stop.request_stop();
  CHECK(loop.run_one());
  CHECK(log == std::vector{1});
}

TEST_CASE("sequence_barrier: a cancelled wait goes on where it suspended, with a scheduler too") {
  run_loop home, abroad;
  const indirect_scheduler place{abroad};
  sequence_barrier<> barrier;
  coracle::stop_source stop;
  std::vector<int> log;
  run_stoppable_on(stop.get_token(), home, barrier.wait_until_published(0), log, 1);
  run_stoppable_on(stop.get_token(), home, barrier.wait_until_published(0, abroad), log, 2);
  run_stoppable_on(stop.get_token(), home, barrier.wait_until_published(0, place), log, 3);
  CHECK(home.run_pending() == 3);
  stop.request_stop();
  CHECK(log.empty());
  CHECK(home.run_pending() == 3);
  CHECK(log == std::vector{-1, -2, -3});
  CHECK_FALSE(abroad.run_one());
}

TEST_CASE("sequence_barrier: 50'000 waiters are cancelled in any order, each in a moment") {
  sequence_barrier<> barrier;
  CHECK(coracle_test::cancels_many(50'000, false, [&] { return barrier.wait_until_published(0); }));
  CHECK(coracle_test::cancels_many(50'000, true, [&] { return barrier.wait_until_published(0); }));
}

TEST_CASE("sequence_barrier: when_any() takes the number that is published first") {
  sequence_barrier<> first, second;
  std::size_t winner = 9;
  const auto work = [&]() -> detached {
    winner =
        (co_await coracle::when_any(first.wait_until_published(0), second.wait_until_published(0))).index();
  };
  work();
  second.publish(0);
  CHECK(winner == 1);
  work();
  CHECK(winner == 1);
  first.publish(0);
  work();
  CHECK(winner == 0);
}
}  // namespace
