// tests/unit/give_way_test.cpp -- loops whose awaits are all ready let other coroutines run.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <coracle/compose/as_completed.hpp>
#include <coracle/compose/async_scope.hpp>
#include <coracle/compose/for_each_concurrent.hpp>
#include <coracle/compose/select.hpp>
#include <coracle/compose/single_flight.hpp>
#include <coracle/compose/via.hpp>
#include <coracle/compose/when_all.hpp>
#include <coracle/compose/when_any.hpp>
#include <coracle/compose/with_scope.hpp>
#include <coracle/core/shared_task.hpp>
#include <coracle/core/sync_wait.hpp>
#include <coracle/core/task.hpp>
#include <coracle/core/with_environment.hpp>
#include <coracle/exec/run_loop.hpp>
#include <coracle/exec/static_thread_pool.hpp>
#include <coracle/generators/async_generator.hpp>
#include <coracle/streams/ends.hpp>
#include <coracle/streams/merge.hpp>
#include <coracle/streams/stages.hpp>
#include <coracle/streams/stream.hpp>
#include <coracle/sync/async_manual_reset_event.hpp>
#include <coracle/testing/manual_scheduler.hpp>
#include <coracle/testing/virtual_clock.hpp>
#include <coracle/time/hedge.hpp>
#include <coracle/time/retry.hpp>
#include <coracle/time/sleep.hpp>
#include <coracle/time/timeout.hpp>
#include <cstdint>
#include <vector>

#include "../support/detached.hpp"

