// tests/unit/when_any_test.cpp -- the first of several awaitables.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <coracle/compose/as_outcome.hpp>
#include <coracle/compose/when_all.hpp>
#include <coracle/compose/when_any.hpp>
#include <coracle/core/sync_wait.hpp>
#include <coracle/core/task.hpp>
#include <coracle/core/with_environment.hpp>
#include <coracle/exec/run_loop.hpp>
#include <coracle/sync/async_auto_reset_event.hpp>
#include <coracle/sync/async_manual_reset_event.hpp>
#include <coracle/sync/async_semaphore.hpp>
#include <coracle/sync/single_consumer_event.hpp>
#include <coracle/testing/allocations.hpp>
#include <coracle/testing/lifetime_probe.hpp>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "../support/abort_message.hpp"
#include "../support/detached.hpp"
#include "../support/many.hpp"
#include "../support/run_on_stack.hpp"
#include "../support/test_coroutine.hpp"
#include "child_tasks.hpp"

namespace {
using coracle::async_manual_reset_event;
using coracle::operation_cancelled;
using coracle::sync_wait;
using coracle::task;
using coracle::void_value;
using coracle::when_any;
using coracle_test::after;
using coracle_test::detached;
using coracle_test::give;

TEST_CASE("when_any: gives a variant with the winner's value at its place") {
  async_manual_reset_event never;
  std::string text = "text";
  const auto work = [&]() -> task<> {
    const auto first = co_await when_any(never, give(1), give(std::string("late")));
    static_assert(std::is_same_v<decltype(first), const std::variant<void_value, int, std::string>>);
    CHECK(first.index() == 1);
    CHECK(std::get<1>(first) == 1);

    const auto reference = co_await when_any(give<std::string&>(text), never);
    CHECK(&std::get<0>(reference).get() == &text);

    auto owner = co_await when_any(after(never, 1), give(std::make_unique<int>(2)));
    CHECK(*std::get<1>(owner) == 2);

    const auto same_types = co_await when_any(after(never, 1), give(3));
    CHECK(same_types.index() == 1);
    CHECK(std::get<1>(same_types) == 3);
  };
  sync_wait(work());
}

TEST_CASE("when_any: of one awaitable gives its result") {
  CHECK(std::get<0>(sync_wait(when_any(give(7)))) == 7);
}

TEST_CASE("when_any: a range gives the index and the value of the first") {
  async_manual_reset_event events[3];
  std::size_t index = 9;
  int value = 0;
  const auto work = [&]() -> detached {
    std::vector<task<int>> tasks;
    for (int i = 0; i != 3; ++i) tasks.push_back(after(events[i], i * 10));
    const auto first = co_await when_any(std::move(tasks));
    index = first.index;
    value = first.value;
  };
  work();
  CHECK(index == 9);
  events[2].set();
  CHECK(index == 2);
  CHECK(value == 20);

  std::vector<task<>> voids;
  voids.push_back([]() -> task<> { co_return; }());
  CHECK(sync_wait(when_any(std::move(voids))).index == 0);
}

TEST_CASE("when_any: whoever is first wins, in whatever place") {
  for (std::size_t winner = 0; winner != 3; ++winner) {
    async_manual_reset_event events[3];
    std::size_t index = 9;
    const auto work = [&]() -> detached {
      const auto first = co_await when_any(events[0], after(events[1], 1), events[2]);
      index = first.index();
    };
    work();
    CHECK(index == 9);
    events[winner].set();
    CHECK(index == winner);
  }
}

TEST_CASE("when_any: once a child is over the rest is not started") {
  int started = 0;
  const auto start = [&](int value) -> task<int> {
    ++started;
    co_return value;
  };
  const auto gives_up = []() -> task<> {
    throw operation_cancelled();
    co_return;
  };
  CHECK(std::get<1>(sync_wait(when_any(gives_up(), start(1), start(2)))) == 1);
  CHECK(started == 1);
  std::vector<task<int>> tasks;
  for (int i = 0; i != 3; ++i) tasks.push_back(start(i));
  CHECK(sync_wait(when_any(std::move(tasks))).index == 0);
  CHECK(started == 2);
}

TEST_CASE("when_any: a coroutine destroyed while the branches wait frees all" *
          doctest::skip(!coracle::testing::allocations_are_counted)) {
  coracle::single_consumer_event one, other;
  const auto wait = [](coracle::single_consumer_event& event) -> task<> { co_await event; };
  coracle::trim_frame_memory();
  const long long live = coracle::testing::live_allocations();
  for (const bool is_race : {true, false}) {
    coracle::stop_source stop;
    const auto both = [&]() -> task<> {
      if (is_race) {
        co_await when_any(wait(one), wait(other));
      } else {
        co_await coracle::when_all(wait(one), wait(other));
      }
    };
    const auto waiting = coracle_test::started(coracle::with_stop(both(), stop.get_token()));
    CHECK_FALSE(waiting.done());
  }
  coracle::trim_frame_memory();
  const long long live_after = coracle::testing::live_allocations();
  CHECK(live_after == live);
}

TEST_CASE("when_any: what a loser gives all the same is destroyed, once, when it returns") {
  coracle::testing::lifetimes log;
  async_manual_reset_event never;
  const auto give_when_stopped = [&]() -> task<coracle::testing::lifetime_probe> {
    try {
      co_await coracle::throwing(never);
    } catch (const operation_cancelled&) {
    }
    co_return coracle::testing::lifetime_probe(log, 1);
  };
  const auto work = [&]() -> task<> {
    const auto first = co_await when_any(give_when_stopped(), give(5));
    CHECK(first.index() == 1);
    CHECK(log.alive == 0);
  };
  sync_wait(work());
  CHECK(log.destroyed == std::vector{1});
}

TEST_CASE("when_any: a losing operation takes nothing: no permit, no set() of an event that resets itself") {
  coracle::async_semaphore permits{1};
  coracle::async_auto_reset_event reset_by_first;
  async_manual_reset_event set{true};
  const auto work = [&]() -> task<> {
    CHECK((co_await when_any(set, permits.acquire())).index() == 0);
    CHECK((co_await when_any(reset_by_first, set)).index() == 1);
  };
  sync_wait(work());
  CHECK(permits.try_acquire());
  permits.release();
  reset_by_first.set();
  sync_wait(reset_by_first);
}

TEST_CASE("when_any: of two operations that could both be carried out exactly one is") {
  coracle::async_semaphore first{0}, second{0};
  std::size_t index = 9;
  const auto work = [&]() -> detached {
    index = (co_await when_any(first.acquire(), second.acquire())).index();
  };
  work();
  first.release();
  second.release();
  CHECK(index == 0);
  CHECK_FALSE(first.try_acquire());
  CHECK(second.try_acquire());
}

TEST_CASE("when_any: of events that are set the first is taken, and no other") {
  coracle::async_auto_reset_event not_set, set{true}, also_set{true};
  const auto work = [&]() -> task<std::size_t> {
    const auto first = co_await when_any(not_set, set, also_set);
    co_return first.index();
  };
  CHECK(sync_wait(work()) == 1);
  not_set.set();
  CHECK(sync_wait(work()) == 0);
  CHECK(sync_wait(work()) == 2);
}

TEST_CASE("when_any: an event behind a task is looked at when that has been started") {
  async_manual_reset_event event{true}, go;
  const auto closes = [&]() -> task<int> {
    event.reset();
    co_await go;
    co_return 7;
  };
  std::size_t index = 9;
  const auto work = [&]() -> detached { index = (co_await when_any(closes(), event)).index(); };
  work();
  CHECK(index == 9);
  go.set();
  CHECK(index == 0);
}

TEST_CASE("when_any: a loop over events that are set gives way to others now and then") {
  coracle::run_loop loop;
  coracle::async_auto_reset_event never;
  async_manual_reset_event set{true};
  bool other_ran = false;
  int before = -1;
  const auto races = [&]() -> detached {
    co_await loop.schedule();
    for (int i = 0; i != 1000; ++i) {
      if (other_ran && before < 0) before = i;
      co_await when_any(never, set);
    }
  };
  const auto other = [&]() -> detached {
    co_await loop.schedule();
    other_ran = true;
  };
  races();
  other();
  while (loop.run_one()) {
  }
  CHECK(before > 0);
  CHECK(before <= 128);
}

TEST_CASE("when_any: the awaiter goes on on its own executor, wherever the last loser ends") {
  coracle::run_loop home, abroad;
  async_manual_reset_event never, win;
  const coracle::executor* resumed_on = nullptr;
  const auto loses_abroad = [&]() -> task<> {
    co_await abroad.schedule();
    co_await never;
  };
  const auto work = [&]() -> detached {
    co_await home.schedule();
    co_await when_any(loses_abroad(), win);
    resumed_on = coracle::current_executor();
  };
  work();
  home.run_pending();
  abroad.run_pending();
  win.set();
  home.run_pending();
  CHECK(resumed_on == nullptr);
  abroad.run_pending();
  home.run_pending();
  CHECK(resumed_on == &home);
}

TEST_CASE("when_any: two threads that end two children at the same time have one winner") {
  for (int i = 0; i != 200; ++i) {
    async_manual_reset_event events[2];
    std::size_t index = 9;
    const auto work = [&]() -> task<> {
      index = (co_await when_any(events[0], after(events[1], 1))).index();
    };
    std::thread first, second;
    const auto root = [&]() -> task<> {
      const auto start = [&]() -> task<> {
        first = std::thread([&] { events[0].set(); });
        second = std::thread([&] { events[1].set(); });
        co_return;
      };
      co_await coracle::when_all(work(), start());
    };
    sync_wait(root());
    first.join();
    second.join();
    CHECK(index < 2);
  }
}

task<int> nest(int depth, async_manual_reset_event& bottom, async_manual_reset_event& never) {
  if (depth == 0) {
    co_await bottom;
    co_return 0;
  }
  const auto first = co_await when_any(nest(depth - 1, bottom, never), never);
  co_return first.index() == 0 ? std::get<0>(first) + 1 : -1;
}

TEST_CASE(
    "when_any: 100,000 inside one another fit a small stack, won from the bottom or stopped from the top") {
  constexpr int depth = coracle_test::many(100'000);
  int won = 0;
  bool cancelled = false;
  const bool ran = coracle_test::run_on_stack(256 * 1024, [&] {
    async_manual_reset_event bottom, never;
    const auto win = [&]() -> detached { won = co_await nest(depth, bottom, never); };
    win();
    bottom.set();
    bottom.reset();
    coracle::stop_source source;
    const auto stop = [&]() -> detached {
      try {
        co_await coracle::with_stop(nest(10'000, bottom, never), source.get_token());
      } catch (const operation_cancelled&) {
        cancelled = true;
      }
    };
    stop();
    source.request_stop();
  });
  CHECK(ran);
  CHECK(won == depth);
  CHECK(cancelled);
}

TEST_CASE("when_any: allocates one stop source" * doctest::skip(!coracle::testing::allocations_are_counted)) {
  async_manual_reset_event never, win;
  std::size_t made = 9;
  const auto work = [&]() -> detached {
    coracle::trim_frame_memory();
    const auto before = coracle::testing::allocations();
    co_await when_any(never, win, when_any(never, never));
    made = coracle::testing::allocations() - before;
  };
  work();
  win.set();
  CHECK(made == 2);
}

TEST_CASE("when_any: allocates nothing where an event that comes first is set" *
          doctest::skip(!coracle::testing::allocations_are_counted)) {
  async_manual_reset_event never, set{true};
  std::size_t made = 9;
  const auto work = [&]() -> detached {
    coracle::trim_frame_memory();
    const auto before = coracle::testing::allocations();
    co_await when_any(never, set, after(never, 1));
    made = coracle::testing::allocations() - before;
  };
  work();
  CHECK(made == 1);  // the task's frame
}

TEST_CASE("when_any: where memory runs out it starts nobody any more, and throws" *
          doctest::skip(!coracle::testing::allocations_are_counted)) {
  const int failed = coracle::testing::fail_each_allocation([] {
    async_manual_reset_event win, never;
    const auto work = [&]() -> detached {
      try {
        co_await when_any(never, win);
      } catch (const std::bad_alloc&) {
      }
    };
    try {
      work();
    } catch (const std::bad_alloc&) {
    }
    win.set();
  });
  CHECK(failed == 2);
}

TEST_CASE("when_any: of an empty range ends the program and says why") {
  CHECK(coracle_test::abort_message([] { static_cast<void>(when_any(std::vector<task<>>{})); }) ==
        "coracle: when_any or when_any_succeeds of an empty range: there is nothing to wait for\n");
}
}  // namespace
