// tests/unit/wait_queue_fairness_test.cpp -- a coroutine that never has to wait lets others run now and then.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <coracle/core/task.hpp>
#include <coracle/core/with_environment.hpp>
#include <coracle/exec/run_loop.hpp>
#include <vector>

#include "../support/detached.hpp"
#include "../support/gate.hpp"

namespace {
using coracle::stop_source;
using coracle::task;
using coracle_test::gate;
using coracle_test::start;

TEST_CASE("fairness: of 128 awaits in a row that need not wait one goes behind what else is queued") {
  coracle::run_loop loop;
  gate all{1'000'000};
  int passes = 0;
  const auto pass = [&]() -> task<> {
    for (; passes != 1000; ++passes) {
      const int given = co_await all.pass();
      CHECK(given == 42);
    }
  };
  coracle_test::run_detached_on(loop, pass());
  std::vector<int> seen;
  for (int turns = 0; passes != 1000; ++turns) {
    REQUIRE(turns < 100);
    REQUIRE(loop.run_one());
    seen.push_back(passes);
  }
  REQUIRE(seen.size() == 8);
  for (std::size_t i = 1; i + 1 < seen.size(); ++i) CHECK(seen[i] - seen[i - 1] == 128);
  CHECK_FALSE(loop.run_one());
}

TEST_CASE("fairness: who gives way has taken nothing yet, and a stop request meanwhile ends its operation") {
  coracle::run_loop loop;
  gate all{200};
  stop_source source;
  int passes = 0;
  bool cancelled = false;
  const auto pass = [&]() -> task<> {
    try {
      for (; passes != 200; ++passes) {
        const int given = co_await all.pass();
        static_cast<void>(given);
      }
    } catch (const coracle::operation_cancelled&) {
      cancelled = true;
    }
  };
  coracle_test::run_detached_on(loop, coracle::with_stop(pass(), source.get_token()));
  REQUIRE(loop.run_one());
  CHECK(passes < 129);
  CHECK(all.permits == 200 - passes);
  source.request_stop();
  const int before = passes;
  CHECK(loop.run_one());
  CHECK(cancelled);
  CHECK(passes == before);
  CHECK(all.permits == 200 - passes);
}

TEST_CASE("fairness: who gives way and then finds nothing waits, and is served in its turn") {
  coracle::run_loop loop;
  gate all{500};
  int passes = 0;
  const auto pass = [&]() -> task<> {
    for (; passes != 500; ++passes) {
      const int given = co_await all.pass();
      static_cast<void>(given);
    }
  };
  coracle_test::run_detached_on(loop, pass());
  REQUIRE(loop.run_one());
  const int before = passes;
  REQUIRE(before < 129);
  all.permits = 0;
  CHECK(loop.run_one());
  CHECK(passes == before);
  CHECK_FALSE(loop.run_one());
  all.release();
  all.permits = 500;
  while (loop.run_one()) {
  }
  CHECK(passes == 500);
}

TEST_CASE("fairness: outside any executor nobody gives way") {
  gate all{1000};
  std::vector<int> log;
  for (int name = 1; name != 500; ++name) {
    start(all, log, name);
    REQUIRE(static_cast<int>(log.size()) == name);
  }
}
}  // namespace
