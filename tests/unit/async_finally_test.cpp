// tests/unit/async_finally_test.cpp -- asynchronous clean-up, however the work ends.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <coracle/compose/when_all.hpp>
#include <coracle/core/with_environment.hpp>
#include <coracle/sync/async_manual_reset_event.hpp>
#include <coracle/testing/allocations.hpp>
#include <coracle/testing/virtual_time_loop.hpp>
#include <coracle/time/async_finally.hpp>
#include <coracle/time/sleep.hpp>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace {
using namespace std::chrono_literals;
using coracle::async_finally;
using coracle::sleep_for;
using coracle::task;
using coracle::testing::virtual_time_loop;

struct work {
  std::vector<std::string> log{};

  task<int> succeed() {
    co_await sleep_for(10ms);
    log.push_back("worked");
    co_return 42;
  }
  task<int> fail() {
    co_await sleep_for(10ms);
    throw std::runtime_error("the work failed");
  }
  auto clean(std::chrono::milliseconds time = 5ms) {
    return [this, time]() -> task<> {
      log.push_back("cleans");
      co_await sleep_for(time);
      log.push_back("cleaned");
    };
  }
  auto fail_to_clean() {
    return [this]() -> task<> {
      co_await sleep_for(5ms);
      log.push_back("dirty");
      throw std::runtime_error("the clean-up failed");
    };
  }
};
using lines = std::vector<std::string>;

TEST_CASE("async_finally: the clean-up runs after a success, and the value goes on") {
  virtual_time_loop loop;
  work mine;
  CHECK(loop.run(async_finally(mine.succeed(), mine.clean(), 1s)) == 42);
  CHECK(mine.log == lines{"worked", "cleans", "cleaned"});
}

TEST_CASE("async_finally: after an error, which goes on") {
  virtual_time_loop loop;
  work mine;
  CHECK_THROWS_WITH_AS(loop.run(async_finally(mine.fail(), mine.clean(), 1s)), "the work failed",
                       std::runtime_error);
  CHECK(mine.log == lines{"cleans", "cleaned"});
}

TEST_CASE("async_finally: after a cancellation, out of reach of the stop request, and it goes on") {
  virtual_time_loop loop;
  work mine;
  const auto begin = loop.now();
  auto all = coracle::stop_after(async_finally(mine.succeed(), mine.clean(1s), 2s), 3ms);
  CHECK_THROWS_WITH_AS(loop.run(std::move(all)), "operation cancelled: its deadline has passed",
                       coracle::operation_cancelled);
  CHECK(mine.log == lines{"cleans", "cleaned"});
  CHECK(loop.now() - begin == 1003ms);
}

TEST_CASE("async_finally: also where stop was requested before the body began") {
  virtual_time_loop loop;
  work mine;
  coracle::stop_source source;
  source.request_stop();
  CHECK_THROWS_AS(
      loop.run(coracle::with_stop(async_finally(mine.succeed(), mine.clean(), 1s), source.get_token())),
      coracle::operation_cancelled);
  CHECK(mine.log == lines{"cleans", "cleaned"});
}

TEST_CASE("async_finally: a clean-up that takes too long is stopped and joined: timed_out") {
  virtual_time_loop loop;
  work mine;
  const auto begin = loop.now();
  CHECK_THROWS_AS(loop.run(async_finally(mine.succeed(), mine.clean(1h), 1s)), coracle::timed_out);
  CHECK(loop.now() - begin == 1010ms);
  CHECK(mine.log == lines{"worked", "cleans"});
}

TEST_CASE("async_finally: the clean-up has its own deadline, whatever is around it") {
  virtual_time_loop loop;
  work mine;
  std::chrono::steady_clock::time_point seen;
  const auto clean = [&]() -> task<> { seen = co_await coracle::this_task::deadline(); };
  loop.run(coracle::stop_after(async_finally(mine.succeed(), clean, 1h), 1s));
  CHECK(seen - virtual_time_loop::start == 1h + 10ms);
}

TEST_CASE("async_finally: an error of the clean-up replaces a value or a cancellation") {
  virtual_time_loop loop;
  work mine;
  CHECK_THROWS_WITH_AS(loop.run(async_finally(mine.succeed(), mine.fail_to_clean(), 1s)),
                       "the clean-up failed", std::runtime_error);
  auto stopped = coracle::stop_after(async_finally(mine.succeed(), mine.fail_to_clean(), 1s), 1ms);
  CHECK_THROWS_WITH_AS(loop.run(std::move(stopped)), "the clean-up failed", std::runtime_error);
}

