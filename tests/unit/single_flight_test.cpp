// tests/unit/single_flight_test.cpp -- calls that share one execution.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <coracle/compose/single_flight.hpp>
#include <coracle/compose/when_all.hpp>
#include <coracle/core/sync_wait.hpp>
#include <coracle/core/with_environment.hpp>
#include <coracle/exec/run_loop.hpp>
#include <coracle/sync/async_manual_reset_event.hpp>
#include <coracle/testing/allocations.hpp>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "../support/abort_message.hpp"
#include "../support/detached.hpp"
#include "../support/run_on_stack.hpp"
#include "../support/test_coroutine.hpp"

namespace {
using coracle::single_flight;
using coracle::task;

/// A flight whose work waits for `land`, and the result of each caller.
struct airport {
  single_flight<std::string, int> flights;
  coracle::async_manual_reset_event land;
  coracle::stop_source sources[4];
  std::vector<std::string> log;
  int started = 0;
  std::string work_ended;

  auto work() {
    return [this]() -> task<int> {
      const int mine = ++started;
      try {
        co_await land;
      } catch (const coracle::operation_cancelled& e) {
        work_ended = e.what();
        throw;
      }
      work_ended = "landed";
      co_return mine;
    };
  }
  task<> travel(std::string key, int name) {
    std::string line = std::to_string(name) + ":";
    try {
      line += std::to_string(co_await flights.run(key, work()));
    } catch (const std::exception& e) {
      line += e.what();
    }
    log.push_back(line);
  }
  void start(std::string key, int name) {
    coracle_test::run_detached(coracle::with_stop(travel(key, name), sources[name].get_token()));
  }
};

TEST_CASE("single_flight: callers with one key share one execution, and go on in order") {
  airport all;
  for (int name = 0; name != 3; ++name) all.start("a", name);
  CHECK(all.started == 1);
  CHECK(all.log.empty());
  all.land.set();
  CHECK(all.log == std::vector<std::string>{"0:1", "1:1", "2:1"});
}

TEST_CASE("single_flight: other keys have executions of their own") {
  airport all;
  all.start("a", 0);
  all.start("b", 1);
  CHECK(all.started == 2);
  all.land.set();
  CHECK(all.log == std::vector<std::string>{"0:1", "1:2"});
}

TEST_CASE("single_flight: a call that comes when the work has ended starts it anew") {
  airport all;
  all.land.set();
  all.start("a", 0);
  all.start("a", 1);
  CHECK(all.log == std::vector<std::string>{"0:1", "1:2"});
}

TEST_CASE("single_flight: an error goes to all callers") {
  single_flight<int, int> flights;
  coracle::async_manual_reset_event fail;
  int errors = 0;
  const auto work = [&]() -> task<int> {
    co_await fail;
    throw std::runtime_error("crashed");
  };
  const auto call = [&]() -> task<> {
    try {
      co_await flights.run(1, work);
    } catch (const std::runtime_error&) {
      ++errors;
    }
  };
  for (int i = 0; i != 3; ++i) coracle_test::run_detached(call());
  fail.set();
  CHECK(errors == 3);
}

TEST_CASE("single_flight: what the function itself throws is an error of the work") {
  single_flight<int, int> flights;
  const auto work = [&]() -> task<int> { throw std::runtime_error("no fuel"); };
  const auto plain = [&]() -> coracle::async_manual_reset_event& { throw std::runtime_error("no plane"); };
  single_flight<int, void> others;
  CHECK_THROWS_WITH_AS(coracle::sync_wait(flights.run(1, work)), "no fuel", std::runtime_error);
  CHECK_THROWS_WITH_AS(coracle::sync_wait(others.run(1, plain)), "no plane", std::runtime_error);
}

TEST_CASE("single_flight: void and reference results") {
  single_flight<int, void> nothing;
  int target = 3;
  single_flight<int, int&> reference;
  int runs = 0;
  const auto work = [&]() -> task<> {
    ++runs;
    co_return;
  };
  const auto refer = [&]() -> task<int&> { co_return target; };
  coracle::sync_wait(nothing.run(1, work));
  CHECK(runs == 1);
  CHECK(&coracle::sync_wait(reference.run(1, refer)) == &target);
}

TEST_CASE("single_flight: stop requested before: neither starts nor joins") {
  airport all;
  all.sources[0].request_stop();
  all.start("a", 0);
  CHECK(all.started == 0);
  CHECK(all.log == std::vector<std::string>{"0:operation cancelled"});
}

TEST_CASE("single_flight: a caller that is stopped leaves at once, also the first; the work goes on") {
  airport all;
  for (int name = 0; name != 3; ++name) all.start("a", name);
  all.sources[0].request_stop();
  CHECK(all.log == std::vector<std::string>{"0:operation cancelled"});
  all.sources[2].request_stop();
  CHECK(all.log.size() == 2);
  CHECK(all.work_ended.empty());
  all.land.set();
  CHECK(all.log == std::vector<std::string>{"0:operation cancelled", "2:operation cancelled", "1:1"});
}

TEST_CASE("single_flight: when the last caller is stopped the work is, for its reason, and is joined") {
  airport all;
  for (int name = 0; name != 2; ++name) all.start("a", name);
  all.sources[0].request_stop();
  all.sources[1].request_stop(coracle::stop_reason::timed_out);
  CHECK(all.work_ended == "operation cancelled: its deadline has passed");
  CHECK(all.log.back() == "1:operation cancelled: its deadline has passed");
}

TEST_CASE("single_flight: the last caller waits for work that does not stop, and a new call starts anew") {
  single_flight<int, int> flights;
  coracle::async_manual_reset_event end;
  coracle::stop_source source;
  std::vector<int> log;
  const auto stubborn = [&]() -> task<int> {
    co_await coracle::shielded(end);
    co_return 1;
  };
  const auto quick = []() -> task<int> { co_return 2; };
  const auto first = [&]() -> task<> {
    try {
      co_await flights.run(1, stubborn);
    } catch (const coracle::operation_cancelled&) {
      log.push_back(-1);
    }
  };
  coracle_test::run_detached(coracle::with_stop(first(), source.get_token()));
  source.request_stop();
  CHECK(log.empty());
  CHECK(coracle::sync_wait(flights.run(1, quick)) == 2);
  end.set();
  CHECK(log == std::vector{-1});
}

TEST_CASE("single_flight: the work inherits no stop token and no value of a caller") {
  single_flight<int, int> flights;
  const coracle::task_local<int> value{1};
  coracle::stop_source source;
  const auto work = [&]() -> task<int> {
    const coracle::stop_token mine = co_await coracle::this_task::stop_token();
    CHECK(mine != source.get_token());
    CHECK(mine.stop_possible());
    co_return co_await value.value();
  };
  auto call = coracle::with_stop(coracle::with_value(flights.run(1, work), value, 2), source.get_token());
  CHECK(coracle::sync_wait(std::move(call)) == 1);
}

TEST_CASE("single_flight: each caller resumes on its own executor, the work runs on that of the first") {
  coracle::run_loop first, second;
  airport all;
  std::vector<int> where;
  const auto call = [&](coracle::run_loop& mine, int name) -> task<> {
    co_await all.flights.run("a", all.work());
    where.push_back(coracle::current_executor() == &mine ? name : -name);
  };
  coracle_test::run_detached_on(first, call(first, 1));
  coracle_test::run_detached_on(second, call(second, 2));
  CHECK(first.run_one());
  CHECK(second.run_one());
  all.land.set();
  CHECK(all.work_ended.empty());
  CHECK(first.run_one());  // the work ends
  CHECK(all.work_ended == "landed");
  CHECK(second.run_one());
  CHECK(first.run_one());
  CHECK(where == std::vector{2, 1});
}

TEST_CASE("single_flight: a key may hold on to another: 10,000 deep on 1 MiB of stack") {
  long long sum = 0;
  const bool ran = coracle_test::run_on_stack(1024 * 1024, [&] {
    single_flight<int, long long> flights;
    struct sums {
      static task<long long> up_to(single_flight<int, long long>& shared, int n) {
        const auto rest = [&shared, n]() -> task<long long> {
          if (n == 0) co_return 0;
          co_return n + co_await up_to(shared, n - 1);
        };
        co_return co_await shared.run(n, rest);
      }
    };
    sum = coracle::sync_wait(sums::up_to(flights, 10'000));
  });
  REQUIRE(ran);
  CHECK(sum == 50'005'000);
}

TEST_CASE("single_flight: where an allocation fails nothing is lost, and the next call works" *
          doctest::skip(!coracle::testing::allocations_are_counted)) {
  int failed = 0;
  const int failures = coracle::testing::fail_each_allocation([&] {
    single_flight<int, int> flights;
    const auto work = []() -> task<int> { co_return 7; };
    try {
      if (coracle::sync_wait(flights.run(1, work)) != 7) failed = 1000;
    } catch (const std::bad_alloc&) {
      ++failed;
    }
  });
  CHECK(failures >= 4);
  CHECK(failed == failures);
}

TEST_CASE("single_flight: a caller that finds no memory to be stopped by joins the work before it leaves" *
          doctest::skip(!coracle::testing::allocations_are_counted)) {
  int failed = 0;
  const int failures = coracle::testing::fail_each_allocation([&] {
    single_flight<int, int> flights;
    coracle::async_manual_reset_event end;
    const auto work = [&]() -> task<int> {
      co_await coracle::shielded(end);
      co_return 7;
    };
    const auto call = [&]() -> task<> {
      try {
        co_await coracle::when_all(flights.run(1, work));
      } catch (const std::bad_alloc&) {
        ++failed;
      }
    };
    try {
      coracle_test::run_detached(call());
    } catch (const std::bad_alloc&) {
      ++failed;
    }
    end.set();
  });
  CHECK(failures >= 6);
  CHECK(failed == failures);
}

template <bool First>
void destroy_caller() {
  coracle::async_manual_reset_event never;
  single_flight<int, int> flights;
  const auto work = [&]() -> task<int> {
    co_await never;
    co_return 1;
  };
  const auto call = [&]() -> task<> { co_await flights.run(1, work); };
  auto first = coracle_test::started(call());
  auto second = coracle_test::started(call());
  (First ? first : second).destroy();
}
TEST_CASE("single_flight: a caller that is destroyed while it waits ends the program and says so") {
  const char* const says =
      "coracle: a coroutine was destroyed while it waits in single_flight::run(): stop and join it first\n";
  CHECK(coracle_test::abort_message(&destroy_caller<true>) == says);
  CHECK(coracle_test::abort_message(&destroy_caller<false>) == says);
}

TEST_CASE("single_flight: destroyed while a call runs ends the program and says so") {
  CHECK(coracle_test::abort_message([] {
          coracle::async_manual_reset_event never;
          auto flights = std::make_unique<single_flight<int, int>>();
          const auto work = [&]() -> task<int> {
            co_await never;
            co_return 1;
          };
          const auto call = [&]() -> task<> { co_await flights->run(1, work); };
          coracle_test::run_detached(call());
          flights.reset();
        }) == "coracle: a single_flight was destroyed while calls of it run: join them first\n");
}
}  // namespace
