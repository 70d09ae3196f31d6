// tests/unit/when_all_pool_test.cpp
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <coracle/compose/via.hpp>
#include <coracle/compose/when_all.hpp>
#include <coracle/compose/with_scope.hpp>
#include <coracle/core/shared_task.hpp>
#include <coracle/core/sync_wait.hpp>
#include <coracle/core/with_environment.hpp>
#include <coracle/exec/static_thread_pool.hpp>
#include <coracle/sync/async_manual_reset_event.hpp>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

using coracle::async_manual_reset_event;
using coracle::static_thread_pool;
using coracle::sync_wait;
using coracle::task;

namespace {
task<int> after(async_manual_reset_event& event, int value) {
  co_await event;
  co_return value;
}
}  // namespace

TEST_CASE("when_all: on a pool shared_tasks that have not begun are divided among its threads") {
  static_thread_pool pool{3};
  std::atomic<int> arrived = 0;
  std::atomic<bool> met = true;
  const auto meets = [&](int all) -> coracle::shared_task<> {  // blocks its thread until the others run, too
    ++arrived;
    const auto latest = std::chrono::steady_clock::now() + std::chrono::seconds{20};
    while (arrived < all && std::chrono::steady_clock::now() < latest) std::this_thread::yield();
    if (arrived < all) met = false;
    co_return;
  };
  const auto await_all = [](auto... children) -> task<> {
    co_await coracle::when_all(std::move(children)...);
  };
  sync_wait(coracle::schedule_on(await_all(meets(2), meets(2)), pool));
  CHECK(met);
  arrived = 0;
  async_manual_reset_event event{true};
  const auto beside_a_wait = [&]() -> task<> { co_await coracle::when_all(event, meets(2), meets(2)); };
  sync_wait(coracle::schedule_on(beside_a_wait(), pool));
  CHECK(met);
  arrived = 0;
  std::vector<coracle::shared_task<>> all;
  for (int i = 0; i != 3; ++i) all.push_back(meets(3));
  sync_wait(coracle::schedule_on(await_all(std::move(all)), pool));
  CHECK(met);
}

TEST_CASE("when_all: on a pool children that only wait end it as elsewhere") {
  static_thread_pool pool{2};
  async_manual_reset_event first, second, never;
  const auto body = [](static_thread_pool& on_pool, async_manual_reset_event& event,
                       bool fails) -> coracle::shared_task<int> {
    co_await on_pool.schedule();
    co_await event;
    if (fails) throw std::runtime_error("shared");
    co_return 42;
  };
  const auto waits = [&]() -> task<int> {
    coracle::shared_task<int> a = body(pool, first, false), b = body(pool, second, false);
    coracle::shared_task<int> fails = body(pool, second, true);
    co_await coracle::with_scope([&](coracle::async_scope& scope) -> task<> {
      for (const auto& each : {a, b, fails}) scope.spawn(each.when_ready());
      auto future = scope.spawn_future(after(second, 5));
      first.set();
      second.set();
      auto [from_a, from_b, from_future] = co_await coracle::when_all(a, b, std::move(future));
      CHECK(from_a + from_b + from_future == 89);
      CHECK_THROWS_WITH(co_await coracle::when_all(fails, never), "shared");
    });
    coracle::stop_source source;
    const auto stops = [&]() -> task<> {
      co_await pool.schedule();
      source.request_stop();
    };
    co_await coracle::when_all(coracle::stop_when(coracle::when_all(a, never), source.get_token()), stops());
    co_return 1;
  };
  CHECK_THROWS_AS(sync_wait(coracle::schedule_on(waits(), pool)), coracle::operation_cancelled);
}

// Without an AddressSanitizer, the use of a stop source after its end is not noticed.
TEST_CASE("when_all: an operation with a name may outlive the stop source of its await") {
  async_manual_reset_event event;
  const auto set = [&]() -> task<> {
    event.set();
    co_return;
  };
  int sum = 0;
  const auto work = [&]() -> task<> {
    auto both = coracle::when_all(after(event, 1), after(event, 2));
    const auto await_both = [&]() -> task<> {
      const auto [one, two] = co_await std::move(both);
      sum = one + two;
    };
    {
      const coracle::stop_source source;
      co_await coracle::when_all(coracle::with_stop(await_both(), source.get_token()), set());
    }
    const coracle::stop_source another;
    co_await coracle::with_stop(set(), another.get_token());
  };
  sync_wait(work());
  CHECK(sum == 3);
}
