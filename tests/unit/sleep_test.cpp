// tests/unit/sleep_test.cpp -- coroutines that sleep: on which clock, in which order, and how a sleep ends.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <chrono>
#include <coracle/compose/when_all.hpp>
#include <coracle/compose/when_any.hpp>
#include <coracle/core/sync_wait.hpp>
#include <coracle/core/with_environment.hpp>
#include <coracle/exec/run_loop.hpp>
#include <coracle/exec/static_thread_pool.hpp>
#include <coracle/sync/async_semaphore.hpp>
#include <coracle/testing/allocations.hpp>
#include <coracle/testing/virtual_time_loop.hpp>
#include <coracle/time/sleep.hpp>
#include <cstdint>
#include <ratio>
#include <thread>
#include <type_traits>
#include <vector>

#include "../support/abort_message.hpp"
#include "../support/detached.hpp"
#include "../support/test_coroutine.hpp"

namespace {
using namespace std::chrono_literals;
using coracle::sleep_for;
using coracle::sleep_until;
using coracle::stop_reason;
using coracle::stop_source;
using coracle::task;
using coracle::testing::virtual_time_loop;
using coracle_test::detached;
using steady = std::chrono::steady_clock;

/// The time that it took on the loop's clock.
template <class Awaitable>
steady::duration time_of(virtual_time_loop& loop, Awaitable work) {
  const auto before = loop.now();
  loop.run(std::move(work));
  return loop.now() - before;
}

TEST_CASE("sleep_for: takes its time, to the nanosecond, by the clock of the loop") {
  virtual_time_loop loop;
  CHECK(time_of(loop, sleep_for(1ns)) == 1ns);
  CHECK(time_of(loop, sleep_for(1ms)) == 1ms);
  CHECK(time_of(loop, sleep_for(24h)) == 24h);
  CHECK(time_of(loop, sleep_for(std::chrono::duration<double>(0.25))) == 250ms);
}

TEST_CASE("sleep_for: what is no multiple of the clock's unit is rounded up") {
  virtual_time_loop loop;
  CHECK(time_of(loop, sleep_for(std::chrono::duration<int, std::pico>(1))) == 1ns);
  CHECK(time_of(loop, sleep_for(std::chrono::duration<int, std::pico>(2000))) == 2ns);
  CHECK(time_of(loop, sleep_for(std::chrono::duration<std::int64_t, std::ratio<1, 3>>(1))) == 333333334ns);
  CHECK(time_of(loop, sleep_for(std::chrono::duration<double, std::nano>(1.5))) == 2ns);
}

TEST_CASE("sleep_for: the delay counts from the await, not from the call") {
  virtual_time_loop loop;
  const auto nap = sleep_for(10ms);
  loop.advance(1h);
  CHECK(time_of(loop, nap) == 10ms);
  CHECK(time_of(loop, nap) == 10ms);
}

TEST_CASE("sleep_until: goes on at its time") {
  virtual_time_loop loop;
  loop.run(sleep_until(virtual_time_loop::start + 5s));
  CHECK(loop.now() == virtual_time_loop::start + 5s);
}

TEST_CASE("sleep_for, sleep_until: no delay, or one that is past, is over without suspending") {
  virtual_time_loop loop;
  int ended = 0;
  const auto sleep = [&](auto its) -> detached {
    co_await loop.schedule();
    co_await its;
    ++ended;
  };
  sleep(sleep_for(0s));
  sleep(sleep_for(-1s));
  sleep(sleep_for(std::chrono::hours::min()));
  sleep(sleep_for(std::chrono::duration<double>(-1e300)));
  sleep(sleep_until(loop.now()));
  sleep(sleep_until(steady::time_point::min()));
  CHECK(loop.run_pending() == 6);
  CHECK(ended == 6);
}

TEST_CASE("sleep_for: one that is over at once gives way to the others, now and then") {
  virtual_time_loop loop;
  bool done = false;
  int turns = 0;
  const auto hog = [&]() -> detached {
    co_await loop.schedule();
    while (!done) {
      co_await sleep_for(0s);
      ++turns;
      if (turns > 100'000) break;
    }
  };
  const auto other = [&]() -> detached {
    co_await loop.schedule();
    done = true;
  };
  hog();
  other();
  loop.run_pending();
  CHECK(turns < 1000);
}

TEST_CASE("sleep_for, sleep_until: what is too long for the clock ends only by a stop request") {
  virtual_time_loop loop;
  stop_source source;
  int cancelled = 0;
  const auto sleep = [&](auto its) -> task<> {
    co_await loop.schedule();
    try {
      co_await its;
    } catch (const coracle::operation_cancelled&) {
      ++cancelled;
    }
  };
  const auto start = [&](auto its) {
    coracle_test::run_detached(coracle::with_stop(sleep(its), source.get_token()));
  };
  start(sleep_for(std::chrono::hours::max()));
  start(sleep_for(steady::duration::max()));
  start(sleep_for(std::chrono::duration<double>(1e300)));
  start(sleep_for(std::chrono::duration<float, std::ratio<31557600>>(1e30f)));
  start(sleep_for(std::chrono::duration<std::uint64_t, std::nano>(~std::uint64_t{0})));
  start(sleep_for(std::chrono::duration<std::int64_t, std::ratio<1, 3>>::max()));
  start(sleep_until(steady::time_point::max()));
  loop.advance(24h * 365 * 250);
  CHECK(cancelled == 0);
  source.request_stop();
  loop.run_pending();
  CHECK(cancelled == 7);
}

TEST_CASE("sleep_until: sleepers wake by their time, equal ones in the order in which they came") {
  virtual_time_loop loop;
  std::vector<int> log;
  const auto sleep = [&](int name, steady::duration delay) -> task<> {
    co_await sleep_until(virtual_time_loop::start + delay);
    log.push_back(name);
  };
  std::vector<task<>> all;
  int name = 0;
  for (const auto delay : {30ms, 10ms, 20ms, 10ms, 30ms, 10ms}) all.push_back(sleep(name++, delay));
  loop.run(coracle::when_all(std::move(all)));
  CHECK(log == std::vector{1, 3, 5, 2, 0, 4});
}

// ---- cancellation ---------------------------------------------------------------------------------------

struct ending {
  char how = 0;  // f: it was over; c: cancelled
  stop_reason why = stop_reason::none;
  steady::time_point when;
  const coracle::executor* where = nullptr;
};
task<> sleep_and_note(steady::duration delay, ending& end) {
  try {
    co_await sleep_for(delay);
    end.how = 'f';
  } catch (const coracle::operation_cancelled& e) {
    end.how = 'c';
    end.why = e.reason();
  }
  end.when = coracle::steady_now();
  end.where = coracle::current_executor();
}

TEST_CASE("sleep_for: stop requested before: cancelled at once, also if there is nothing to wait for") {
  virtual_time_loop loop;
  stop_source source;
  source.request_stop(stop_reason::shutting_down);
  for (const auto delay : {0s, 10s}) {
    ending end;
    CHECK(time_of(loop, coracle::with_stop(sleep_and_note(delay, end), source.get_token())) == 0s);
    CHECK(end.how == 'c');
    CHECK(end.why == stop_reason::shutting_down);
  }
}

TEST_CASE("sleep_for: stop requested during it: cancelled then, on its executor, not inside request_stop()") {
  virtual_time_loop loop;
  stop_source source;
  ending end;
  const auto stop_later = [&]() -> task<> {
    co_await sleep_for(3s);
    source.request_stop(stop_reason::sibling_failed);
    CHECK(end.how == 0);
  };
  const auto took = time_of(
      loop,
      coracle::when_all(coracle::with_stop(sleep_and_note(10s, end), source.get_token()), stop_later()));
  CHECK(took == 3s);
  CHECK(end.how == 'c');
  CHECK(end.why == stop_reason::sibling_failed);
  CHECK(end.when == virtual_time_loop::start + 3s);
  CHECK(end.where == &loop);
}

TEST_CASE("sleep_for: stop requested after its time has come has no effect") {
  virtual_time_loop loop;
  stop_source source;
  ending first, second;
  // The first one to wake stops the second one, whose deadline has also passed.
  const auto stop_after = [&]() -> task<> {
    co_await sleep_and_note(1s, first);
    source.request_stop();
  };
  loop.run(
      coracle::when_all(stop_after(), coracle::with_stop(sleep_and_note(1s, second), source.get_token())));
  CHECK(second.how == 'f');
}

TEST_CASE("sleep_for: a coroutine that is destroyed in it is forgotten") {
  virtual_time_loop loop;
  const auto sleep = [&]() -> coracle_test::test_coroutine {
    co_await loop.schedule();
    co_await sleep_for(1s);
  };
  auto sleeping = sleep();
  sleeping.resume();
  loop.run_pending();
  sleeping.destroy();
  loop.advance(2s);
}

TEST_CASE("sleep_for: a coroutine that is destroyed in it does not hear of a later stop request") {
  virtual_time_loop loop;
  stop_source source;
  const auto sleep = [&]() -> coracle_test::test_coroutine {
    co_await loop.schedule();
    co_await coracle::with_stop(sleep_for(1s), source.get_token());
  };
  {
    auto sleeping = sleep();
    sleeping.resume();
    loop.run_pending();
  }
  source.request_stop();
  loop.advance(2s);
}

TEST_CASE("sleep_for: of a when_any: once it has won, another branch takes nothing any more") {
  for (const bool sleep_is_set_first : {true, false}) {
    virtual_time_loop loop;
    coracle::async_semaphore permits{0};
    std::size_t winner = 9;
    const auto race = [&]() -> task<> {
      const auto first = co_await coracle::when_any(sleep_for(1s), permits.acquire());
      winner = first.index();
    };
    // If its timer is the second one with the same deadline, race() has already won but not resumed yet.
    const auto release = [&]() -> task<> {
      co_await sleep_for(1s);
      permits.release();
    };
    if (sleep_is_set_first) {
      loop.run(coracle::when_all(race(), release()));
    } else {
      loop.run(coracle::when_all(release(), race()));
    }
    CHECK(winner == 0);
    CHECK(permits.try_acquire());
  }
}

// ---- where it resumes -----------------------------------------------------------------------------------

TEST_CASE("sleep_for: on an executor without timers of its own, by the program's; resumes on that executor") {
  coracle::run_loop loop;
  ending end;
  const auto sleep = [&]() -> detached {
    co_await loop.schedule();
    co_await sleep_and_note(1us, end);
    loop.stop();
  };
  sleep();
  const auto before = steady::now();
  loop.run();
  CHECK(end.how == 'f');
  CHECK(end.where == &loop);
  CHECK(end.when >= before + 1us);
}

TEST_CASE("sleep_for: on a thread pool it resumes on that pool") {
  coracle::static_thread_pool pool{2};
  ending end;
  const auto sleep = [&]() -> task<> {
    co_await pool.schedule();
    co_await sleep_and_note(1us, end);
  };
  coracle::sync_wait(sleep());
  CHECK(end.how == 'f');
  CHECK(end.where == &pool);
}

TEST_CASE("sleep_for: outside any executor it resumes on the thread of the program's timers") {
  std::thread::id where;
  ending end;
  const auto sleep = [&](steady::duration delay) -> task<> {
    co_await sleep_and_note(delay, end);
    where = std::this_thread::get_id();
  };
  // A sleep whose deadline passes before it suspends, as on a busy machine, does not suspend.
  auto delay = steady::duration{1ms};
  do {
    REQUIRE(delay < 1min);
    coracle::sync_wait(sleep(delay *= 2));
  } while (where == std::this_thread::get_id());
  CHECK(end.how == 'f');
  CHECK(end.where == nullptr);
}

TEST_CASE("sleep_for: a stop request ends a long one by the program's timers") {
  coracle::static_thread_pool pool{1};
  stop_source source;
  ending end;
  const auto sleep = [&]() -> task<> {
    co_await pool.schedule();
    co_await sleep_and_note(24h, end);
  };
  const auto stop = [&]() -> task<> {
    co_await pool.schedule();
    source.request_stop();
  };
  coracle::sync_wait(coracle::when_all(coracle::with_stop(sleep(), source.get_token()), stop()));
  CHECK(end.how == 'c');
  CHECK(end.where == &pool);
}

TEST_CASE("sleep_for: a later sleep that ends earlier wakes the thread of the program's timers") {
  coracle::static_thread_pool pool{1};
  stop_source source;
  ending long_one, short_one;
  const auto sleep = [&](steady::duration delay, ending& end) -> task<> {
    co_await pool.schedule();
    co_await sleep_and_note(delay, end);
  };
  const auto sleep_and_stop = [&]() -> task<> {
    co_await sleep(2ms, short_one);
    source.request_stop();
  };
  coracle::sync_wait(
      coracle::when_all(coracle::with_stop(sleep(1h, long_one), source.get_token()), sleep_and_stop()));
  CHECK(short_one.how == 'f');
  CHECK(long_one.how == 'c');
}

TEST_CASE("sleep_for: a delay that is not a number ends the program and says so") {
  CHECK(coracle_test::abort_message([] {
          const volatile double none = 0;
          static_cast<void>(sleep_for(std::chrono::duration<double>(none / none)));
        }) == "coracle: a delay that is not a number (NaN) was given\n");
}

// ---- memory ---------------------------------------------------------------------------------------------

TEST_CASE("sleep_for: sleeping and being stopped allocate nothing" *
          doctest::skip(!coracle::testing::allocations_are_counted)) {
  virtual_time_loop loop;
  std::size_t before = 0, after = 0;
  const auto work = [&]() -> task<> {
    co_await sleep_for(1ms);
    before = coracle::testing::allocations();
    for (int i = 0; i != 100; ++i) {
      co_await sleep_for(1ms);
      co_await sleep_until(coracle::steady_now() + 1ms);
    }
    after = coracle::testing::allocations();
  };
  loop.run(work());
  CHECK(after == before);
}

// The static guarantees of the header.
using sleep_type = decltype(sleep_for(1s));
static_assert(coracle::awaitable_of<sleep_type, void> && coracle::awaitable_of<sleep_type&, void>);
static_assert(std::is_trivially_copyable_v<sleep_type> && sizeof(sleep_type) == 8);
static_assert(noexcept(sleep_for(std::declval<std::chrono::seconds>())) &&
              noexcept(sleep_until(std::declval<const steady::time_point&>())));
static_assert(sizeof(coracle::detail::sleep_operation) == 13 * sizeof(void*) &&
              alignof(coracle::detail::sleep_operation) <= 16);
}  // namespace
