// tests/unit/shared_task_test.cpp -- one result for many awaiters.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <coracle/compose/when_all.hpp>
#include <coracle/core/operation_cancelled.hpp>
#include <coracle/core/shared_task.hpp>
#include <coracle/core/sync_wait.hpp>
#include <coracle/core/task.hpp>
#include <coracle/core/with_environment.hpp>
#include <coracle/exec/inline_scheduler.hpp>
#include <coracle/exec/run_loop.hpp>
#include <coracle/exec/static_thread_pool.hpp>
#include <coracle/sync/async_manual_reset_event.hpp>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "../support/detached.hpp"
#include "../support/test_coroutine.hpp"
#include "shared_task_bodies.hpp"

namespace {
using coracle::async_manual_reset_event;
using coracle::shared_task;
using coracle::sync_wait;
using coracle::task;
using coracle_test::detached;
using coracle_test::test_coroutine;
using coracle_test::shared_task_bodies::after;
using coracle_test::shared_task_bodies::give;

TEST_CASE("shared_task: the body starts at the first await, and runs once for all of them") {
  int started = 0;
  async_manual_reset_event open(true);
  const shared_task<int> one = after(open, started, 7);
  const shared_task<int> copy = one;
  CHECK(started == 0);
  CHECK_FALSE(one.is_ready());
  CHECK(sync_wait(one) == 7);
  CHECK(started == 1);
  CHECK(one.is_ready());
  CHECK(copy.is_ready());
  CHECK(sync_wait(copy) == 7);
  CHECK(started == 1);
}

TEST_CASE("shared_task: one fetch for two readers, as its header shows") {
  int fetches = 0;
  auto fetch = [](int& count) -> shared_task<std::string> {
    ++count;
    co_return "a page";
  };
  auto read = [](shared_task<std::string> page) -> task<std::size_t> { co_return (co_await page).size(); };
  auto both = [&]() -> task<std::size_t> {
    shared_task<std::string> page = fetch(fetches);
    auto [first, second] = co_await coracle::when_all(read(page), read(page));
    co_return first + second;
  };
  CHECK(sync_wait(both()) == 12);
  CHECK(fetches == 1);
}

TEST_CASE("shared_task: whoever comes while the body runs waits, and is woken in order of arrival") {
  int started = 0;
  std::vector<int> log;
  async_manual_reset_event open;
  const shared_task<int> one = after(open, started, 10);
  const auto wait = [&](int name) -> detached {
    const int value = co_await one;
    log.push_back(value + name);
  };
  for (int name = 0; name != 4; ++name) wait(name);
  CHECK(started == 1);
  CHECK(log.empty());
  open.set();
  CHECK(log == std::vector{10, 11, 12, 13});
}

TEST_CASE("shared_task: awaited after its end it goes on at once") {
  const shared_task<int> one = give(3);
  CHECK(sync_wait(one) == 3);
  test_coroutine waiting = coracle_test::started(one);
  CHECK(waiting.done());
}

/// Suspends without calling await_ready() first, as if the task ended between the two calls.
class overtaken {
 public:
  explicit overtaken(const shared_task<int>& one) : awaiter_(coracle::get_awaiter(one)) {}
  bool await_ready() const { return false; }
  auto await_suspend(std::coroutine_handle<> self) { return awaiter_.await_suspend(self); }
  int& await_resume() { return awaiter_.await_resume(); }

