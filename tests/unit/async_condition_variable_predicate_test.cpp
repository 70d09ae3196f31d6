// tests/unit/async_condition_variable_predicate_test.cpp -- waits with a predicate.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <coracle/core/operation_cancelled.hpp>
#include <coracle/core/task.hpp>
#include <coracle/core/with_environment.hpp>
#include <coracle/exec/run_loop.hpp>
#include <coracle/sync/async_condition_variable.hpp>
#include <memory>
#include <stdexcept>
#include <vector>

#include "../support/detached.hpp"
#include "../support/is_free.hpp"
#include "../support/stoppable.hpp"
#include "async_condition_variable_waiters.hpp"

namespace {
using coracle::async_condition_variable;
using coracle::async_mutex;
using coracle_test::detached;
using coracle_test::is_free;
using coracle_test::shared;
using coracle_test::wait_for_value;

TEST_CASE("async_condition_variable: a predicate that holds at once neither suspends nor unlocks") {
  shared s;
  s.value = 1;
  bool free_inside = false;
  const auto work = [&]() -> detached {
    auto lock = co_await s.mutex.scoped_lock_async();
    const auto looks = [&] {
      free_inside = is_free(s.mutex);
      return s.value == 1;
    };
    co_await s.changed.wait(lock, looks);
    s.log.push_back(1);
  };
  work();
  CHECK(s.log == std::vector{1});
  CHECK_FALSE(free_inside);
}

TEST_CASE("async_condition_variable: a wait with a predicate lasts until that holds, under the lock") {
  shared s;
  wait_for_value(s, 2);
  s.changed.notify_one();
  CHECK(s.log.empty());
  CHECK(is_free(s.mutex));
  s.value = 1;
  s.changed.notify_all();
  CHECK(s.log.empty());
  s.value = 2;
  CHECK(s.log.empty());
  s.changed.notify_one();
  CHECK(s.log == std::vector{2});
}

TEST_CASE("async_condition_variable: notify_all() lets those go on whose predicate holds, the others wait") {
  shared s;
  for (int wanted : {3, 1, 2, 1}) wait_for_value(s, wanted);
  s.value = 1;
  s.changed.notify_all();
  CHECK(s.log == std::vector{1, 1});
  s.value = 3;
  s.changed.notify_all();
  CHECK(s.log == std::vector{1, 1, 3, 2});
  CHECK(is_free(s.mutex));
}

TEST_CASE("async_condition_variable: the predicate runs where its coroutine runs, with the lock held") {
  coracle::run_loop loop;
  shared s;
  std::vector<coracle::executor*> places;
  int free_inside = 0;
  const auto work = [&]() -> detached {
    co_await loop.schedule();
    auto lock = co_await s.mutex.scoped_lock_async();
    const auto looks = [&] {
      places.push_back(coracle::current_executor());
      free_inside += is_free(s.mutex);
      return s.value == 1;
    };
    co_await s.changed.wait(lock, looks);
    s.log.push_back(coracle::current_executor() == &loop);
  };
  work();
  CHECK(loop.run_pending() == 1);
  s.changed.notify_one();
  CHECK(places.size() == 1);
  CHECK(loop.run_pending() == 1);
  s.value = 1;
  s.changed.notify_one();
  CHECK(loop.run_pending() == 1);
  CHECK(places == std::vector<coracle::executor*>{&loop, &loop, &loop});
  CHECK(free_inside == 0);
  CHECK(s.log == std::vector{1});
  CHECK_FALSE(loop.run_one());
}

TEST_CASE("async_condition_variable: what a predicate throws reaches the awaiting coroutine, the lock held") {
  shared s;
  int calls = 0;
  const auto wait = [&](int throws_at) -> detached {
    auto lock = co_await s.mutex.scoped_lock_async();
    const auto looks = [&calls, throws_at] {
      if (++calls == throws_at) throw std::runtime_error("predicate");
      return false;
    };
    try {
      co_await s.changed.wait(lock, looks);
    } catch (const std::runtime_error&) {
      s.log.push_back(is_free(s.mutex) ? -calls : calls);
    }
  };
  wait(1);
  CHECK(s.log == std::vector{1});
  calls = 0;
  wait(3);
  s.changed.notify_one();
  CHECK(s.log == std::vector{1});
  s.changed.notify_one();
  CHECK(s.log == std::vector{1, 3});
  CHECK(is_free(s.mutex));
}

TEST_CASE("async_condition_variable: a wait that its predicate ends by throwing is not stopped any more") {
  shared s;
  coracle::stop_source stop;
  int calls = 0;
  const auto wait = [&]() -> coracle::task<> {
    auto lock = co_await s.mutex.scoped_lock_async();
    const auto looks = [&calls] {
      if (++calls == 2) throw std::runtime_error("predicate");
      return false;
    };
    try {
      co_await s.changed.wait(lock, looks);
    } catch (const std::runtime_error&) {
    }
  };
  coracle_test::run_stoppable(stop.get_token(), wait(), s.log, 1);
  s.changed.notify_one();
  stop.request_stop();  // the coroutine is gone
  CHECK(s.log == std::vector{1});
  CHECK(is_free(s.mutex));
}

TEST_CASE("async_condition_variable: a predicate may own what cannot be copied, and be named beforehand") {
  shared s;
  const auto work = [&]() -> detached {
    auto lock = co_await s.mutex.scoped_lock_async();
    auto owner = [&s, wanted = std::make_unique<int>(1)] { return s.value == *wanted; };
    auto reached = s.changed.wait(lock, std::move(owner));
    co_await std::move(reached);
    s.log.push_back(1);
  };
  work();
  s.changed.notify_one();
  CHECK(s.log.empty());
  s.value = 1;
  s.changed.notify_one();
  CHECK(s.log == std::vector{1});
}

TEST_CASE(
    "async_condition_variable: once a stop request has ended the wait, its predicate is not asked any more") {
  shared s;
  coracle::stop_source source;
  int asked = 0;
  bool cancelled = false;
  const auto wait = [&]() -> coracle::task<> {
    auto lock = co_await s.mutex.scoped_lock_async();
    const auto never = [&] {
      ++asked;
      return false;
    };
    try {
      co_await s.changed.wait(lock, never);
    } catch (const coracle::operation_cancelled&) {
      cancelled = true;
    }
  };
  coracle_test::run_detached(coracle::with_stop(wait(), source.get_token()));
  const int before = asked;
  source.request_stop();
  CHECK(cancelled);
  CHECK(asked == before);
}
}  // namespace
