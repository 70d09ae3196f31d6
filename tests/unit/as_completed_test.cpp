// tests/unit/as_completed_test.cpp -- results in the order of their completion.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <coracle/compose/as_completed.hpp>
#include <coracle/compose/as_outcome.hpp>
#include <coracle/core/sync_wait.hpp>
#include <coracle/core/with_environment.hpp>
#include <coracle/testing/virtual_time_loop.hpp>
#include <coracle/time/sleep.hpp>
#include <memory>
#include <stdexcept>
#include <vector>

namespace {
using namespace std::chrono_literals;
using coracle::as_completed;
using coracle::sleep_for;
using coracle::task;
using coracle::testing::virtual_time_loop;

task<int> after(std::chrono::milliseconds time) {
  co_await sleep_for(time);
  co_return static_cast<int>(time.count());
}
std::vector<task<int>> delayed(std::initializer_list<int> times) {
  std::vector<task<int>> tasks;
  for (const int each : times) tasks.push_back(after(std::chrono::milliseconds(each)));
  return tasks;
}

TEST_CASE("as_completed: the results come in the order of completion") {
  virtual_time_loop loop;
  std::vector<int> log;
  loop.run(as_completed(delayed({30, 10, 20}), [&](int value) { log.push_back(value); }));
  CHECK(log == std::vector{10, 20, 30});
}

TEST_CASE("as_completed: a consumer may be awaited; the next result waits for it") {
  virtual_time_loop loop;
  std::vector<int> log;
  const auto begin = loop.now();
  const auto consume = [&](int value) -> task<> {
    co_await sleep_for(100ms);
    log.push_back(value);
  };
  loop.run(as_completed(delayed({30, 10, 20}), consume));
  CHECK(log == std::vector{10, 20, 30});
  CHECK(loop.now() - begin == 310ms);
}

TEST_CASE("as_completed: a consumer that gives false has the others stopped and joined") {
  virtual_time_loop loop;
  std::vector<int> log;
  const auto begin = loop.now();
  SUBCASE("at once") {
    loop.run(as_completed(delayed({30, 10, 20}), [&](int value) {
      log.push_back(value);
      return false;
    }));
    CHECK(log == std::vector{10});
    CHECK(loop.now() - begin == 10ms);
  }
  SUBCASE("awaited") {
    const auto consume = [&](int value) -> task<bool> {
      log.push_back(value);
      co_return value != 20;
    };
    loop.run(as_completed(delayed({30, 10, 20}), consume));
    CHECK(log == std::vector{10, 20});
    CHECK(loop.now() - begin == 20ms);
  }
}

TEST_CASE("as_completed: an error of one that is stopped is not lost") {
  virtual_time_loop loop;
  std::vector<task<int>> tasks = delayed({10});
  const auto stubborn = []() -> task<int> {
    try {
      co_await coracle::throwing(sleep_for(1s));
    } catch (const coracle::operation_cancelled& e) {
      CHECK(e.reason() == coracle::stop_reason::lost_race);
    }
    throw std::runtime_error("while it stopped");
  };
  tasks.push_back(stubborn());
  CHECK_THROWS_WITH_AS(loop.run(as_completed(std::move(tasks), [](int) { return false; })),
                       "while it stopped", std::runtime_error);
}

TEST_CASE(
    "as_completed: an error of a task or of the consumer stops the rest, and later results are not "
    "consumed") {
  virtual_time_loop loop;
  int consumed = 0;
  std::vector<task<int>> tasks = delayed({10, 30});
  const auto fail = []() -> task<int> {
    co_await sleep_for(20ms);
    throw std::runtime_error("failed");
  };
  tasks.push_back(fail());
  CHECK_THROWS_WITH_AS(loop.run(as_completed(std::move(tasks), [&](int) { ++consumed; })), "failed",
                       std::runtime_error);
  CHECK(consumed == 1);
  const auto refuse = [](int) { throw std::runtime_error("not mine"); };
  CHECK_THROWS_WITH_AS(loop.run(as_completed(delayed({10, 30}), refuse)), "not mine", std::runtime_error);
  const auto refuse_later = [](int) -> task<> {
    co_await sleep_for(1ms);
    throw std::runtime_error("not mine");
  };
  CHECK_THROWS_WITH_AS(loop.run(as_completed(delayed({10, 30}), refuse_later)), "not mine",
                       std::runtime_error);
}

TEST_CASE("as_completed: void, reference and move-only results") {
  int target = 0, calls = 0;
  std::vector<task<>> nothing;
  nothing.push_back([]() -> task<> { co_return; }());
  coracle::sync_wait(as_completed(std::move(nothing), [&] { ++calls; }));
  std::vector<task<>> again;
  again.push_back([]() -> task<> { co_return; }());
  coracle::sync_wait(as_completed(std::move(again), [&]() -> task<bool> {
    ++calls;
    co_return true;
  }));
  CHECK(calls == 2);
  std::vector<task<int&>> references;
  const auto refer = [&]() -> task<int&> { co_return target; };
  references.push_back(refer());
  coracle::sync_wait(as_completed(std::move(references), [](int& value) { value = 4; }));
  CHECK(target == 4);
  std::vector<task<std::unique_ptr<int>>> owned;
  owned.push_back([]() -> task<std::unique_ptr<int>> { co_return std::make_unique<int>(5); }());
  const auto take = [&](std::unique_ptr<int> value) -> task<> {
    target = *value;
    co_return;
  };
  coracle::sync_wait(as_completed(std::move(owned), take));
  CHECK(target == 5);
}

TEST_CASE("as_completed: a stop request stops the awaitables; what had completed is consumed") {
  virtual_time_loop loop;
  coracle::stop_source source;
  std::vector<int> log;
  const auto consume = [&](int value) {
    log.push_back(value);
    source.request_stop();
  };
  auto all = coracle::with_stop(as_completed(delayed({10, 20}), consume), source.get_token());
  CHECK_THROWS_AS(loop.run(std::move(all)), coracle::operation_cancelled);
  CHECK(log == std::vector{10});
}

TEST_CASE("as_completed: 100,000 tasks") {
  std::vector<task<int>> tasks;
  const auto one = []() -> task<int> { co_return 1; };
  for (int i = 0; i != 100'000; ++i) tasks.push_back(one());
  int sum = 0;
  coracle::sync_wait(as_completed(std::move(tasks), [&](int value) { sum += value; }));
  CHECK(sum == 100'000);
}
}  // namespace
