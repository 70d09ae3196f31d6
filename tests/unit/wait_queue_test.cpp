// tests/unit/wait_queue_test.cpp -- waiters that a stop request removes from their queue, at every moment.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <coracle/core/detail/wait_queue.hpp>
#include <coracle/core/sync_wait.hpp>
#include <coracle/core/task.hpp>
#include <coracle/core/with_environment.hpp>
#include <coracle/exec/run_loop.hpp>
#include <coracle/testing/allocations.hpp>
#include <utility>
#include <vector>

#include "../support/detached.hpp"
#include "../support/gate.hpp"

namespace {
using coracle::stop_source;
using coracle::task;
using coracle::detail::queued_waiter;
using coracle_test::gate;
using coracle_test::pass_and_log;
using coracle_test::run_detached;
using coracle_test::start;

TEST_CASE("stoppable_wait: what can be carried out at once is, without a queue") {
  gate all{2};
  stop_source source;
  std::vector<int> log;
  start(all, log, 1);
  start(all, log, 2, source);
  CHECK(log == std::vector{1, 2});
  CHECK(all.permits == 0);
}

TEST_CASE("stoppable_wait: waiters are served first come, first served") {
  gate all;
  std::vector<int> log;
  for (int name = 1; name != 4; ++name) start(all, log, name);
  CHECK(log.empty());
  all.release();
  CHECK(log == std::vector{1});
  all.release_all();
  CHECK(log == std::vector{1, 2, 3});
  CHECK(all.queue.empty());
}

TEST_CASE("stop before the await: the operation is not even tried") {
  gate all{1};
  stop_source source;
  source.request_stop();
  std::vector<int> log;
  start(all, log, 1, source);
  CHECK(log == std::vector{-1});
  CHECK(all.tries == 0);
  CHECK(all.permits == 1);
}

TEST_CASE("stop during the wait: any place in the queue is given up, and the others keep theirs") {
  for (int stopped = 1; stopped != 4; ++stopped) {
    gate all;
    stop_source source, other;
    std::vector<int> log;
    for (int name = 1; name != 4; ++name) start(all, log, name, name == stopped ? source : other);
    source.request_stop();
    CHECK(log == std::vector{-stopped});
    all.release();
    all.release();
    all.release();
    std::vector<int> expected{-stopped};
    for (int name = 1; name != 4; ++name) {
      if (name != stopped) expected.push_back(name);
    }
    CHECK(log == expected);
    CHECK(all.permits == 1);
  }
}

TEST_CASE("stop during the wait: one request ends many waits, in the order of their arrival") {
  gate all;
  stop_source source;
  std::vector<int> log;
  for (int name = 1; name != 6; ++name) start(all, log, name, source);
  source.request_stop();
  CHECK(log == std::vector{-1, -2, -3, -4, -5});
  CHECK(all.queue.empty());
}

TEST_CASE("stop on the way to the queue: the waiter does not go into it") {
  gate all;
  stop_source source;
  std::vector<int> log;
  all.before_enqueue = [&] { source.request_stop(); };
  start(all, log, 1, source);
  CHECK(log == std::vector{-1});
  CHECK(all.queue.empty());
  all.release();
  CHECK(all.permits == 1);
}

TEST_CASE("stop on the way to the queue: nothing is taken, though there is something meanwhile") {
  gate all;
  stop_source source;
  std::vector<int> log;
  all.before_enqueue = [&] {
    source.request_stop();
    all.release();
  };
  start(all, log, 1, source);
  CHECK(log == std::vector{-1});
  CHECK(all.permits == 1);
}

TEST_CASE("stop after the operation was carried out on the way to the queue has no effect") {
  gate all;
  stop_source source;
  std::vector<int> log;
  all.before_enqueue = [&] { all.release(); };
  all.after_carried_out = [&] { source.request_stop(); };
  start(all, log, 1, source);
  CHECK(log == std::vector{1});
  CHECK(all.permits == 0);
}

TEST_CASE("stop after the waiter was served, before it runs, has no effect") {
  gate all;
  stop_source source;
  coracle::run_loop loop;
  std::vector<int> log;
  coracle_test::run_detached_on(loop, coracle::with_stop(pass_and_log(all, log, 1), source.get_token()));
  loop.run_pending();
  all.release();
  source.request_stop();
  CHECK(log.empty());
  loop.run_pending();
  CHECK(log == std::vector{1});
  CHECK(all.permits == 0);
}

TEST_CASE("stop by a waiter that is just being woken: those served with it are served") {
  gate all;
  stop_source source;
  std::vector<int> log;
  const auto stops_the_others = [&]() -> task<> {
    const int given = co_await all.pass();
    static_cast<void>(given);
    source.request_stop();
    log.push_back(1);
  };
  run_detached(stops_the_others());
  start(all, log, 2, source);
  start(all, log, 3, source);
  SUBCASE("all at once") {
    all.release_all();
    CHECK(log == std::vector{1, 2, 3});
  }
  SUBCASE("one by one") {
    all.release();
    CHECK(log == std::vector{-2, -3, 1});
  }
}

TEST_CASE("an operation may be moved about until it is awaited") {
  gate all{1};
  auto first = all.pass();
  auto second = std::move(first);
  CHECK(coracle::sync_wait(std::move(second)) == 42);
}

TEST_CASE("waiting, being served and being cancelled allocate nothing" *
          doctest::skip(!coracle::testing::allocations_are_counted)) {
  gate all;
  stop_source source;
  std::vector<int> log;
  log.reserve(4);
  start(all, log, 1, source);
  start(all, log, 2);
  const auto before = coracle::testing::allocations();
  source.request_stop();
  all.release();
  const auto after = coracle::testing::allocations();
  CHECK(after == before);
  CHECK(log == std::vector{-1, 2});
}

static_assert(sizeof(coracle::detail::wait_queue) == 2 * sizeof(void*));
static_assert(!std::is_move_constructible_v<coracle::detail::wait_queue>);
static_assert(alignof(queued_waiter) <= 16);
static_assert(sizeof(queued_waiter) == 8 * sizeof(void*));  // in the frame of each coroutine that waits
}  // namespace