namespace {
using coracle::async_scope;
using coracle::task;
using coracle::testing::manual_scheduler;
using coracle::testing::virtual_clock;
using coracle_test::detached;
using namespace std::chrono_literals;

constexpr int too_many = 10'000;

task<> nop() { co_return; }
task<int> one() { co_return 1; }

/// Returns how many rounds of a loop run in a row while a posted coroutine, and one whose timer has fired,
/// wait: the greater of both numbers, or `too_many` if that is reached.
template <class Round>
int rounds_beside_others(Round round) {
  virtual_clock clock;
  manual_scheduler place{clock};
  int rounds = 0, before_post = too_many, before_timer = too_many;
  const auto spin = [&]() -> detached {
    co_await place.schedule();
    while (before_timer == too_many && rounds < too_many) {
      co_await round();
      ++rounds;
    }
  };
  const auto posted = [&]() -> detached {
    co_await place.schedule();
    before_post = rounds;
    rounds = 0;
  };
  const auto sleeps = [&]() -> detached {
    co_await place.schedule();
    co_await coracle::sleep_for(1ms);
    before_timer = rounds;
  };
  sleeps();
  place.run(0);
  spin();
  posted();
  place.run(0);
  clock.advance(1ms);
  place.run_all();
  return before_post < before_timer ? before_timer : before_post;
}

TEST_CASE("giving way: combinators whose children are ready") {
  const auto any = [] { return coracle::when_any(nop(), nop()); };
  CHECK(rounds_beside_others(any) <= 128);
  const auto any_succeeds = [] { return coracle::when_any_succeeds(nop(), nop()); };
  CHECK(rounds_beside_others(any_succeeds) <= 128);
  const auto all = [] { return coracle::when_all(nop(), nop()); };
  CHECK(rounds_beside_others(all) <= 128);
  const auto all_ready = [] { return coracle::when_all_ready(nop(), nop()); };
  CHECK(rounds_beside_others(all_ready) <= 128);
  const auto none = [] { return coracle::when_all(std::vector<task<>>{}); };
  CHECK(rounds_beside_others(none) <= 128);
}
TEST_CASE("giving way: combinators that are coroutines") {
  const auto timeout = [] { return coracle::timeout(nop(), 1s); };
  CHECK(rounds_beside_others(timeout) <= 128);
  const auto deadline = [] { return coracle::stop_after(nop(), 1s); };
  CHECK(rounds_beside_others(deadline) <= 128);
  const auto shielded = [] { return coracle::shielded(nop()); };
  CHECK(rounds_beside_others(shielded) <= 128);
  coracle::stop_source source;
  const auto with_stop = [&] { return coracle::with_stop(nop(), source.get_token()); };
  CHECK(rounds_beside_others(with_stop) <= 128);
  const auto stop_when = [&] { return coracle::stop_when(nop(), source.get_token()); };
  CHECK(rounds_beside_others(stop_when) <= 128);
  const coracle::task_local<int> number{0};
  const auto with_value = [&] { return coracle::with_value(nop(), number, 1); };
  CHECK(rounds_beside_others(with_value) <= 128);
  const auto retry = [] { return coracle::retry(coracle::retry_policy{}, [] { return nop(); }); };
  CHECK(rounds_beside_others(retry) <= 128);
  const auto hedge = [] { return coracle::hedge(1s, [] { return one(); }); };
  CHECK(rounds_beside_others(hedge) <= 128);
  const auto resume_on = [] { return coracle::resume_on(nop(), coracle::current_scheduler()); };
  CHECK(rounds_beside_others(resume_on) <= 64);
  const auto schedule_on = [] { return coracle::schedule_on(nop(), coracle::current_scheduler()); };
  CHECK(rounds_beside_others(schedule_on) <= 128);
}
TEST_CASE("giving way: children of scopes and ranges") {
  const auto scope = []() -> task<> {
    async_scope children;
    children.spawn(nop());
    co_await children.join();
  };
  CHECK(rounds_beside_others(scope) <= 128);
  const auto with_scope = [] {
    return coracle::with_scope([](async_scope& children) -> task<> {
      children.spawn(nop());
      co_return;
    });
  };
  CHECK(rounds_beside_others(with_scope) <= 128);
  std::vector<int> elements{1, 2};
  const auto for_each = [&] { return coracle::for_each_concurrent(elements, 1, [](int) { return nop(); }); };
  CHECK(rounds_beside_others(for_each) <= 64);
  elements.clear();
  CHECK(rounds_beside_others(for_each) <= 128);
  const auto none = [] { return coracle::as_completed(std::vector<task<int>>{}, [](int) {}); };
  CHECK(rounds_beside_others(none) <= 128);
}
TEST_CASE("giving way: sequences, and results that are there") {
  const auto endless = []() -> coracle::async_generator<int> {
    for (int i = 0;; ++i) co_yield i;
  };
  auto elements = endless();
  CHECK(rounds_beside_others([&] { return elements.next(); }) <= 128);
  const auto make = []() -> coracle::shared_task<int> { co_return 1; };
  const auto shared = make();
  CHECK(rounds_beside_others([&] { return shared.when_ready(); }) <= 129);
  coracle::single_flight<int, int> flights;
  const auto flight = [&] { return flights.run(1, [] { return one(); }); };
  CHECK(rounds_beside_others(flight) <= 128);
  namespace streams = coracle::streams;
  const auto stream = [&] { return endless() | streams::take(2) | streams::collect(); };
  CHECK(rounds_beside_others(stream) <= 128);
  const auto nothing = [&] { return endless() | streams::take(0) | streams::collect(); };
  CHECK(rounds_beside_others(nothing) <= 128);
  const auto zipped = [&] {
    return streams::zip(endless() | streams::take(0), endless()) | streams::for_each([](auto&&) {});
  };
  CHECK(rounds_beside_others(zipped) <= 128);
}
std::uint64_t ticks = 0;
std::uint64_t told_clock() noexcept { return ticks; }

TEST_CASE("giving way: awaits that last long are fewer in a row, and short ones are more again") {
  using budget = coracle::detail::ready_budget;
  const coracle::detail::timed_budget by_time{coracle::detail::this_thread().budget, &told_clock};
  coracle::async_manual_reset_event set{true};
  manual_scheduler place;
  int rounds = 0;
  std::uint64_t each_takes = 0;
  bool over = false;
  const auto spin = [&]() -> detached {
    co_await place.schedule();
    while (!over) {
      co_await set;
      ++rounds;
      ticks += each_takes;
    }
  };
  const auto rounds_of_turn = [&] {
    rounds = 0;
    place.run(0);
    return rounds;
  };
  spin();
  rounds_of_turn();
  rounds_of_turn();
  CHECK(rounds_of_turn() == 128);
  each_takes = budget::slice / 4;
  CHECK(rounds_of_turn() == 128);
  CHECK(rounds_of_turn() == 4);
  CHECK(rounds_of_turn() == 4);
  each_takes = 100 * budget::slice;
  rounds_of_turn();
  CHECK(rounds_of_turn() == 1);
  CHECK(rounds_of_turn() == 1);
  each_takes = 1;
  rounds_of_turn();
  for (int most = 2; most <= 128; most *= 2) CHECK(rounds_of_turn() == most);
  CHECK(rounds_of_turn() == 128);
  over = true;
  place.run_all();
}
TEST_CASE("giving way: a select() that has waited has let the others run") {
  manual_scheduler place;
  coracle::async_manual_reset_event never, later, set{true};
  int awaits = 0;
  bool other_ran = false;
  const auto other = [&]() -> detached {
    co_await place.schedule();
    other_ran = true;
  };
  const auto spin = [&]() -> detached {
    co_await place.schedule();
    coracle::detail::this_thread().budget.set_left(10);
    co_await coracle::select(never, later);
    other();
    for (; !other_ran && awaits != too_many; ++awaits) co_await set;
  };
  spin();
  place.run(0);
  later.set();
  place.run_all();
  CHECK(awaits > 100);
  CHECK(awaits <= 128);
}

TEST_CASE(
    "giving way: a when_all that a pool divides among its threads does not keep a pool of one from anybody") {
  coracle::static_thread_pool pool{1};
  bool other_ran = false;
  int rounds = 0;
  const auto spin = [&]() -> task<> {
    co_await pool.schedule();
    const auto other = [&]() -> detached {
      co_await pool.schedule();
      other_ran = true;
    };
    other();
    while (!other_ran && rounds != too_many) {
      co_await coracle::when_all(nop(), nop());
      ++rounds;
    }
  };
  coracle::sync_wait(spin());
  CHECK(other_ran);
  CHECK(rounds <= 2048);
}
}  // namespace