TEST_CASE("async_finally: errors of both come as a group, that of the body first") {
  virtual_time_loop loop;
  work mine;
  CHECK_THROWS_WITH_AS(loop.run(async_finally(mine.fail(), mine.fail_to_clean(), 1s)),
                       "2 errors: the work failed; the clean-up failed", coracle::error_group);
}

TEST_CASE("async_finally: what the clean-up function itself throws is an error of the clean-up") {
  virtual_time_loop loop;
  work mine;
  const auto refuse = []() -> task<> { throw std::runtime_error("no broom"); };
  const auto throw_at_once = [](auto...) -> coracle::async_manual_reset_event& {
    throw std::runtime_error("no broom");
  };
  CHECK_THROWS_WITH_AS(loop.run(async_finally(mine.succeed(), refuse, 1s)), "no broom", std::runtime_error);
  CHECK_THROWS_WITH_AS(loop.run(async_finally(mine.succeed(), throw_at_once, 1s)), "no broom",
                       std::runtime_error);
}

TEST_CASE("async_finally: void, reference and move-only results; what the clean-up gives is dropped") {
  virtual_time_loop loop;
  int target = 0;
  const auto clean = [&]() -> task<int> { co_return ++target; };
  const auto nothing = []() -> task<> { co_return; };
  const auto refer = [&]() -> task<int&> { co_return target; };
  const auto own = []() -> task<std::unique_ptr<int>> { co_return std::make_unique<int>(3); };
  loop.run(async_finally(nothing(), clean, 1s));
  CHECK(&loop.run(async_finally(refer(), clean, 1s)) == &target);
  CHECK(*loop.run(async_finally(own(), clean, 1s)) == 3);
  CHECK(target == 3);
}

TEST_CASE("async_finally: a named awaitable is referred to") {
  virtual_time_loop loop;
  coracle::async_manual_reset_event open{true};
  work mine;
  loop.run(async_finally(open, mine.clean(), 1s));
  CHECK(mine.log == lines{"cleans", "cleaned"});
}

TEST_CASE("async_finally: clean-ups nest, the inner first, while all is being stopped") {
  virtual_time_loop loop;
  work mine;
  const auto note = [&](const char* line) {
    return [&mine, line]() -> task<> {
      co_await sleep_for(1ms);
      mine.log.push_back(line);
    };
  };
  auto nested = async_finally(async_finally(mine.succeed(), note("inner"), 1s), note("outer"), 1s);
  CHECK_THROWS_AS(loop.run(coracle::stop_after(std::move(nested), 1ms)), coracle::operation_cancelled);
  CHECK(mine.log == lines{"inner", "outer"});
}

TEST_CASE("async_finally: where an allocation fails neither is run, or the clean-up is called" *
          doctest::skip(!coracle::testing::allocations_are_counted)) {
  int wrong = 0;
  const int failures = coracle::testing::fail_each_allocation([&] {
    virtual_time_loop loop;
    bool worked = false, called = false, cleaned = false, failed = false;
    const auto body = [&]() -> task<> {
      worked = true;
      co_return;
    };
    const auto clean = [&]() -> task<> {
      cleaned = true;
      co_return;
    };
    const auto call = [&] {
      called = true;
      return clean();
    };
    try {
      loop.run(async_finally(body(), call, 1s));
    } catch (const std::bad_alloc&) {
      failed = true;
    }
    wrong += worked != called || (!failed && !cleaned);
  });
  CHECK(failures >= 2);
  CHECK(wrong == 0);
}

TEST_CASE("async_finally: a clean-up that has begun is not ended by a want of memory for what would stop it" *
          doctest::skip(!coracle::testing::allocations_are_counted)) {
  int cut_short = 0;
  const int failures = coracle::testing::fail_each_allocation([&] {
    virtual_time_loop loop;
    bool began = false, cleaned = false;
    const auto clean = [&]() -> task<> {
      began = true;
      co_await sleep_for(5ms);
      cleaned = true;
    };
    const auto below = [&]() -> task<> {
      co_await async_finally(coracle::make_task(sleep_for(5ms)), clean, 1s);
    };
    try {
      loop.run(coracle::when_all(below()));
    } catch (const std::bad_alloc&) {
    }
    cut_short += began && !cleaned;
  });
  CHECK(failures >= 4);
  CHECK(cut_short == 0);
}
}  // namespace
