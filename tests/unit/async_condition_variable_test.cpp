// tests/unit/async_condition_variable_test.cpp -- waiting under a lock for something to change.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <coracle/compose/when_any.hpp>
#include <coracle/core/sync_wait.hpp>
#include <coracle/exec/run_loop.hpp>
#include <coracle/exec/static_thread_pool.hpp>
#include <coracle/sync/async_condition_variable.hpp>
#include <coracle/sync/async_manual_reset_event.hpp>
#include <coracle/testing/allocations.hpp>
#include <deque>
#include <memory>
#include <optional>
#include <stdexcept>
#include <thread>
#include <type_traits>
#include <vector>

#include "../support/abort_message.hpp"
#include "../support/detached.hpp"
#include "../support/stoppable.hpp"

namespace {
using coracle::async_condition_variable;
using coracle::async_mutex;
using coracle_test::detached;
using coracle_test::run_stoppable;

/// A mutex, what it protects, and how it is told that this has changed.
struct shared {
  async_mutex mutex;
  async_condition_variable changed;
  int value = 0;
  std::vector<int> log;
};
bool is_free(async_mutex& mutex) {
  const bool taken = mutex.try_lock();
  if (taken) mutex.unlock();
  return taken;
}
/// Logs its name if it has the lock after the wait, else -name.
detached wait_once(shared& s, int name) {
  auto lock = co_await s.mutex.scoped_lock_async();
  co_await s.changed.wait(lock);
  s.log.push_back(is_free(s.mutex) ? -name : name);
}
detached wait_for_value(shared& s, int wanted) {
  auto lock = co_await s.mutex.scoped_lock_async();
  const auto reached = [&s, wanted] { return s.value >= wanted; };
  co_await s.changed.wait(lock, reached);
  s.log.push_back(is_free(s.mutex) ? -wanted : wanted);
}
detached wait_once_on(coracle::run_loop& loop, shared& s, int name) {
  co_await loop.schedule();
  auto lock = co_await s.mutex.scoped_lock_async();
  co_await s.changed.wait(lock);
  s.log.push_back(coracle::current_executor() == &loop ? name : -name);
}

TEST_CASE("async_condition_variable: a wait gives up the lock, and has it again after notify_one()") {
  shared s;
  wait_once(s, 1);
  CHECK(is_free(s.mutex));
  CHECK(s.log.empty());
  s.changed.notify_one();
  CHECK(s.log == std::vector{1});
  CHECK(is_free(s.mutex));
}

TEST_CASE("async_condition_variable: a notification that nobody waits for is forgotten") {
  shared s;
  s.changed.notify_one();
  s.changed.notify_all();
  wait_once(s, 1);
  CHECK(s.log.empty());
  s.changed.notify_one();
  CHECK(s.log == std::vector{1});
}

TEST_CASE("async_condition_variable: notify_one() lets the one go on that has waited longest") {
  shared s;
  for (int name = 1; name != 4; ++name) wait_once(s, name);
  s.changed.notify_one();
  CHECK(s.log == std::vector{1});
  wait_once(s, 4);
  s.changed.notify_one();
  s.changed.notify_one();
  s.changed.notify_one();
  CHECK(s.log == std::vector{1, 2, 3, 4});
}

TEST_CASE("async_condition_variable: notify_all() lets all go on that wait now, in order, and nobody else") {
  shared s;
  for (int name = 1; name != 4; ++name) wait_once(s, name);
  s.changed.notify_all();
  CHECK(s.log == std::vector{1, 2, 3});
  wait_once(s, 4);
  CHECK(s.log.size() == 3);
  s.changed.notify_all();
  CHECK(s.log == std::vector{1, 2, 3, 4});
}

TEST_CASE("async_condition_variable: a waiter that waits again is not woken twice by one notify_all()") {
  shared s;
  const auto wait_twice = [&](int name) -> detached {
    auto lock = co_await s.mutex.scoped_lock_async();
    co_await s.changed.wait(lock);
    s.log.push_back(name);
    co_await s.changed.wait(lock);
    s.log.push_back(name + 10);
  };
  wait_twice(1);
  wait_twice(2);
  s.changed.notify_all();
  CHECK(s.log == std::vector{1, 2});
  s.changed.notify_all();
  CHECK(s.log == std::vector{1, 2, 11, 12});
}

TEST_CASE("async_condition_variable: who is notified while the lock is held goes on only when it is free") {
  shared s;
  wait_once(s, 1);
  wait_once(s, 2);
  REQUIRE(s.mutex.try_lock());
  s.changed.notify_one();
  s.changed.notify_all();
  CHECK(s.log.empty());
  s.mutex.unlock();
  CHECK(s.log == std::vector{1, 2});
  CHECK(is_free(s.mutex));
}

TEST_CASE("async_condition_variable: notified waiters stand behind those who queue for the lock already") {
  shared s;
  wait_once(s, 1);
  REQUIRE(s.mutex.try_lock());
  const auto lock_only = [&](int name) -> detached {
    const auto lock = co_await s.mutex.scoped_lock_async();
    s.log.push_back(name);
  };
  lock_only(2);
  s.changed.notify_one();
  lock_only(3);
  s.mutex.unlock();
  CHECK(s.log == std::vector{2, 1, 3});
}

TEST_CASE("async_condition_variable: notify_all() posts one waiter at a time, as the lock becomes free") {
  coracle::run_loop loop;
  shared s;
  for (int name = 1; name != 4; ++name) wait_once_on(loop, s, name);
  CHECK(loop.run_pending() == 3);
  s.changed.notify_all();
  for (int woken = 1; woken != 4; ++woken) {
    CHECK(loop.run_pending() == 1);
    CHECK(s.log.size() == static_cast<std::size_t>(woken));
  }
  CHECK_FALSE(loop.run_one());
  CHECK(s.log == std::vector{1, 2, 3});
}

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

TEST_CASE("async_condition_variable: a waiter outside any executor goes on inside notify, on its thread") {
  shared s;
  std::thread::id waiter_ran_on;
  const auto wait = [&]() -> detached {
    auto lock = co_await s.mutex.scoped_lock_async();
    co_await s.changed.wait(lock);
    waiter_ran_on = std::this_thread::get_id();
  };
  wait();
  std::thread::id notifier, seen_after_notify;
  std::thread([&] {
    notifier = std::this_thread::get_id();
    s.changed.notify_one();
    seen_after_notify = waiter_ran_on;
  }).join();
  CHECK(seen_after_notify == notifier);
  CHECK(seen_after_notify != std::this_thread::get_id());
}

TEST_CASE("async_condition_variable: waiters with different mutexes are served each under its own") {
  shared s;
  async_mutex other;
  const auto wait = [&](async_mutex& mutex, int name) -> detached {
    auto lock = co_await mutex.scoped_lock_async();
    co_await s.changed.wait(lock);
    s.log.push_back(is_free(mutex) ? -name : name);
  };
  wait(s.mutex, 1);
  wait(other, 2);
  REQUIRE(s.mutex.try_lock());
  s.changed.notify_all();
  CHECK(s.log == std::vector{2});
  s.mutex.unlock();
  CHECK(s.log == std::vector{2, 1});
}

TEST_CASE("async_condition_variable: 10'000 handshakes of two coroutines outside any executor end") {
  constexpr int turns = 10'000;
  shared s;
  const auto play = [&](int me) -> detached {
    auto lock = co_await s.mutex.scoped_lock_async();
    const auto my_turn = [&s, me] { return s.value % 2 == me; };
    for (int i = 0; i != turns; ++i) {
      co_await s.changed.wait(lock, my_turn);
      ++s.value;
      s.changed.notify_one();
    }
  };
  play(1);
  play(0);
  CHECK(s.value == 2 * turns);
  CHECK(is_free(s.mutex));
}

TEST_CASE("async_condition_variable: a bounded buffer hands on every item once, from a pool to a thread") {
  constexpr int items = 1000;
  coracle::static_thread_pool pool{2};
  shared s;
  async_condition_variable not_full, not_empty;
  std::deque<int> buffer;
  const auto produce = [&]() -> coracle::task<> {
    co_await pool.schedule();
    const auto has_room = [&] { return buffer.size() < 4; };
    for (int i = 1; i <= items; ++i) {
      auto lock = co_await s.mutex.scoped_lock_async();
      co_await not_full.wait(lock, has_room);
      buffer.push_back(i);
      not_empty.notify_one();
    }
  };
  const auto consume = [&]() -> coracle::task<long> {
    long sum = 0;
    const auto is_filled = [&] { return !buffer.empty(); };
    for (int i = 0; i != items; ++i) {
      auto lock = co_await s.mutex.scoped_lock_async();
      co_await not_empty.wait(lock, is_filled);
      sum += buffer.front();
      buffer.pop_front();
      not_full.notify_one();
    }
    co_return sum;
  };
  std::thread producer([&] { coracle::sync_wait(produce()); });
  CHECK(coracle::sync_wait(consume()) == items * (items + 1L) / 2);
  producer.join();
}

TEST_CASE("async_condition_variable: a notified waiter may destroy it") {
  async_mutex mutex;
  auto changed = std::make_optional<async_condition_variable>();
  const auto wait = [&](bool is_last) -> detached {
    auto lock = co_await mutex.scoped_lock_async();
    co_await changed->wait(lock);
    if (is_last) changed.reset();
  };
  wait(false);
  wait(true);
  changed->notify_all();
  CHECK_FALSE(changed.has_value());
  changed.emplace();
  wait(true);
  changed->notify_one();
  CHECK_FALSE(changed.has_value());
}

/// What a wait that may be stopped does: logs, after it, whether it had the lock.
coracle::task<> wait_stoppably(shared& s) {
  auto lock = co_await s.mutex.scoped_lock_async();
  bool held = false;
  try {
    co_await s.changed.wait(lock);
    held = !is_free(s.mutex);
  } catch (const coracle::operation_cancelled&) {
    CHECK_FALSE(is_free(s.mutex));
    throw;
  }
  CHECK(held);
}
coracle::task<> wait_stoppably_for(shared& s, int wanted) {
  auto lock = co_await s.mutex.scoped_lock_async();
  const auto reached = [&s, wanted] { return s.value >= wanted; };
  try {
    co_await s.changed.wait(lock, reached);
  } catch (const coracle::operation_cancelled&) {
    CHECK_FALSE(is_free(s.mutex));
    throw;
  }
  CHECK_FALSE(is_free(s.mutex));
}

TEST_CASE(
    "async_condition_variable: stop requested before the await: it throws, and never gave up the lock") {
  shared s;
  coracle::stop_source stop;
  stop.request_stop();
  int calls = 0;
  const auto looks = [&calls] { return ++calls != 0; };
  REQUIRE(s.mutex.try_lock());
  coracle::async_mutex_lock lock{s.mutex};
  run_stoppable(stop.get_token(), s.changed.wait(lock), s.log, 1);
  run_stoppable(stop.get_token(), s.changed.wait(lock, looks), s.log, 2);
  CHECK(s.log == std::vector{-1, -2});
  CHECK(calls == 0);
  CHECK_FALSE(is_free(s.mutex));
}

TEST_CASE("async_condition_variable: a stop request ends the wait, with the lock held") {
  shared s;
  coracle::stop_source stops[3];
  for (int i = 0; i != 3; ++i) run_stoppable(stops[i].get_token(), wait_stoppably(s), s.log, i + 1);
  stops[1].request_stop();
  CHECK(s.log == std::vector{-2});
  s.changed.notify_one();
  CHECK(s.log == std::vector{-2, 1});
  s.changed.notify_one();
  CHECK(s.log == std::vector{-2, 1, 3});
  CHECK(is_free(s.mutex));
}

TEST_CASE("async_condition_variable: a stopped wait waits for the lock, which it cannot do without") {
  shared s;
  coracle::stop_source stop;
  run_stoppable(stop.get_token(), wait_stoppably(s), s.log, 1);
  REQUIRE(s.mutex.try_lock());
  stop.request_stop();
  CHECK(s.log.empty());
  s.changed.notify_one();  // for nobody: it is not in the queue any more
  s.mutex.unlock();
  CHECK(s.log == std::vector{-1});
  CHECK(is_free(s.mutex));
}

TEST_CASE("async_condition_variable: who was notified before the stop request returns normally") {
  shared s;
  coracle::stop_source stop;
  run_stoppable(stop.get_token(), wait_stoppably(s), s.log, 1);
  wait_once(s, 2);
  REQUIRE(s.mutex.try_lock());
  s.changed.notify_one();
  stop.request_stop();
  CHECK(s.log.empty());
  s.mutex.unlock();
  CHECK(s.log == std::vector{1});
  s.changed.notify_one();
  CHECK(s.log == std::vector{1, 2});
}

TEST_CASE("async_condition_variable: a notification is never used up by a waiter that was stopped before") {
  shared s;
  coracle::stop_source stop;
  run_stoppable(stop.get_token(), wait_stoppably(s), s.log, 1);
  wait_once(s, 2);
  REQUIRE(s.mutex.try_lock());
  stop.request_stop();
  s.changed.notify_one();
  s.mutex.unlock();
  CHECK(s.log == std::vector{2, -1});  // the first logs when it has given the lock to the second
}

TEST_CASE("async_condition_variable: a stop request ends a wait with a predicate, whatever that would say") {
  shared s;
  coracle::stop_source stop;
  run_stoppable(stop.get_token(), wait_stoppably_for(s, 1), s.log, 1);
  s.changed.notify_one();
  CHECK(s.log.empty());
  REQUIRE(s.mutex.try_lock());
  stop.request_stop();
  s.value = 1;
  s.mutex.unlock();
  CHECK(s.log == std::vector{-1});
}

TEST_CASE("async_condition_variable: with a predicate, one notified and stopped goes on if it holds") {
  for (const int value : {0, 1}) {
    shared s;
    coracle::stop_source stop;
    run_stoppable(stop.get_token(), wait_stoppably_for(s, 1), s.log, 1);
    REQUIRE(s.mutex.try_lock());
    s.changed.notify_one();
    stop.request_stop();
    s.value = value;
    s.mutex.unlock();
    CHECK(s.log == std::vector{value == 1 ? 1 : -1});
    CHECK(is_free(s.mutex));
  }
}

TEST_CASE("async_condition_variable: a cancelled waiter goes on where it suspended") {
  coracle::run_loop loop;
  shared s;
  coracle::stop_source stop;
  const auto wait = [&]() -> coracle::task<> {
    co_await loop.schedule();
    co_await wait_stoppably(s);
  };
  run_stoppable(stop.get_token(), wait(), s.log, 1);
  CHECK(loop.run_one());
  stop.request_stop();
  CHECK(s.log.empty());
  CHECK_FALSE(is_free(s.mutex));  // the lock is its already
  CHECK(loop.run_one());
  CHECK(s.log == std::vector{-1});
}

TEST_CASE("async_condition_variable: 50'000 waiters are cancelled in any order, each in a moment") {
  shared s;
  CHECK(coracle_test::cancels_many(50'000, false, [&] { return wait_stoppably(s); }));
  CHECK(coracle_test::cancels_many(50'000, true, [&] { return wait_stoppably(s); }));
  CHECK(is_free(s.mutex));
}

TEST_CASE("async_condition_variable: a notification passes over a waiter whose when_any() is won already") {
  for (const bool with_predicate : {false, true}) {
    coracle::run_loop loop;
    shared s;
    coracle::async_manual_reset_event event;
    std::size_t winner = 9;
    bool held = false;
    const auto work = [&]() -> detached {
      co_await loop.schedule();
      auto lock = co_await s.mutex.scoped_lock_async();
      const auto reached = [&s] { return s.value >= 1; };
      if (with_predicate) {
        winner = (co_await coracle::when_any(s.changed.wait(lock, reached), event)).index();
      } else {
        winner = (co_await coracle::when_any(s.changed.wait(lock), event)).index();
      }
      held = !is_free(s.mutex);
    };
    work();
    CHECK(loop.run_one());
    wait_for_value(s, 1);
    event.set();
    s.value = 1;
    s.changed.notify_one();
    while (loop.run_one()) {
    }
    CHECK(winner == 1);
    CHECK(held);
    CHECK(s.log == std::vector{1});
    CHECK(is_free(s.mutex));
  }
}

TEST_CASE("async_condition_variable: destroyed while a coroutine waits ends the program and says so" *
          doctest::skip(!CORACLE_CHECKS())) {
  CHECK(coracle_test::abort_message([] {
          shared s;
          wait_once(s, 1);
        }) == "coracle: an async_condition_variable was destroyed while coroutines wait for it\n");
}

TEST_CASE("async_condition_variable: a wait with a lock that was moved from ends the program and says so" *
          doctest::skip(!CORACLE_CHECKS())) {
  CHECK(coracle_test::abort_message([] {
          shared s;
          const auto wait = [&]() -> detached {
            auto lock = co_await s.mutex.scoped_lock_async();
            const auto moved_to = std::move(lock);
            co_await s.changed.wait(lock);
          };
          wait();
        }) == "coracle: wait() of an async_condition_variable with a lock that was moved from\n");
}

TEST_CASE("async_condition_variable: waiting and notifying allocate nothing" *
          doctest::skip(!coracle::testing::allocations_are_counted)) {
  shared s;
  int turns = 0;
  const auto take_turns = [&](int wanted) -> detached {
    auto lock = co_await s.mutex.scoped_lock_async();
    const auto reached = [&s, wanted] { return s.value >= wanted; };
    co_await s.changed.wait(lock);
    co_await s.changed.wait(lock, reached);
    ++turns;
  };
  take_turns(1);
  take_turns(2);
  const auto before = coracle::testing::allocations();
  for (; s.value != 3; ++s.value) s.changed.notify_all();
  const auto after = coracle::testing::allocations();
  CHECK(after == before);
  CHECK(turns == 2);
}

TEST_CASE("async_mutex_lock: mutex() is the one it holds, and null after a move") {
  async_mutex mutex;
  REQUIRE(mutex.try_lock());
  coracle::async_mutex_lock first{mutex};
  CHECK(first.mutex() == &mutex);
  const coracle::async_mutex_lock second{std::move(first)};
  CHECK(first.mutex() == nullptr);
  CHECK(second.mutex() == &mutex);
}

// What the header promises to the compiler.
using coracle::async_mutex_lock;
using wait_awaiter = async_condition_variable::wait_operation;
using always = bool (*)() noexcept;
static_assert(sizeof(async_condition_variable) == 24);
static_assert(std::is_nothrow_default_constructible_v<async_condition_variable>);
static_assert(!std::is_copy_constructible_v<async_condition_variable> &&
              !std::is_move_constructible_v<async_condition_variable>);
static_assert(noexcept(std::declval<async_condition_variable&>().notify_one()) &&
              noexcept(std::declval<async_condition_variable&>().notify_all()) &&
              noexcept(std::declval<async_condition_variable&>().wait(std::declval<async_mutex_lock&>())) &&
              noexcept(std::declval<async_condition_variable&>().wait(std::declval<async_mutex_lock&>(),
                                                                      std::declval<always>())));
static_assert(noexcept(std::declval<wait_awaiter&>().await_ready()) &&
              noexcept(std::declval<wait_awaiter&>().await_suspend(std::noop_coroutine())) &&
              !noexcept(std::declval<wait_awaiter&>().await_resume()));
static_assert(std::is_void_v<coracle::await_result_t<wait_awaiter>>);
static_assert(std::is_void_v<coracle::await_result_t<decltype(std::declval<async_condition_variable&>().wait(
                  std::declval<async_mutex_lock&>(), std::declval<always>()))>>);
}  // namespace
