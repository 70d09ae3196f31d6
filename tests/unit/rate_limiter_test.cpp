// tests/unit/rate_limiter_test.cpp -- which coroutines get a permit, and exactly when.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <coracle/compose/select.hpp>
#include <coracle/compose/when_all.hpp>
#include <coracle/core/with_environment.hpp>
#include <coracle/testing/allocations.hpp>
#include <coracle/testing/virtual_time_loop.hpp>
#include <coracle/time/rate_limiter.hpp>
#include <coracle/time/timeout.hpp>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "../support/abort_message.hpp"
#include "../support/detached.hpp"
#include "../support/stoppable.hpp"

namespace {
using namespace std::chrono_literals;
using coracle::rate_limiter;
using coracle::task;
using coracle::testing::virtual_time_loop;

/// Which coroutine got a permit when, in nanoseconds of virtual time.
struct gate {
  virtual_time_loop& loop;
  rate_limiter& limiter;
  std::vector<std::pair<int, long long>> log{};

  task<> pass(int name, std::int64_t n = 1) {
    co_await limiter.acquire(n);
    log.emplace_back(name, (loop.now() - virtual_time_loop::start).count());
  }
  task<> pass_often(int times) {
    for (int i = 0; i != times; ++i) co_await pass(i);
  }
};
constexpr long long ms = 1'000'000;
using passes = std::vector<std::pair<int, long long>>;

TEST_CASE("rate_limiter: a burst goes through at once, then one at a time, evenly spread") {
  virtual_time_loop loop;
  rate_limiter limiter{10, 1s, 3};
  gate door{loop, limiter};
  loop.run(door.pass_often(6));
  CHECK(door.log == passes{{0, 0}, {1, 0}, {2, 0}, {3, 100 * ms}, {4, 200 * ms}, {5, 300 * ms}});
}

TEST_CASE("rate_limiter: what does not divide evenly is exact all the same, for ever") {
  virtual_time_loop loop;
  rate_limiter limiter{3, 1s, 1};
  gate door{loop, limiter};
  loop.run(door.pass_often(30'001));
  for (const int each : {1, 2, 3, 3'000, 29'999, 30'000}) {
    CHECK(door.log[static_cast<std::size_t>(each)].second == (each * 1'000'000'000LL + 2) / 3);
  }
}

TEST_CASE("rate_limiter: as many tokens as there are numbers are a burst in each nanosecond") {
  virtual_time_loop loop;
  rate_limiter limiter{std::numeric_limits<std::int64_t>::max(), 2ns, 3};
  gate door{loop, limiter};
  loop.run(door.pass_often(6));
  CHECK(door.log == passes{{0, 0}, {1, 0}, {2, 0}, {3, 1}, {4, 1}, {5, 1}});
}

TEST_CASE("rate_limiter: what nobody used is saved up to the burst") {
  virtual_time_loop loop;
  rate_limiter limiter{10, 1s, 2};
  gate door{loop, limiter};
  loop.run(door.pass_often(2));
  loop.advance(10s);
  loop.run(door.pass_often(3));
  CHECK(door.log[2].second == 10'000 * ms);
  CHECK(door.log[3].second == 10'000 * ms);
  CHECK(door.log[4].second == 10'100 * ms);
}

TEST_CASE("rate_limiter: first come, first served, also behind one who wants much") {
  virtual_time_loop loop;
  rate_limiter limiter{10, 1s, 5};
  gate door{loop, limiter};
  loop.run(coracle::when_all(door.pass(0, 5), door.pass(1, 4), door.pass(2), door.pass(3, 2)));
  CHECK(door.log == passes{{0, 0}, {1, 400 * ms}, {2, 500 * ms}, {3, 700 * ms}});
}

TEST_CASE("rate_limiter: try_acquire() takes what is there, and does not overtake") {
  virtual_time_loop loop;
  rate_limiter limiter{10, 1s, 2};
  gate door{loop, limiter};
  const auto visit = [&]() -> task<> {
    CHECK(limiter.try_acquire(2));
    CHECK_FALSE(limiter.try_acquire());
    co_await coracle::sleep_for(150ms);
    CHECK(limiter.try_acquire());
    CHECK_FALSE(limiter.try_acquire());
    coracle_test::run_detached(door.pass(1, 2));
    co_await coracle::sleep_for(60ms);
    CHECK_FALSE(limiter.try_acquire());  // one is there, but somebody waits for two
    co_await coracle::sleep_for(100ms);
    CHECK(door.log.size() == 1);
    CHECK(door.log[0].second == 300 * ms);
  };
  loop.run(visit());
}

TEST_CASE("rate_limiter: nothing at all goes through always") {
  virtual_time_loop loop;
  rate_limiter limiter{1, 1h, 1};
  gate door{loop, limiter};
  loop.run(door.pass(0, 1));
  loop.run(door.pass(1, 0));
  CHECK(door.log.back() == std::pair{1, 0LL});
}

TEST_CASE("rate_limiter: stop requested before: nothing is taken, though it is there") {
  virtual_time_loop loop;
  rate_limiter limiter{10, 1s, 1};
  coracle::stop_source source;
  source.request_stop(coracle::stop_reason::shutting_down);
  CHECK_THROWS_WITH_AS(loop.run(coracle::with_stop(limiter.acquire(), source.get_token())),
                       "operation cancelled: shutting down", coracle::operation_cancelled);
  CHECK(limiter.try_acquire());
}

TEST_CASE("rate_limiter: an acquire() that is refused leaves all tokens where they are") {
  rate_limiter limiter{1, 1h, 3};
  coracle::stop_source stop;
  std::vector<int> log;
  stop.request_stop();
  coracle_test::run_stoppable(stop.get_token(), limiter.acquire(2), log, 1);
  CHECK(log == std::vector{-1});
  CHECK(limiter.try_acquire(3));
}

TEST_CASE("rate_limiter: a waiter that is stopped gives its place to the next, who loses no time") {
  virtual_time_loop loop;
  rate_limiter limiter{10, 1s, 5};
  gate door{loop, limiter};
  coracle::stop_source sources[3];
  int cancelled = 0;
  const auto stoppable = [&](int name, std::int64_t n) -> task<> {
    try {
      co_await coracle::with_stop(door.pass(name, n), sources[name].get_token());
    } catch (const coracle::operation_cancelled&) {
      ++cancelled;
    }
  };
  const auto stop_later = [&]() -> task<> {
    co_await coracle::sleep_for(50ms);
    sources[0].request_stop();  // the first, whose timer runs
    co_await coracle::sleep_for(60ms);
    sources[2].request_stop();  // the last, in the queue
  };
  REQUIRE(loop.run([&]() -> task<bool> { co_return limiter.try_acquire(5); }()));
  loop.run(coracle::when_all(stoppable(0, 5), stoppable(1, 2), stoppable(2, 1), door.pass(3), stop_later()));
  CHECK(cancelled == 2);
  CHECK(door.log == passes{{1, 200 * ms}, {3, 300 * ms}});
}

TEST_CASE("rate_limiter: a timeout around the wait takes nothing") {
  virtual_time_loop loop;
  rate_limiter limiter{1, 1s, 1};
  gate door{loop, limiter};
  loop.run(door.pass(0));
  CHECK_THROWS_AS(loop.run(coracle::timeout(limiter.acquire(), 900ms)), coracle::timed_out);
  loop.run(door.pass(1));
  CHECK(door.log.back() == std::pair{1, 1000 * ms});
}

TEST_CASE("rate_limiter: a branch takes nothing where another one wins, and what it needs where it does") {
  virtual_time_loop loop;
  rate_limiter limiter{10, 1s, 1};
  gate door{loop, limiter};
  const auto race = [&](std::chrono::milliseconds limit) -> task<std::size_t> {
    const auto chosen = co_await coracle::select(limiter.acquire(), coracle::sleep_for(limit));
    co_return chosen.index();
  };
  CHECK(loop.run(race(100ms)) == 0);  // need not wait
  CHECK(loop.run(race(100ms)) == 1);  // both moments have come, but the timer is woken first
  loop.run(door.pass(0));
  CHECK(loop.run(race(99ms)) == 1);
  loop.run(door.pass(1));
  CHECK(loop.run(race(101ms)) == 0);
  loop.run(door.pass(2));
  CHECK(door.log == passes{{0, 100 * ms}, {1, 200 * ms}, {2, 400 * ms}});
}

TEST_CASE("rate_limiter: of two branches on one limiter one takes one token") {
  virtual_time_loop loop;
  rate_limiter limiter{10, 1s, 2};
  gate door{loop, limiter};
  loop.run(door.pass_often(2));
  loop.run(coracle::select(limiter.acquire(), limiter.acquire()));
  loop.run(door.pass(2));
  CHECK(door.log.back() == std::pair{2, 200 * ms});
}

TEST_CASE("rate_limiter: sets no timer while nobody waits") {
  virtual_time_loop loop;  // its destructor refuses timers that are set
  rate_limiter limiter{10, 1s, 2};
  gate door{loop, limiter};
  loop.run(door.pass_often(2));
  CHECK(loop.run_pending() == 0);
}

TEST_CASE("rate_limiter: one who need not wait gives way now and then") {
  virtual_time_loop loop;
  rate_limiter limiter{1'000'000, 1s, 1'000'000};
  bool other_ran = false;
  const auto busy = [&]() -> task<> {
    for (int i = 0; i != 1000; ++i) co_await limiter.acquire();
    CHECK(other_ran);
  };
  const auto other = [&]() -> task<> {
    other_ran = true;
    co_return;
  };
  coracle_test::run_detached_on(loop, other());
  loop.run(busy());
}

TEST_CASE("rate_limiter: without waiting it allocates nothing" *
          doctest::skip(!coracle::testing::allocations_are_counted)) {
  virtual_time_loop loop;
  rate_limiter limiter{10, 1s, 10};
  std::size_t allocated = 1;
  const auto work = [&]() -> task<> {
    const auto before = coracle::testing::allocations();
    for (int i = 0; i != 10; ++i) co_await limiter.acquire();
    allocated = coracle::testing::allocations() - before;
  };
  loop.run(work());
  CHECK(allocated == 0);
}

TEST_CASE("rate_limiter: where an allocation fails nothing is taken" *
          doctest::skip(!coracle::testing::allocations_are_counted)) {
  int failed = 0;
  const int failures = coracle::testing::fail_each_allocation([&] {
    virtual_time_loop loop;
    rate_limiter limiter{10, 1s, 1};
    const auto twice = [&]() -> task<> {
      co_await limiter.acquire();
      co_await limiter.acquire();
    };
    try {
      loop.run(twice());
    } catch (const std::bad_alloc&) {
      ++failed;
    }
  });
  CHECK(failures >= 2);
  CHECK(failed == failures);
}

TEST_CASE("rate_limiter: a branch whose allocation fails ends the race, and nothing is taken" *
          doctest::skip(!coracle::testing::allocations_are_counted)) {
  int failed = 0, ends = 0;
  const int failures = coracle::testing::fail_each_allocation([&] {
    virtual_time_loop loop;
    rate_limiter limiter{10, 1s, 1};
    const auto race = [&]() -> task<> {
      const bool others = limiter.try_acquire();
      try {
        co_await coracle::select(coracle::sleep_for(1h), limiter.acquire());
      } catch (const std::bad_alloc&) {
        ++failed;
      }
      CHECK(others);
      co_await coracle::sleep_for(coracle::testing::virtual_time_loop::start + 100ms - loop.now());
      ends += limiter.try_acquire();
    };
    try {
      loop.run(race());
    } catch (const std::bad_alloc&) {  // for its own frame
      ++failed;
      ++ends;
    }
  });
  CHECK(failures >= 3);
  CHECK(failed == failures);
  CHECK(ends == failures);
}

TEST_CASE("rate_limiter: wrong numbers and a waiter left behind end the program and say so") {
  CHECK(coracle_test::abort_message([] { rate_limiter limiter{0, 1s}; }) ==
        "coracle: a rate_limiter was constructed with tokens, a period or a burst of 0 or less: each must be "
        "positive\n");
  CHECK(coracle_test::abort_message([] { rate_limiter limiter{1, 24h * 365, 1000}; }) ==
        "coracle: the burst of a rate_limiter is too large: burst * period must be less than 2^62 "
        "nanoseconds\n");
  const std::string impossible =
      "coracle: acquire() of more tokens than the burst of a rate_limiter, or of a negative number: raise "
      "the burst or ask for fewer\n";
  CHECK(coracle_test::abort_message([] {
          rate_limiter limiter{1, 1s, 2};
          static_cast<void>(limiter.acquire(3));
        }) == impossible);
  CHECK(coracle_test::abort_message([] {
          rate_limiter limiter{1, 1s, 2};
          static_cast<void>(limiter.try_acquire(3));
        }) == impossible);
  CHECK(coracle_test::abort_message([] {
          rate_limiter limiter{1, 1s, 2};
          static_cast<void>(limiter.try_acquire(-1));  // would add a token
        }) == impossible);
  CHECK(coracle_test::abort_message([] {
          virtual_time_loop loop;
          auto limiter = std::make_unique<rate_limiter>(1, 1s, 1);
          const auto wait = [&]() -> task<> {
            co_await limiter->acquire();
            co_await limiter->acquire();
          };
          coracle_test::run_detached_on(loop, wait());
          loop.run_pending();
          limiter.reset();
        }) ==
        "coracle: a rate_limiter was destroyed while coroutines wait for it: stop and join them first\n");
}
}  // namespace
