// tests/unit/hedge_test.cpp -- a second attempt that runs concurrently with the first.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <coracle/compose/as_outcome.hpp>
#include <coracle/compose/when_all.hpp>
#include <coracle/core/with_environment.hpp>
#include <coracle/testing/allocations.hpp>
#include <coracle/testing/virtual_time_loop.hpp>
#include <coracle/time/hedge.hpp>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "../support/abort_message.hpp"

namespace {
using namespace std::chrono_literals;
using coracle::hedge;
using coracle::task;
using coracle::testing::virtual_time_loop;

/// Servers that answer with their number after the given milliseconds; with a negative delay, they fail then.
struct servers {
  virtual_time_loop& loop;
  std::vector<int> times;
  std::vector<std::string> log{};

  long long now() const { return (loop.now() - virtual_time_loop::start) / 1ms; }
  auto ask() {
    return [this](unsigned n) -> task<unsigned> {
      log.push_back(std::to_string(n) + "@" + std::to_string(now()));
      const int time = times[n];
      try {
        co_await coracle::throwing(coracle::sleep_for(std::chrono::milliseconds(time < 0 ? -time : time)));
      } catch (const coracle::operation_cancelled& e) {
        if (e.reason() == coracle::stop_reason::lost_race) log.push_back(std::to_string(n) + " lost");
        throw;
      }
      if (time < 0) throw std::runtime_error("server " + std::to_string(n));
      co_return n;
    };
  }
};
using lines = std::vector<std::string>;

TEST_CASE("hedge: a quick answer needs no second attempt") {
  virtual_time_loop loop;
  servers all{loop, {5, 5}};
  CHECK(loop.run(hedge(10ms, all.ask())) == 0);
  CHECK(all.log == lines{"0@0"});
  CHECK(all.now() == 5);
}

TEST_CASE(
    "hedge: a late one has a second attempt start, the first success wins, the other is stopped and joined") {
  virtual_time_loop loop;
  servers all{loop, {100, 5}};
  CHECK(loop.run(hedge(10ms, all.ask())) == 1);
  CHECK(all.log == lines{"0@0", "1@10", "0 lost"});
  CHECK(all.now() == 15);
}

TEST_CASE("hedge: the first may still win") {
  virtual_time_loop loop;
  servers all{loop, {12, 50}};
  CHECK(loop.run(hedge(10ms, all.ask())) == 0);
  CHECK(all.log == lines{"0@0", "1@10", "1 lost"});
}

TEST_CASE("hedge: up to so many attempts, each after the delay") {
  virtual_time_loop loop;
  servers all{loop, {100, 100, 100, 1}};
  CHECK(loop.run(hedge(10ms, all.ask(), 3)) == 0);
  CHECK(all.log == lines{"0@0", "1@10", "2@20", "1 lost", "2 lost"});
}

TEST_CASE("hedge: an attempt that fails has the next start at once, and the delay counts from there") {
  virtual_time_loop loop;
  servers all{loop, {-4, 100, 3}};
  CHECK(loop.run(hedge(10ms, all.ask(), 3)) == 2);
  CHECK(all.log == lines{"0@0", "1@4", "2@14", "1 lost"});
  CHECK(all.now() == 17);
}

TEST_CASE("hedge: where all fail the errors come as a group, in the order of the attempts") {
  virtual_time_loop loop;
  servers all{loop, {-30, -1}};
  CHECK_THROWS_WITH_AS(loop.run(hedge(10ms, all.ask())), "2 errors: server 0; server 1",
                       coracle::error_group);
  servers one{loop, {-1}};
  CHECK_THROWS_WITH_AS(loop.run(hedge(10ms, one.ask(), 1)), "server 0", std::runtime_error);
}

TEST_CASE("hedge: where all fail before the delay is over, nobody waits for that") {
  virtual_time_loop loop;
  servers all{loop, {-3, -4}};
  CHECK_THROWS_WITH_AS(loop.run(hedge(1h, all.ask())), "2 errors: server 0; server 1", coracle::error_group);
  CHECK(all.now() == 7);
}

TEST_CASE("hedge: an attempt that fails stops none of those that still run, also where no more will start") {
  virtual_time_loop loop;
  servers all{loop, {16, -2, -2}};
  CHECK(loop.run(hedge(10ms, all.ask(), 3)) == 0);
  CHECK(all.log == lines{"0@0", "1@10", "2@12"});
  CHECK(all.now() == 16);
}

TEST_CASE("hedge: of two that succeed at the same time, the first wins") {
  virtual_time_loop loop;
  servers all{loop, {20, 10}};
  CHECK(loop.run(hedge(10ms, all.ask())) == 0);
  CHECK(all.log == lines{"0@0", "1@10"});
}

TEST_CASE("hedge: the errors of those that do not win are dropped") {
  virtual_time_loop loop;
  servers all{loop, {-1, 5}};
  CHECK(loop.run(hedge(10ms, all.ask())) == 1);
}

TEST_CASE("hedge: a function without a parameter, and one that throws itself") {
  virtual_time_loop loop;
  int calls = 0;
  const auto plain = [&]() -> task<int> {
    if (++calls == 1) throw std::runtime_error("first");
    co_return 7;
  };
  CHECK(loop.run(hedge(10ms, plain)) == 7);
  const auto refuse = [&](unsigned) -> task<int> { throw std::runtime_error("refused"); };
  CHECK_THROWS_AS(loop.run(hedge(10ms, refuse, 2)), coracle::error_group);
}

TEST_CASE("hedge: without a delay all attempts start together") {
  virtual_time_loop loop;
  servers all{loop, {20, 10, 30}};
  CHECK(loop.run(hedge(0ms, all.ask(), 3)) == 1);
  CHECK(all.log == lines{"0@0", "1@0", "2@0", "0 lost", "2 lost"});
}

TEST_CASE("hedge: without a delay an attempt that ends at once is the only one") {
  virtual_time_loop loop;
  int calls = 0;
  const auto count = [&]() -> task<int> { co_return ++calls; };
  CHECK(loop.run(hedge(0ms, count, 3)) == 1);
  CHECK(calls == 1);
}

TEST_CASE("hedge: void and move-only results") {
  virtual_time_loop loop;
  int calls = 0;
  const auto nothing = [&]() -> task<> {
    ++calls;
    co_return;
  };
  loop.run(hedge(1ms, nothing));
  CHECK(calls == 1);
  const auto owned = []() -> task<std::unique_ptr<int>> { co_return std::make_unique<int>(5); };
  CHECK(*loop.run(hedge(1ms, owned)) == 5);
}

TEST_CASE("hedge: stop requested before: nothing is started; during: the attempts are stopped and joined") {
  virtual_time_loop loop;
  coracle::stop_source source;
  servers all{loop, {1000, 1000}};
  SUBCASE("before") {
    source.request_stop();
    CHECK_THROWS_AS(loop.run(coracle::with_stop(hedge(10ms, all.ask()), source.get_token())),
                    coracle::operation_cancelled);
    CHECK(all.log.empty());
  }
  SUBCASE("during") {
    const auto ask = [&](unsigned n) -> task<unsigned> {
      if (n == 1) {
        co_await coracle::sleep_for(5ms);
        source.request_stop(coracle::stop_reason::shutting_down);
      }
      co_return co_await all.ask()(n);
    };
    CHECK_THROWS_WITH_AS(loop.run(coracle::with_stop(hedge(10ms, ask), source.get_token())),
                         "operation cancelled: shutting down", coracle::operation_cancelled);
    CHECK(all.now() == 15);
  }
  SUBCASE("during, and an attempt fails for that") {
    const auto fail = [&]() -> task<> {
      try {
        co_await coracle::throwing(coracle::sleep_for(1h));
      } catch (const coracle::operation_cancelled&) {
      }
      throw std::runtime_error("stopped");
    };
    const auto ask = [&]() -> task<> {
      CHECK_THROWS_WITH_AS(co_await coracle::with_stop(hedge(10ms, fail), source.get_token()),
                           "operation cancelled: shutting down", coracle::operation_cancelled);
    };
    const auto stop = [&]() -> task<> {
      co_await coracle::sleep_for(5ms);
      source.request_stop(coracle::stop_reason::shutting_down);
    };
    loop.run(coracle::when_all(ask(), stop()));
    CHECK(all.now() == 5);
  }
}

TEST_CASE("hedge: where an allocation fails nothing is left behind" *
          doctest::skip(!coracle::testing::allocations_are_counted)) {
  int failed = 0;
  const int failures = coracle::testing::fail_each_allocation([&] {
    virtual_time_loop loop;
    const auto sleepy = [&](unsigned n) -> task<unsigned> {
      co_await coracle::sleep_for(n == 0 ? 20ms : 1ms);
      co_return n;
    };
    try {
      loop.run(hedge(10ms, sleepy, 2));
    } catch (const std::bad_alloc&) {
      ++failed;
    }
  });
  CHECK(failures >= 4);
  CHECK(failed <= failures);
}

TEST_CASE("hedge: no attempts end the program and say so") {
  CHECK(coracle_test::abort_message([] {
          virtual_time_loop loop;
          const auto nothing = []() -> task<> { co_return; };
          loop.run(hedge(1ms, nothing, 0));
        }) == "coracle: hedge() with 0 attempts: allow at least one\n");
}
}  // namespace
