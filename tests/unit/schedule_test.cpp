// tests/unit/schedule_test.cpp -- moving to an executor, yielding on it, and stop requests during either.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <coracle/compose/via.hpp>
#include <coracle/compose/when_all.hpp>
#include <coracle/compose/when_any.hpp>
#include <coracle/core/operation_cancelled.hpp>
#include <coracle/core/schedule.hpp>
#include <coracle/core/sync_wait.hpp>
#include <coracle/core/task.hpp>
#include <coracle/core/yield.hpp>
#include <coracle/exec/inline_scheduler.hpp>
#include <coracle/exec/round_robin_scheduler.hpp>
#include <coracle/exec/run_loop.hpp>
#include <coracle/exec/static_thread_pool.hpp>
#include <coracle/generators/async_generator.hpp>
#include <coracle/sync/async_manual_reset_event.hpp>
#include <coracle/testing/allocations.hpp>
#include <functional>
#include <stdexcept>
#include <thread>
#include <vector>

#include "../support/detached.hpp"
#include "../support/many.hpp"
#include "../support/run_on_stack.hpp"
#include "watched_ending.hpp"

namespace {
using coracle::current_executor;
using coracle::executor;
using coracle::run_loop;
using coracle::scheduler_ref;
using coracle::stop_reason;
using coracle::stop_source;
using coracle::task;
using coracle_test::detached;
using coracle_test::go_to;
using coracle_test::run_all;
using coracle_test::watch;
using coracle_test::watched_ending;

TEST_CASE("schedule(): stop requested before: it does not move, and ends as cancelled") {
  run_loop loop;
  stop_source source;
  source.request_stop(stop_reason::timed_out);
  watched_ending seen;
  watch(nullptr, source, go_to(loop), seen);
  CHECK(seen.over);
  CHECK(seen.cancelled == stop_reason::timed_out);
  CHECK(seen.where == nullptr);
  CHECK_FALSE(loop.run_one());
}

TEST_CASE("schedule(): stop requested before, on an executor: it takes a turn there, and ends as cancelled") {
  run_loop home, away;
  stop_source source;
  source.request_stop();
  watched_ending seen;
  watch(&home, source, go_to(away), seen);
  CHECK(home.run_one());
  CHECK_FALSE(seen.over);
  CHECK(home.run_one());
  CHECK(seen.cancelled);
  CHECK(seen.where == &home);
  CHECK_FALSE(away.run_one());
}

TEST_CASE("schedule(): stop requested before, a hundred thousand times in a row, on a small stack") {
  run_loop loop;
  stop_source source;
  source.request_stop();
  constexpr int times = coracle_test::many(100'000);
  int cancelled = 0;
  const auto try_often = [&]() -> task<> {
    for (int i = 0; i != times; ++i) {
      try {
        co_await loop.schedule();
      } catch (const coracle::operation_cancelled&) {
        ++cancelled;
      }
    }
  };
  watched_ending seen;
  CHECK(coracle_test::run_on_stack(256 * 1024, [&] { watch(nullptr, source, try_often(), seen); }));
  CHECK(seen.over);
  CHECK(cancelled == times);
}

TEST_CASE("schedule(): stop requested on the way: it takes its turn, and is cancelled where it arrives") {
  run_loop loop;
  stop_source source;
  std::vector<int> order;
  const auto other = [&]() -> detached {
    co_await loop.schedule();
    order.push_back(1);
  };
  other();
  watched_ending seen;
  watch(nullptr, source, go_to(loop), seen);
  source.request_stop(stop_reason::shutting_down);
  CHECK_FALSE(seen.over);
  CHECK(loop.run_one());
  CHECK_FALSE(seen.over);
  CHECK(loop.run_one());
  CHECK(order.size() == 1);
  CHECK(seen.cancelled == stop_reason::shutting_down);
  CHECK(seen.where == &loop);
}

TEST_CASE("schedule(): stop requested after: no effect") {
  run_loop loop;
  stop_source source;
  watched_ending seen;
  watch(nullptr, source, go_to(loop), seen);
  CHECK(loop.run_one());
  source.request_stop();
  CHECK(seen.over);
  CHECK_FALSE(seen.cancelled);
  CHECK(seen.where == &loop);
}

TEST_CASE("schedule(): a race that is over nearby does not stop it") {
  run_loop loop;
  stop_source source;
  const coracle::async_manual_reset_event not_set, set{true};
  std::vector<const executor*> seen;
  const auto wait = [&]() -> task<> { co_await not_set; };
  const auto hops = [&]() -> task<> {
    co_await coracle::when_any(wait(), set);
    co_await loop.schedule();
    seen.push_back(current_executor());
    co_await coracle::this_task::yield();
    seen.push_back(current_executor());
    co_await scheduler_ref(nullptr).schedule();
  };
  const auto below = [&]() -> task<> { co_await coracle::when_all(hops()); };
  watched_ending end;
  watch(nullptr, source, below(), end);
  CHECK_FALSE(end.over);
  run_all(loop);
  CHECK(end.over);
  CHECK_FALSE(end.cancelled);
  CHECK(seen == std::vector<const executor*>{&loop, &loop});
}
TEST_CASE("schedule(): an operation that has a name may be awaited again") {
  run_loop loop;
  stop_source source;
  int hops = 0;
  const auto twice = [&](auto& hop) -> task<> {
    for (int i = 0; i != 2; ++i) {
      co_await hop;
      ++hops;
    }
  };
  auto hop = loop.schedule();
  watched_ending end;
  watch(nullptr, source, twice(hop), end);
  run_all(loop);
  CHECK(hops == 2);
  CHECK_FALSE(end.cancelled);
}
TEST_CASE("schedule(): out of reach of the token where it is shielded") {
  run_loop loop;
  stop_source source;
  source.request_stop();
  const auto shielded = [&]() -> task<> { co_await coracle::shielded(loop.schedule()); };
  watched_ending seen;
  watch(nullptr, source, shielded(), seen);
  CHECK_FALSE(seen.over);
  CHECK(loop.run_one());
  CHECK_FALSE(seen.cancelled);
}

TEST_CASE("schedule(): allocates nothing" * doctest::skip(!coracle::testing::allocations_are_counted)) {
  run_loop loop;
  std::size_t during = 1;
  const auto move = [&]() -> task<> {
    const std::size_t before = coracle::testing::allocations();
    co_await loop.schedule();
    co_await coracle::this_task::yield();
    co_await coracle::current_scheduler().schedule();
    during = coracle::testing::allocations() - before;
  };
  coracle_test::run_detached(move());
  run_all(loop);
  CHECK(during == 0);
}

TEST_CASE("schedule() of a pool: stop requested before or on the way cancels, and it arrives there first") {
  coracle::static_thread_pool pool{1};
  stop_source source;
  coracle::async_manual_reset_event gate;
  const auto travel = [&](bool& arrived) -> task<> {
    try {
      co_await pool.schedule();
    } catch (const coracle::operation_cancelled&) {
      arrived = current_executor() == &pool;
      throw;
    }
  };
  // The only thread is blocked until stop has been requested, so the second coroutine is still queued then.
  const auto hold = [&]() -> task<> {
    co_await pool.schedule();
    while (!source.stop_requested()) std::this_thread::yield();
  };
  watched_ending seen, late;
  bool arrived = false, moved = false;
  coracle_test::run_detached(hold());
  watch(nullptr, source, travel(arrived), seen);
  source.request_stop();
  watch(nullptr, source, travel(moved), late);
  coracle::sync_wait(go_to(pool));
  CHECK(seen.cancelled);
  CHECK(arrived);
  CHECK(late.cancelled);
  CHECK_FALSE(moved);
  CHECK(late.where == nullptr);
}

TEST_CASE(
    "schedule() of a round_robin_scheduler: before, it does not suspend; on the way, it takes its turn") {
  coracle::round_robin_scheduler<2> ring;
  stop_source source;
  watched_ending during, before;
  watch(nullptr, source, go_to(ring), during);
  CHECK_FALSE(during.over);
  source.request_stop();
  watch(nullptr, source, go_to(ring), before);
  CHECK(before.cancelled);
  CHECK_FALSE(during.over);
  ring.drain();
  CHECK(during.cancelled);
}

TEST_CASE("scheduler_ref: schedule() posts to its executor, and does not suspend where the caller is there") {
  run_loop loop;
  std::vector<const executor*> seen;
  const auto work = [&]() -> detached {
    const scheduler_ref there{&loop};
    co_await there.schedule();
    seen.push_back(current_executor());
    co_await there.schedule();
    seen.push_back(current_executor());
  };
  work();
  CHECK(seen.empty());
  CHECK(loop.run_one());
  CHECK(seen == std::vector<const executor*>{&loop, &loop});
  CHECK_FALSE(loop.run_one());
}

TEST_CASE("scheduler_ref: decides when it is awaited, not when schedule() is called") {
  run_loop loop;
  bool there = false;
  run_loop other;
  const auto work = [&]() -> detached {
    co_await loop.schedule();
    auto back = coracle::current_scheduler().schedule();
    co_await other.schedule();
    co_await back;
    there = current_executor() == &loop;
  };
  work();
  CHECK(loop.run_one());
  CHECK(other.run_one());
  CHECK_FALSE(there);
  CHECK(loop.run_one());
  CHECK(there);
}

TEST_CASE("scheduler_ref: of no executor it goes nowhere; current_scheduler() refers to the caller's") {
  run_loop loop;
  watched_ending seen;
  stop_source source;
  scheduler_ref nowhere{nullptr};
  watch(nullptr, source, go_to(nowhere), seen);
  CHECK(seen.over);
  CHECK_FALSE(seen.cancelled);
  CHECK(coracle::current_scheduler() == nowhere);
  const coracle::detail::executor_scope here{&loop};
  CHECK(coracle::current_scheduler() == scheduler_ref{&loop});
  CHECK(coracle::current_scheduler() != nowhere);
  CHECK(coracle::current_scheduler().place() == &loop);
}

TEST_CASE("scheduler_ref, inline_scheduler: stop requested before cancels, though they need not move") {
  run_loop loop;
  stop_source source;
  source.request_stop();
  watched_ending of_ref, of_inline;
  scheduler_ref here{&loop};
  coracle::inline_scheduler stay;
  watch(&loop, source, go_to(here), of_ref);
  watch(&loop, source, go_to(stay), of_inline);
  run_all(loop);
  CHECK(of_ref.cancelled);
  CHECK(of_inline.cancelled);
}

task<int> answer_and_stop(stop_source& source) {
  source.request_stop();
  co_return 42;
}
task<> fail_and_stop(stop_source& source) {
  source.request_stop();
  throw std::runtime_error("the child's own end");
  co_return;
}

TEST_CASE("via, resume_on: a result that is there is delivered, also if stop is requested on the way back") {
  run_loop home, abroad;
  stop_source source;
  int got = 0;
  std::function<task<>()> journey;
  const executor* goes_on = nullptr;
  SUBCASE("via") {
    journey = [&]() -> task<> {
      got = co_await coracle::via(answer_and_stop(source), abroad);
      goes_on = current_executor();
    };
  }
  SUBCASE("resume_on") {
    journey = [&]() -> task<> {
      co_await coracle::current_scheduler().schedule();
      got = co_await coracle::resume_on(answer_and_stop(source), abroad);
      goes_on = current_executor();
      co_await coracle::shielded(home.schedule());
    };
  }
  watched_ending seen;
  watch(&home, source, journey(), seen);
  for (int i = 0; i != 3; ++i) {
    run_all(home);
    run_all(abroad);
  }
  CHECK(got == 42);
  CHECK_FALSE(seen.cancelled);
  CHECK((goes_on == &home || goes_on == &abroad));
  CHECK(seen.where == &home);
}

TEST_CASE("via, resume_on: so is an exception") {
  run_loop home, abroad;
  stop_source source;
  task<> journey;
  bool comes_home = false;
  SUBCASE("via") {
    journey = coracle::via(fail_and_stop(source), abroad);
    comes_home = true;
  }
  SUBCASE("resume_on") { journey = coracle::resume_on(fail_and_stop(source), abroad); }
  watched_ending seen;
  watch(&home, source, std::move(journey), seen);
  for (int i = 0; i != 3; ++i) {
    run_all(home);
    run_all(abroad);
  }
  CHECK(seen.failed);
  CHECK_FALSE(seen.cancelled);
  CHECK(seen.where == (comes_home ? &home : &abroad));
}

TEST_CASE(
    "schedule_on, via: a stop request on the way there cancels; the child is not started; via comes home") {
  run_loop home, abroad;
  stop_source source;
  bool started = false;
  const auto child = [&]() -> task<> {
    started = true;
    co_return;
  };
  task<> journey;
  bool comes_home = false;
  SUBCASE("schedule_on") { journey = coracle::schedule_on(child(), abroad); }
  SUBCASE("via") {
    journey = coracle::via(child(), abroad);
    comes_home = true;
  }
  watched_ending seen;
  watch(&home, source, std::move(journey), seen);
  run_all(home);
  source.request_stop(stop_reason::lost_race);
  CHECK_FALSE(seen.over);
  run_all(abroad);
  run_all(home);
  CHECK_FALSE(started);
  CHECK(seen.cancelled == stop_reason::lost_race);
  CHECK(seen.where == (comes_home ? &home : &abroad));
}

TEST_CASE("via: the child goes on under the inherited token; only the way back is out of its reach") {
  run_loop home, abroad;
  stop_source source;
  coracle::async_manual_reset_event never;
  const auto child = [&]() -> task<> { co_await never; };
  watched_ending seen;
  watch(&home, source, coracle::via(child(), abroad), seen);
  run_all(home);
  run_all(abroad);
  source.request_stop();
  run_all(abroad);
  run_all(home);
  CHECK(seen.cancelled);
  CHECK(seen.where == &home);
}

coracle::async_generator<int> numbers(stop_source& source) {
  co_yield 1;
  source.request_stop();
  co_yield 2;
}
TEST_CASE("resume_on a generator: an element that is there is delivered in spite of a stop request") {
  run_loop abroad;
  stop_source source;
  std::vector<int> got;
  const auto consume = [&]() -> task<> {
    auto source_here = coracle::resume_on(numbers(source), abroad);
    while (auto* each = co_await source_here.next()) got.push_back(*each);
  };
  watched_ending seen;
  watch(nullptr, source, consume(), seen);
  run_all(abroad);
  CHECK(got == std::vector{1, 2});
  CHECK(seen.over);
}
coracle::async_generator<int> endless(int& made) {
  for (;;) co_yield ++made;
}
TEST_CASE("schedule_on a generator: stop requested on the way to the next element ends it; none is made") {
  run_loop abroad;
  stop_source source;
  int made = 0;
  const auto consume = [&]() -> task<> {
    auto there = coracle::schedule_on(endless(made), abroad);
    while (auto* each = co_await there.next()) {
      if (*each == 3) source.request_stop();
    }
  };
  watched_ending seen;
  watch(nullptr, source, consume(), seen);
  run_all(abroad);
  CHECK(made == 3);
  CHECK(seen.cancelled);
}
}  // namespace
