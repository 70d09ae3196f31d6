// tests/unit/watched_value_test.cpp -- the latest value.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <coracle/channels/watched_value.hpp>
#include <coracle/core/sync_wait.hpp>
#include <coracle/core/task.hpp>
#include <coracle/core/with_environment.hpp>
#include <coracle/exec/run_loop.hpp>
#include <coracle/testing/allocations.hpp>
#include <coracle/testing/lifetime_probe.hpp>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

#include "../support/abort_message.hpp"
#include "../support/detached.hpp"

namespace {
using coracle::sync_wait;
using coracle::task;
using coracle::value_observer;
using coracle::watched_value;
using coracle::testing::lifetime_probe;
using coracle::testing::lifetimes;
using coracle_test::detached;
using ints = std::vector<int>;

int changed(value_observer<int>& observer) {
  const auto value = sync_wait(observer.changed());
  return value ? *value : -1;
}
detached follow(value_observer<int> observer, ints& seen) {
  while (const auto value = co_await observer.changed()) seen.push_back(*value);
  seen.push_back(-1);
}

TEST_CASE("watched_value: what it holds at first can be read by all, and is new to nobody") {
  ints seen;
  watched_value<int> value{1};
  auto mine = value.observe();
  CHECK(*value.get() == 1);
  CHECK(*mine.get() == 1);
  follow(mine, seen);
  CHECK(seen.empty());
}

TEST_CASE("watched_value: a change is seen once by each observer, and skips what it replaced") {
  watched_value<int> value{1};
  auto first = value.observe();
  auto second = value.observe();
  value.set(2);
  CHECK(changed(first) == 2);
  value.set(3);
  value.set(4);
  CHECK(changed(second) == 4);
  CHECK(changed(first) == 4);
  value.set(5);
  CHECK(*first.get() == 5);
  value.set(6);
  CHECK(changed(first) == 6);
}

TEST_CASE("watched_value: what get() has shown is not new any more") {
  ints seen;
  watched_value<int> value{1};
  auto mine = value.observe();
  value.set(2);
  CHECK(*mine.get() == 2);
  follow(mine, seen);
  CHECK(seen.empty());
  value.set(2);
  CHECK(seen == ints{2});
}

TEST_CASE(
    "watched_value: observers that wait are woken in the order of their arrival, inside set() outside any "
    "executor") {
  watched_value<int> value{0};
  ints seen;
  const auto wait = [&](int name) -> detached {
    auto mine = value.observe();
    const auto latest = co_await mine.changed();
    seen.push_back(name + *latest);
  };
  wait(10);
  wait(20);
  value.set(1);
  CHECK(seen == ints{11, 21});
}

TEST_CASE(
    "watched_value: a woken observer sees the value of the moment in which it resumes, on its executor") {
  coracle::run_loop loop;
  watched_value<int> value{0};
  ints seen;
  const auto wait = [&]() -> task<> {
    auto mine = value.observe();
    seen.push_back(*co_await mine.changed());
  };
  coracle_test::run_detached_on(loop, wait());
  CHECK(loop.run_one());
  value.set(1);
  value.set(2);
  CHECK(seen.empty());
  CHECK(loop.run_one());
  CHECK(seen == ints{2});
}

TEST_CASE("watched_value: its end wakes the observers; the last value is seen first, and stays") {
  auto value = std::make_optional<watched_value<int>>(1);
  auto mine = value->observe();
  ints seen;
  follow(value->observe(), seen);
  value->set(2);
  value.reset();
  CHECK(seen == ints{2, -1});
  CHECK(changed(mine) == 2);
  CHECK(changed(mine) == -1);
  CHECK(*mine.get() == 2);
}

TEST_CASE("watched_value: the last observer to be woken may destroy it") {
  auto value = std::make_optional<watched_value<int>>(1);
  const auto wait = [&](bool is_last) -> detached {
    auto mine = value->observe();
    static_cast<void>(co_await mine.changed());
    if (is_last) value.reset();
  };
  wait(false);
  wait(true);
  value->set(2);
  CHECK_FALSE(value.has_value());
}

TEST_CASE("watched_value: a value that somebody keeps stays as it was, and ends with the last who keeps it") {
  lifetimes log;
  {
    watched_value<lifetime_probe> value{lifetime_probe(log, 1)};
    auto kept = value.get();
    value.set(lifetime_probe(log, 2));
    CHECK(kept->id() == 1);
    CHECK(log.destroyed.empty());
    kept.reset();
    CHECK(log.destroyed == ints{1});
    value.set(lifetime_probe(log, 3));
    CHECK(log.destroyed == ints{1, 2});
  }
  CHECK(log.copies == 0);
  CHECK(log.alive == 0);
}

TEST_CASE(
    "watched_value: a value may look at its own watched_value while it is destroyed: no lock is held then") {
  struct nosy {
    explicit nosy(watched_value<std::shared_ptr<int>>* observed) : of(observed) {}
    nosy(nosy&& other) noexcept : of(std::exchange(other.of, nullptr)) {}
    ~nosy() {
      if (of) ++**of->get();
    }
    watched_value<std::shared_ptr<int>>* of;
  };
  watched_value<std::shared_ptr<int>> counted{std::make_shared<int>(0)};
  {
    watched_value<nosy> value{nosy(&counted)};
    value.set(nosy(&counted));
  }
  CHECK(**counted.get() == 2);
}

TEST_CASE("watched_value: a stop request ends the wait, and the change that comes then is seen by the next") {
  watched_value<int> value{1};
  auto mine = value.observe();
  coracle::stop_source source;
  bool cancelled = false;
  const auto wait = [&]() -> task<> {
    try {
      static_cast<void>(co_await mine.changed());
    } catch (const coracle::operation_cancelled&) {
      cancelled = true;
    }
  };
  coracle_test::run_detached(coracle::with_stop(wait(), source.get_token()));
  source.request_stop();
  CHECK(cancelled);
  value.set(2);
  CHECK_THROWS_AS(sync_wait(coracle::with_stop(mine.changed(), source.get_token())),
                  coracle::operation_cancelled);
  CHECK(changed(mine) == 2);
}

TEST_CASE("watched_value: a value that can only be moved, set by another thread") {
  watched_value<std::unique_ptr<int>> value{nullptr};
  auto mine = value.observe();
  std::thread setter([&] { value.set(std::make_unique<int>(3)); });
  const auto latest = sync_wait(mine.changed());
  CHECK(**latest == 3);
  setter.join();
}

TEST_CASE("watched_value: reading allocates nothing; a failed allocation leaves the value as it was" *
          doctest::skip(!coracle::testing::allocations_are_counted)) {
  CHECK(coracle::testing::fail_each_allocation([] {
          try {
            watched_value<int> value{1};
            try {
              value.set(2);
            } catch (const std::bad_alloc&) {
              CHECK(*value.get() == 1);
            }
          } catch (const std::bad_alloc&) {
          }
        }) == 3);
  watched_value<int> value{1};
  auto mine = value.observe();
  value.set(2);
  const auto before = coracle::testing::allocations();
  const int sum = changed(mine) + *value.get();
  const auto after = coracle::testing::allocations();
  CHECK(sum == 4);
  CHECK(after == before);
}

TEST_CASE("watched_value: an operation waits for what is new when it is awaited, not when it was created") {
  watched_value<int> value{1};
  auto mine = value.observe();
  auto later = mine.changed();
  value.set(2);
  CHECK(changed(mine) == 2);
  int seen = 0;
  const auto wait = [&]() -> detached {
    const auto latest = co_await later;
    seen = latest ? *latest : -1;
  };
  wait();
  CHECK(seen == 0);
  value.set(3);
  CHECK(seen == 3);
}

TEST_CASE("watched_value: a change that get() shows before the waiting coroutine resumes is no end") {
  coracle::run_loop loop;
  watched_value<int> value{1};
  auto mine = value.observe();
  int seen = 0;
  const auto wait = [&]() -> task<> {
    const auto latest = co_await mine.changed();
    seen = latest ? *latest : -1;
  };
  coracle_test::run_detached_on(loop, wait());
  CHECK(loop.run_one());
  value.set(2);
  CHECK(*mine.get() == 2);
  CHECK(loop.run_one());
  CHECK(seen == 2);
}

TEST_CASE("watched_value: using an observer that was moved from ends the program and says so") {
  const std::string message =
      "coracle: a value_observer that was moved from was used: use the one it was moved to\n";
  CHECK(coracle_test::abort_message([] {
          watched_value<int> value{1};
          auto mine = value.observe();
          auto moved = std::move(mine);
          static_cast<void>(mine.get());
        }) == message);
  CHECK(coracle_test::abort_message([] {
          watched_value<int> value{1};
          auto mine = value.observe();
          auto moved = std::move(mine);
          changed(mine);
        }) == message);
}

static_assert(!std::is_copy_constructible_v<watched_value<int>>);
static_assert(std::is_copy_constructible_v<value_observer<int>>);
static_assert(std::is_same_v<coracle::await_result_t<value_observer<int>::changed_operation>,
                             std::shared_ptr<const int>>);
}  // namespace