 private:
  coracle::awaiter_type_t<const shared_task<int>&> awaiter_;
};

TEST_CASE("shared_task: an awaiter that begins to wait after the end goes on by itself") {
  const shared_task<int> one = give(3);
  CHECK(sync_wait(one) == 3);
  overtaken late(one);
  CHECK(sync_wait(late) == 3);
  const test_coroutine waiting = coracle_test::started(overtaken(one));
  CHECK(waiting.done());
}

TEST_CASE("shared_task: all awaiters see the same object, which may be changed") {
  const shared_task<std::string> one = give(std::string("text"));
  std::string& first = sync_wait(one);
  first += "s";
  CHECK(&sync_wait(one) == &first);
  CHECK(sync_wait(one) == "texts");
}

TEST_CASE("shared_task: gives references, move-only values, const values and nothing") {
  int object = 1;
  auto refer = [](int& to) -> shared_task<int&> { co_return to; };
  const shared_task<int&> reference = refer(object);
  CHECK(&sync_wait(reference) == &object);
  CHECK(&sync_wait(reference) == &object);

  auto refer_const = [](int& to) -> shared_task<const int&> { co_return to; };
  CHECK(&sync_wait(refer_const(object)) == &object);

  const shared_task<std::unique_ptr<int>> owner = give(std::make_unique<int>(5));
  CHECK(*sync_wait(owner) == 5);
  CHECK(*sync_wait(owner) == 5);

  auto constant = []() -> shared_task<const int> { co_return 6; };
  CHECK(sync_wait(constant()) == 6);

  int ran = 0;
  auto count = [](int& n) -> shared_task<> {
    ++n;
    co_return;
  };
  const shared_task<> nothing = count(ran);
  sync_wait(nothing);
  sync_wait(nothing);
  CHECK(ran == 1);
}

TEST_CASE("shared_task: an exception is thrown from each await, and from no when_ready()") {
  auto fail = []() -> shared_task<int> {
    throw std::runtime_error("it failed");
    co_return 0;
  };
  const shared_task<int> one = fail();
  sync_wait(one.when_ready());
  CHECK(one.is_ready());
  const std::runtime_error* first = nullptr;
  for (int i = 0; i != 2; ++i) {
    try {
      sync_wait(one);
      CHECK(false);
    } catch (const std::runtime_error& error) {
      if (!first) first = &error;
      CHECK(&error == first);
    }
  }
}

TEST_CASE("shared_task: a void body's exception is thrown from each await too, also to those that waited") {
  async_manual_reset_event open;
  auto fail = [](async_manual_reset_event& event) -> shared_task<> {
    co_await event;
    throw 42;
  };
  const shared_task<> one = fail(open);
  int caught = 0;
  const auto wait = [&]() -> detached {
    try {
      co_await one;
    } catch (int value) {
      caught += value;
    }
  };
  wait();
  wait();
  open.set();
  wait();
  CHECK(caught == 3 * 42);
}

TEST_CASE("shared_task: awaiting an empty one throws broken_promise; it is ready") {
  const shared_task<int> nothing;
  CHECK(nothing.is_ready());
  CHECK_FALSE(static_cast<bool>(nothing));
  CHECK_THROWS_AS(sync_wait(nothing), coracle::broken_promise);
  CHECK_THROWS_AS(sync_wait(shared_task<>()), std::logic_error);
  sync_wait(nothing.when_ready());
  shared_task<int> one = give(1);
  const shared_task<int> moved = std::move(one);
  CHECK_THROWS_AS(sync_wait(one), coracle::broken_promise);  // NOLINT: what a moved-from one does
  CHECK(sync_wait(moved) == 1);
}

TEST_CASE("shared_task: each awaiter resumes on its own executor, the first one too") {
  coracle::run_loop first, second;
  async_manual_reset_event open;
  int started = 0;
  std::vector<coracle::executor*> places;
  const shared_task<int> one = after(open, started, 1);
  const auto wait_on = [&](coracle::run_loop* loop) -> detached {
    if (loop) co_await loop->schedule();
    co_await one;
    places.push_back(coracle::current_executor());
  };
  wait_on(&first);
  CHECK(first.run_one());
  wait_on(&second);
  CHECK(second.run_one());
  wait_on(nullptr);
  open.set();  // the body waits on the first loop, so it ends there
  CHECK(places.empty());
  CHECK(first.run_one());
  CHECK(places == std::vector<coracle::executor*>{nullptr});
  CHECK(second.run_one());
  CHECK(first.run_one());
  CHECK(places == std::vector<coracle::executor*>{nullptr, &second, &first});
}

TEST_CASE("shared_task: a body that moves to a pool leaves its awaiter where it was") {
  coracle::run_loop loop;
  coracle::static_thread_pool pool{1};
  auto move_away = [](coracle::static_thread_pool& to) -> shared_task<int> {
    co_await to.schedule();
    co_return 1;
  };
  coracle::executor* place = nullptr;
  const auto wait = [&]() -> detached {
    co_await loop.schedule();
    const shared_task<int> one = move_away(pool);
    co_await one;
    place = coracle::current_executor();
    loop.stop();
  };
  wait();
  loop.run();
  CHECK(place == &loop);
}

TEST_CASE("shared_task: a lone awaiter that is where the body ends goes on at once, without a post") {
  coracle::run_loop loop;
  int done = 0;
  const auto wait = [&]() -> detached {
    co_await loop.schedule();
    for (int i = 0; i != 3; ++i) done += co_await give(1);
  };
  wait();
  CHECK(loop.run_one());
  CHECK(done == 3);
  CHECK_FALSE(loop.run_one());
}

TEST_CASE("shared_task: under the inline scheduler it is awaited as outside any") {
  coracle::inline_scheduler place;
  const auto wait = [&]() -> task<int> {
    co_await place.schedule();
    co_return co_await give(2);
  };
  CHECK(sync_wait(wait()) == 2);
}

TEST_CASE("shared_task: two threads await it, one ends it") {
  coracle::static_thread_pool pool{1};
  auto body = [](coracle::static_thread_pool& on) -> shared_task<std::thread::id> {
    co_await on.schedule();
    co_return std::this_thread::get_id();
  };
  const shared_task<std::thread::id> one = body(pool);
  std::thread::id seen;
  std::thread other([&] { seen = sync_wait(shared_task<std::thread::id>(one)); });
  const std::thread::id here = sync_wait(one);
  other.join();
  CHECK(here == seen);
  CHECK(here != std::this_thread::get_id());
}

TEST_CASE("shared_task: the body starts with an empty environment, whoever awaits it first") {
  std::stop_source source;
  bool awaiter_stoppable = false, body_stoppable = true;
  auto body = [](bool& stoppable) -> shared_task<> {
    stoppable = (co_await coracle::this_task::stop_token()).stop_possible();
  };
  auto awaiter = [](shared_task<> one, bool& stoppable) -> task<> {
    stoppable = (co_await coracle::this_task::stop_token()).stop_possible();
    co_await one;
  };
  sync_wait(coracle::with_stop(awaiter(body(body_stoppable), awaiter_stoppable), source.get_token()));
  CHECK(awaiter_stoppable);
  CHECK_FALSE(body_stoppable);
}

TEST_CASE("shared_task: a stop request ends one awaiter's wait; the body and the others go on") {
  async_manual_reset_event open;
  int started = 0, value = 0, cancelled = 0;
  const shared_task<int> one = after(open, started, 5);
  coracle::stop_source before, during;
  before.request_stop();
  auto awaiter = [](shared_task<int> shared, int& sum, int& stopped) -> task<> {
    try {
      sum += co_await shared;
    } catch (const coracle::operation_cancelled&) {
      ++stopped;
    }
  };
  coracle_test::run_detached(coracle::with_stop(awaiter(one, value, cancelled), before.get_token()));
  CHECK(cancelled == 1);
  CHECK(started == 0);  // stopped before: not started
  coracle_test::run_detached(coracle::with_stop(awaiter(one, value, cancelled), during.get_token()));
  coracle_test::run_detached(awaiter(one, value, cancelled));
  CHECK(started == 1);
  during.request_stop();
  CHECK(cancelled == 2);
  open.set();
  CHECK(value == 5);
}

TEST_CASE("shared_task: stop requested before: cancelled, also one that has ended, or that is empty") {
  coracle::stop_source source;
  source.request_stop();
  const auto give = []() -> coracle::shared_task<int> { co_return 1; };
  auto ended = give();
  CHECK(coracle::sync_wait(ended) == 1);
  for (const bool empty : {false, true}) {
    const auto work = [&]() -> coracle::task<> {
      const auto awaited = empty ? coracle::shared_task<int>() : ended;
      static_cast<void>(co_await awaited);
    };
    CHECK_THROWS_AS(coracle::sync_wait(coracle::with_stop(work(), source.get_token())),
                    coracle::operation_cancelled);
  }
}
}  // namespace
