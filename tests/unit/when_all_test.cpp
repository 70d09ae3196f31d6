// tests/unit/when_all_test.cpp -- several awaitables at the same time.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <coracle/compose/when_all.hpp>
#include <coracle/core/sync_wait.hpp>
#include <coracle/core/task.hpp>
#include <coracle/core/with_environment.hpp>
#include <coracle/exec/run_loop.hpp>
#include <coracle/sync/async_auto_reset_event.hpp>
#include <coracle/sync/async_manual_reset_event.hpp>
#include <coracle/testing/allocations.hpp>
#include <list>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "../support/detached.hpp"
#include "../support/run_on_stack.hpp"

namespace {
using coracle::async_manual_reset_event;
using coracle::task;
using coracle_test::detached;

template <class T>
task<T> give(T value) {
  co_return static_cast<T&&>(value);
}
task<> nothing() { co_return; }
task<int> after(async_manual_reset_event& event, int value) {
  co_await event;
  co_return value;
}
task<int> fail_after(async_manual_reset_event& event, const char* what) {
  co_await event;
  throw std::runtime_error(what);
}
task<int> fail(const char* what) {
  throw std::runtime_error(what);
  co_return 0;
}
std::string message_of(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& e) {
    return e.what();
  }
}

// ---- results -------------------------------------------------------------------------------------------

TEST_CASE("when_all: gives a tuple of values, references, move-only values and void_value") {
  std::string text = "text";
  const auto work = [&]() -> task<> {
    auto results = co_await coracle::when_all(give(1), nothing(), give<std::string&>(text),
                                              give(std::make_unique<int>(2)), give<const std::string&>(text));
    static_assert(
        std::is_same_v<decltype(results),
                       std::tuple<int, coracle::void_value, std::reference_wrapper<std::string>,
                                  std::unique_ptr<int>, std::reference_wrapper<const std::string>>>);
    CHECK(std::get<0>(results) == 1);
    CHECK(&std::get<2>(results).get() == &text);
    CHECK(*std::get<3>(results) == 2);
    CHECK(&std::get<4>(results).get() == &text);
  };
  coracle::sync_wait(work());
}

TEST_CASE("when_all: an rvalue reference comes as a reference to the same object, also from a range") {
  std::string text = "text";
  const auto moved_out = [](std::string& from) -> task<std::string&&> { co_return std::move(from); };
  const auto results = coracle::sync_wait(coracle::when_all(moved_out(text)));
  CHECK(&std::get<0>(results).get() == &text);
  std::vector<task<std::string&&>> tasks;
  tasks.push_back(moved_out(text));
  CHECK(&coracle::sync_wait(coracle::when_all(std::move(tasks)))[0].get() == &text);
  CHECK(text == "text");
}

TEST_CASE("when_all: a single awaitable gives a tuple of one") {
  CHECK(std::get<0>(coracle::sync_wait(coracle::when_all(give(7)))) == 7);
}

TEST_CASE("when_all: a vector of tasks gives a vector of results in the same order") {
  std::vector<task<int>> tasks;
  for (int i = 0; i != 100; ++i) tasks.push_back(give(i));
  const std::vector<int> results = coracle::sync_wait(coracle::when_all(std::move(tasks)));
  REQUIRE(results.size() == 100);
  for (int i = 0; i != 100; ++i) CHECK(results[static_cast<std::size_t>(i)] == i);
}

TEST_CASE("when_all: ranges of references and of move-only results") {
  std::string a = "a", b = "b";
  std::vector<task<std::string&>> references;
  references.push_back(give<std::string&>(a));
  references.push_back(give<std::string&>(b));
  const auto found = coracle::sync_wait(coracle::when_all(std::move(references)));
  static_assert(std::is_same_v<decltype(found), const std::vector<std::reference_wrapper<std::string>>>);
  REQUIRE(found.size() == 2);
  CHECK(&found[0].get() == &a);
  CHECK(&found[1].get() == &b);

  std::vector<task<std::unique_ptr<int>>> owners;
  owners.push_back(give(std::make_unique<int>(3)));
  const auto owned = coracle::sync_wait(coracle::when_all(std::move(owners)));
  REQUIRE(owned.size() == 1);
  CHECK(*owned[0] == 3);
}

TEST_CASE("when_all: a range of tasks without results gives nothing and runs them all") {
  int ran = 0;
  const auto count = [&]() -> task<> {
    ++ran;
    co_return;
  };
  std::vector<task<>> tasks;
  for (int i = 0; i != 5; ++i) tasks.push_back(count());
  auto all = coracle::when_all(std::move(tasks));
  static_assert(std::is_void_v<coracle::await_result_t<decltype(all)>>);
  CHECK(ran == 0);
  coracle::sync_wait(std::move(all));
  CHECK(ran == 5);
}

TEST_CASE("when_all: an empty range completes at once") {
  CHECK(coracle::sync_wait(coracle::when_all(std::vector<task<int>>{})).empty());
  CHECK(coracle::sync_wait(coracle::when_all_ready(std::vector<task<int>>{})).empty());
  bool done = false;
  const auto work = [&]() -> detached {
    co_await coracle::when_all(std::vector<task<>>{});
    done = true;
  };
  work();
  CHECK(done);
}

TEST_CASE("when_all: any range of awaitables will do") {
  std::list<task<int>> tasks;
  tasks.push_back(give(1));
  tasks.push_back(give(2));
  CHECK(coracle::sync_wait(coracle::when_all(std::move(tasks))) == std::vector{1, 2});
  std::array<task<int>, 2> fixed{give(3), give(4)};
  CHECK(coracle::sync_wait(coracle::when_all(std::move(fixed))) == std::vector{3, 4});
}

TEST_CASE("when_all: awaits named tasks that are moved in, and awaitables that are no tasks") {
  async_manual_reset_event event;
  coracle::async_auto_reset_event other;
  bool done = false;
  const auto work = [&]() -> detached {
    task<int> named = give(5);
    auto results = co_await coracle::when_all(event, std::move(named), other, std::suspend_never{});
    static_assert(
        std::is_same_v<decltype(results),
                       std::tuple<coracle::void_value, int, coracle::void_value, coracle::void_value>>);
    CHECK(std::get<1>(results) == 5);
    done = true;
  };
  work();
  other.set();
  CHECK_FALSE(done);
  event.set();
  CHECK(done);
}

// ---- order ---------------------------------------------------------------------------------------------

TEST_CASE("when_all: starts the children one after the other, each until it first suspends") {
  std::vector<std::string> log;
  async_manual_reset_event event;
  const auto child = [&](std::string name) -> task<> {
    log.push_back(name + " starts");
    co_await event;
    log.push_back(name + " ends");
  };
  const auto work = [&]() -> detached {
    co_await coracle::when_all(child("a"), child("b"), nothing());
    log.emplace_back("joined");
  };
  work();
  CHECK(log == std::vector<std::string>{"a starts", "b starts"});
  event.set();
  CHECK(log == std::vector<std::string>{"a starts", "b starts", "a ends", "b ends", "joined"});
}

TEST_CASE("when_all: continues when the last child has ended, in whatever order they end") {
  std::array<int, 3> order{0, 1, 2};
  do {
    std::array<async_manual_reset_event, 3> events;
    std::vector<int> results;
    const auto work = [&]() -> detached {
      const auto [a, b, c] =
          co_await coracle::when_all(after(events[0], 10), after(events[1], 20), after(events[2], 30));
      results = {a, b, c};
    };
    work();
    for (const int next : order) {
      CHECK(results.empty());
      events[static_cast<std::size_t>(next)].set();
    }
    CHECK(results == std::vector{10, 20, 30});
  } while (std::next_permutation(order.begin(), order.end()));
}

TEST_CASE("when_all: nests") {
  async_manual_reset_event event;
  int sum = 0;
  const auto pair = [&](int n) -> task<int> {
    const auto [a, b] = co_await coracle::when_all(after(event, n), give(n + 1));
    co_return a + b;
  };
  const auto work = [&]() -> detached {
    const auto [a, b] = co_await coracle::when_all(pair(1), coracle::when_all(pair(10), pair(100)));
    sum = a + std::get<0>(b) + std::get<1>(b);
  };
  work();
  CHECK(sum == 0);
  event.set();
  CHECK(sum == 3 + 21 + 201);
}

// ---- exceptions ----------------------------------------------------------------------------------------

TEST_CASE("when_all: the first error in time stops the others, and is thrown once all have ended") {
  async_manual_reset_event never, second;
  std::string caught;
  std::vector<std::string> log;
  const auto end_slowly = [&](async_manual_reset_event& event) -> task<int> {
    try {
      co_await event;
    } catch (const coracle::operation_cancelled& e) {
      log.push_back(e.what());
    }
    co_return 1;
  };
  const auto work = [&]() -> detached {
    try {
      co_await coracle::when_all(end_slowly(never), fail_after(second, "second"), after(never, 1), never);
    } catch (const std::runtime_error& error) {
      caught = error.what();
    }
  };
  work();
  CHECK(caught.empty());
  second.set();
  CHECK(log == std::vector<std::string>{"operation cancelled: a sibling has failed"});
  CHECK(caught == "second");
}

TEST_CASE("when_all: several errors are thrown together, the first in time first") {
  async_manual_reset_event first, second;
  std::vector<std::string> errors;
  const auto fail_when_stopped = [](async_manual_reset_event& event, const char* what) -> task<> {
    try {
      co_await event;
    } catch (const coracle::operation_cancelled&) {
      throw std::runtime_error(what);
    }
  };
  const auto work = [&]() -> detached {
    try {
      co_await coracle::when_all(fail_when_stopped(first, "a"), fail_after(second, "b"),
                                 fail_when_stopped(first, "c"));
    } catch (const coracle::error_group& group) {
      for (const auto& each : group.errors()) errors.push_back(message_of(each));
    }
  };
  work();
  second.set();
  CHECK(errors == std::vector<std::string>{"b", "a", "c"});
}

TEST_CASE("when_all: a range stops at its first error, with and without results; the rest is not started") {
  std::vector<task<int>> tasks;
  tasks.push_back(give(1));
  tasks.push_back(fail("second"));
  tasks.push_back(fail("third"));
  CHECK_THROWS_WITH_AS(static_cast<void>(coracle::sync_wait(coracle::when_all(std::move(tasks)))), "second",
                       std::runtime_error);
  int ran = 0;
  const auto fail_void = [&](const char* what) -> task<> {
    ++ran;
    throw std::runtime_error(what);
    co_return;
  };
  std::vector<task<>> voids;
  voids.push_back(nothing());
  voids.push_back(fail_void("second"));
  voids.push_back(fail_void("third"));
  CHECK_THROWS_WITH_AS(coracle::sync_wait(coracle::when_all(std::move(voids))), "second", std::runtime_error);
  CHECK(ran == 1);
}

TEST_CASE("when_all: tasks that have ended before it fail or give their values all the same") {
  const auto with_ended = [](task<int> ended) -> task<int> {
    co_await ended.when_ready();
    std::vector<task<int>> tasks;
    tasks.push_back(give(1));
    tasks.push_back(std::move(ended));
    tasks.push_back(give(3));
    const std::vector<int> values = co_await coracle::when_all(std::move(tasks));
    co_return values[0] + values[1] + values[2];
  };
  CHECK(coracle::sync_wait(with_ended(give(2))) == 6);
  CHECK_THROWS_WITH_AS(coracle::sync_wait(with_ended(fail("ended"))), "ended", std::runtime_error);
}

TEST_CASE("when_all: an awaitable that is no task and a task fail together") {
  const auto throws_at_once = [] {
    struct awaiter {
      bool await_ready() const noexcept { return true; }
      void await_suspend(std::coroutine_handle<>) const noexcept {}
      void await_resume() const { throw std::runtime_error("awaiter"); }
    };
    return awaiter{};
  };
  async_manual_reset_event event;
  std::vector<std::string> errors;
  const auto fail_when_stopped = [](async_manual_reset_event& waits) -> task<> {
    try {
      co_await waits;
    } catch (const coracle::operation_cancelled&) {
      throw std::runtime_error("task");
    }
  };
  const auto work = [&]() -> task<> {
    try {
      auto first = fail_when_stopped(event);
      auto second = throws_at_once();
      co_await coracle::when_all(std::move(first), std::move(second));
    } catch (const coracle::error_group& group) {
      for (const auto& each : group.errors()) errors.push_back(message_of(each));
    }
  };
  coracle::sync_wait(work());
  CHECK(errors == std::vector<std::string>{"awaiter", "task"});
}

TEST_CASE("when_all: a child that is cancelled by itself stops the others, and is no error") {
  async_manual_reset_event never;
  coracle::stop_source source;
  std::string caught;
  const auto work = [&]() -> detached {
    try {
      co_await coracle::when_all(never, coracle::with_stop(after(never, 1), source.get_token()));
    } catch (const coracle::operation_cancelled& e) {
      caught = e.what();
    }
  };
  work();
  CHECK(caught.empty());
  source.request_stop(coracle::stop_reason::timed_out);
  CHECK(caught == "operation cancelled: its deadline has passed");
}

// ---- stop requests -------------------------------------------------------------------------------------

TEST_CASE("when_all: stopped before it starts no child") {
  coracle::stop_source source;
  source.request_stop(coracle::stop_reason::shutting_down);
  int started = 0;
  const auto child = [&]() -> task<> {
    ++started;
    co_return;
  };
  const auto all = [&]() -> task<> { co_await coracle::when_all(child(), child()); };
  CHECK_THROWS_WITH_AS(coracle::sync_wait(coracle::with_stop(all(), source.get_token())),
                       "operation cancelled: shutting down", coracle::operation_cancelled);
  const auto ready = [&]() -> task<> {
    const auto [a, b] = co_await coracle::when_all_ready(child(), child());
    CHECK(a.is_cancelled());
    CHECK(b.reason() == coracle::stop_reason::shutting_down);
  };
  coracle::sync_wait(coracle::with_stop(ready(), source.get_token()));
  CHECK(started == 0);
}

TEST_CASE(
    "when_all: a stop request while it waits stops all children, and none of the cancellations is lost") {
  coracle::run_loop loop;
  coracle::stop_source source;
  async_manual_reset_event event;
  std::string caught;
  const auto all = [&]() -> task<> {
    co_await loop.schedule();
    co_await coracle::when_all(event, after(event, 1), coracle::when_all(event, nothing()));
  };
  const auto work = [&]() -> detached {
    try {
      co_await coracle::with_stop(all(), source.get_token());
    } catch (const coracle::operation_cancelled& e) {
      caught = e.what();
    }
  };
  work();
  CHECK(loop.run_one());
  source.request_stop(coracle::stop_reason::timed_out);
  CHECK(caught.empty());
  loop.run_pending();
  CHECK(caught == "operation cancelled: its deadline has passed");
}

TEST_CASE("when_all: a stop request that comes when all have a value has no effect") {
  coracle::stop_source source;
  int sum = 0;
  const auto stop = [&]() -> task<int> {
    source.request_stop();
    co_return 2;
  };
  const auto work = [&]() -> task<> {
    const auto [a, b] = co_await coracle::when_all(give(1), stop());
    sum = a + b;
  };
  coracle::sync_wait(coracle::with_stop(work(), source.get_token()));
  CHECK(sum == 3);
}

TEST_CASE("when_all_ready: nobody is stopped by an error; a stop request makes cancelled outcomes") {
  coracle::stop_source source;
  async_manual_reset_event event, never;
  bool joined = false;
  const auto all = [&]() -> task<> {
    auto [failed, value, cancelled, reference] =
        co_await coracle::when_all_ready(fail("wrong"), after(event, 1), after(never, 2), never);
    CHECK(failed.has_error());
    CHECK(std::move(value).get() == 1);
    CHECK(cancelled.is_cancelled());
    CHECK_FALSE(cancelled.has_error());
    CHECK_THROWS_AS(std::move(cancelled).get(), coracle::operation_cancelled);
    CHECK(reference.reason() == coracle::stop_reason::lost_race);
    joined = true;
  };
  const auto work = [&]() -> detached { co_await coracle::with_stop(all(), source.get_token()); };
  work();
  event.set();
  CHECK_FALSE(joined);
  source.request_stop(coracle::stop_reason::lost_race);
  CHECK(joined);
}

// ---- depth ---------------------------------------------------------------------------------------------

task<int> nest(int depth, async_manual_reset_event* bottom) {
  if (depth == 0) {
    if (bottom) co_await *bottom;
    co_return 1;
  }
  const auto [below, one] = co_await coracle::when_all(nest(depth - 1, bottom), give(1));
  co_return below + one;
}

TEST_CASE("when_all: 100,000 inside one another fit a small stack: ending at once, woken, or stopped") {
  constexpr int depth = 100'000;
  int sum = 0, woken = 0;
  bool cancelled = false;
  const bool ran = coracle_test::run_on_stack(256 * 1024, [&] {
    sum = coracle::sync_wait(nest(depth, nullptr));
    async_manual_reset_event event, never;
    const auto wake = [&]() -> detached { woken = co_await nest(depth, &event); };
    wake();
    event.set();
    coracle::stop_source source;
    const auto stop = [&]() -> detached {
      try {
        co_await coracle::with_stop(nest(depth / 10, &never), source.get_token());
      } catch (const coracle::operation_cancelled&) {
        cancelled = true;
      }
    };
    stop();
    source.request_stop();
  });
  CHECK(ran);
  CHECK(sum == depth + 1);
  CHECK(woken == depth + 1);
  CHECK(cancelled);
}

TEST_CASE("when_all: what is started too deep starts before a sync_wait inside it blocks") {
  int ended = 0;
  const auto deep = [&](const auto& self, int depth) -> task<> {
    if (depth == 0) {
      coracle::sync_wait(coracle::when_all(nothing(), nothing()));
    } else {
      co_await coracle::when_all(self(self, depth - 1), nothing());
    }
    ++ended;
  };
  coracle::sync_wait(deep(deep, 40));
  CHECK(ended == 41);
}

/// Throws at one step of being awaited.
struct throws_at {
  enum class step { get_awaiter, ready, suspend, resume };
  struct awaiter {
    explicit awaiter(step at_step) : at(at_step) {}
    bool await_ready() const {
      if (at == step::ready) throw std::runtime_error("ready");
      return at == step::resume;
    }
    bool await_suspend(std::coroutine_handle<>) const {
      if (at == step::suspend) throw std::runtime_error("suspend");
      return false;
    }
    int await_resume() const {
      if (at == step::resume) throw std::runtime_error("resume");
      return 0;
    }
    step at;
  };
  explicit throws_at(step at_step) : at(at_step) {}
  awaiter operator co_await() const {
    if (at == step::get_awaiter) throw std::runtime_error("get_awaiter");
    return awaiter{at};
  }
  step at;
};

TEST_CASE(
    "when_all: a child that throws while it is started is a failed child, the others are stopped and "
    "joined") {
  using step = throws_at::step;
  for (const auto& [at, what] : {std::pair{step::get_awaiter, "get_awaiter"}, std::pair{step::ready, "ready"},
                                 std::pair{step::suspend, "suspend"}, std::pair{step::resume, "resume"}}) {
    async_manual_reset_event event;
    std::string caught;
    const throws_at child(at);
    const auto work = [&]() -> detached {
      try {
        co_await coracle::when_all(after(event, 1), child, after(event, 2));
      } catch (const std::runtime_error& error) {
        caught = error.what();
      }
    };
    work();
    CHECK(caught == what);
  }
}

// ---- when_all_ready ------------------------------------------------------------------------------------

TEST_CASE("when_all_ready: gives an outcome for each child and does not throw") {
  std::string text = "text";
  const auto work = [&]() -> task<> {
    auto [value, error, none, reference, owner] = co_await coracle::when_all_ready(
        give(1), fail("wrong"), nothing(), give<std::string&>(text), give(std::make_unique<int>(2)));
    CHECK(value.has_value());
    CHECK(std::move(value).get() == 1);
    CHECK(error.has_error());
    CHECK_FALSE(error.has_value());
    CHECK(message_of(error.error()) == "wrong");
    CHECK(none.has_value());
    CHECK(&std::move(reference).get() == &text);
    CHECK(*std::move(owner).get() == 2);
  };
  coracle::sync_wait(work());
}

TEST_CASE("when_all_ready: a range gives a vector of outcomes, once the last child has ended") {
  async_manual_reset_event event;
  std::vector<task<int>> tasks;
  tasks.push_back(after(event, 1));
  tasks.push_back(fail("second"));
  tasks.push_back(give(3));
  std::string seen;
  const auto work = [&]() -> detached {
    auto all = coracle::when_all_ready(std::move(tasks));
    auto ends = co_await std::move(all);
    for (auto& end : ends)
      seen += end.has_value() ? std::to_string(std::move(end).get()) : message_of(end.error());
  };
  work();
  CHECK(seen.empty());
  event.set();
  CHECK(seen == "1second3");
}

TEST_CASE("when_all_ready: tells an exception that was thrown while starting apart from a value") {
  const auto [started, failed] =
      coracle::sync_wait(coracle::when_all_ready(give(1), throws_at(throws_at::step::suspend)));
  CHECK(started.has_value());
  CHECK(message_of(failed.error()) == "suspend");
}

// ---- where it resumes ----------------------------------------------------------------------------------

TEST_CASE("when_all: children that end on the awaiter's own loop continue it without another post") {
  coracle::run_loop loop;
  async_manual_reset_event event;
  const coracle::executor* resumed_on = nullptr;
  const auto work = [&]() -> detached {
    co_await loop.schedule();
    co_await coracle::when_all(after(event, 1), after(event, 2));
    resumed_on = coracle::current_executor();
  };
  work();
  CHECK(loop.run_one());
  event.set();
  CHECK(loop.run_one());
  CHECK(resumed_on == nullptr);
  CHECK(loop.run_one());
  CHECK(resumed_on == &loop);
  CHECK_FALSE(loop.run_one());
}

TEST_CASE("when_all: a child that ends on another loop posts the awaiter to its own") {
  coracle::run_loop home, abroad;
  const coracle::executor* resumed_on = nullptr;
  const auto work = [&]() -> detached {
    co_await home.schedule();
    co_await coracle::when_all(abroad.schedule(), nothing());
    resumed_on = coracle::current_executor();
  };
  work();
  CHECK(home.run_one());
  CHECK(abroad.run_one());
  CHECK(resumed_on == nullptr);
  CHECK_FALSE(abroad.run_one());
  CHECK(home.run_one());
  CHECK(resumed_on == &home);
}

TEST_CASE("when_all: a child that moves away and comes to its end at once leaves the awaiter where it was") {
  coracle::run_loop home, abroad;
  const coracle::executor* resumed_on = nullptr;
  const auto wander = [&]() -> task<> {
    co_await abroad.schedule();
    co_await home.schedule();
  };
  const auto work = [&]() -> detached {
    co_await home.schedule();
    co_await coracle::when_all(wander());
    resumed_on = coracle::current_executor();
  };
  work();
  CHECK(home.run_one());
  CHECK(abroad.run_one());
  CHECK(home.run_one());
  CHECK(resumed_on == &home);
}

TEST_CASE("when_all: outside any executor the awaiter goes on where the last child ended, outside") {
  coracle::run_loop loop;
  const coracle::executor* resumed_on = &loop;
  std::thread::id resumed_by;
  const auto work = [&]() -> detached {
    co_await coracle::when_all(loop.schedule(), nothing());
    resumed_on = coracle::current_executor();
    resumed_by = std::this_thread::get_id();
  };
  work();
  std::thread runner([&] { CHECK(loop.run_one()); });
  const std::thread::id runner_id = runner.get_id();
  runner.join();
  CHECK(resumed_on == nullptr);
  CHECK(resumed_by == runner_id);
}

TEST_CASE("when_all: children inherit the awaiter's environment, tasks and awaitables below them alike") {
  const coracle::stop_source source;
  const coracle::task_local<int> number{0};
  int inherited = 0;
  const auto child = [&]() -> task<> {
    const auto token = co_await coracle::this_task::stop_token();
    inherited += token.stop_possible() ? co_await number.value() : 0;
  };
  const auto parent = [&]() -> task<> {
    std::vector<task<>> more;
    more.push_back(child());
    co_await coracle::when_all(child(), coracle::when_all(child()), coracle::when_all(std::move(more)));
  };
  coracle::sync_wait(coracle::with_stop(coracle::with_value(parent(), number, 7), source.get_token()));
  CHECK(inherited == 3 * 7);
}

// ---- lifetime and cost ---------------------------------------------------------------------------------

TEST_CASE("when_all: destroyed before it was awaited it starts nothing and frees its children") {
  const auto owner = std::make_shared<int>(1);
  bool started = false;
  const auto child = [&started](std::shared_ptr<int> kept) -> task<int> {
    started = true;
    co_return *kept;
  };
  {
    const auto all = coracle::when_all(child(owner), child(owner));
    static_cast<void>(all);
    CHECK(owner.use_count() == 3);
  }
  CHECK_FALSE(started);
  CHECK(owner.use_count() == 1);
}

TEST_CASE("when_all: the variadic form allocates one stop source, when_all_ready nothing" *
          doctest::skip(!coracle::testing::allocations_are_counted)) {
  async_manual_reset_event event;
  std::size_t counts[4] = {};
  const auto work = [&]() -> detached {
    coracle::trim_frame_memory();
    counts[0] = coracle::testing::allocations();
    co_await coracle::when_all(event, event);
    counts[1] = coracle::testing::allocations();
    event.reset();
    counts[2] = coracle::testing::allocations();
    co_await coracle::when_all_ready(event, coracle::when_all_ready(event, event));
    counts[3] = coracle::testing::allocations();
  };
  work();
  event.set();
  event.set();
  CHECK(counts[1] - counts[0] == 1);
  CHECK(counts[3] - counts[2] == 0);
}

TEST_CASE(
    "when_all: a vector of tasks costs one allocation for the results, if there are any; the stop source is "
    "recycled" *
    doctest::skip(!coracle::testing::allocations_are_counted)) {
  async_manual_reset_event go;
  std::vector<task<>> voids;
  std::vector<task<int>> values;
  for (int i = 0; i != 10; ++i) {
    voids.push_back(nothing());
    values.push_back(give(i));
  }
  std::size_t counts[3] = {};
  const auto work = [&]() -> detached {
    co_await go;
    counts[0] = coracle::testing::allocations();
    co_await coracle::when_all(std::move(voids));
    counts[1] = coracle::testing::allocations();
    const auto results = co_await coracle::when_all(std::move(values));
    counts[2] = coracle::testing::allocations();
  };
  work();
  go.set();
  CHECK(counts[1] - counts[0] == 0);
  CHECK(counts[2] - counts[1] == 1);
}
TEST_CASE("when_all: another range costs one allocation for the children" *
          doctest::skip(!coracle::testing::allocations_are_counted)) {
  async_manual_reset_event go;
  std::array<task<>, 2> tasks = {nothing(), nothing()};
  std::vector<task<>> none;
  std::size_t counts[2] = {};
  const auto work = [&]() -> detached {
    co_await coracle::when_all(std::move(none));  // the stop source is recycled
    co_await go;
    counts[0] = coracle::testing::allocations();
    co_await coracle::when_all(std::move(tasks));
    counts[1] = coracle::testing::allocations();
  };
  work();
  go.set();
  CHECK(counts[1] - counts[0] == 1);
}

// ---- awaitables that know nothing of coracle ------------------------------------------------------------

/// An event as others write it: resumes its waiters one after the other inside set().
struct foreign_event {
  std::vector<std::coroutine_handle<>> waiting;
  struct awaiter {
    explicit awaiter(foreign_event& its_event) noexcept : event(its_event) {}
    bool await_ready() const noexcept { return false; }
    void await_suspend(std::coroutine_handle<> suspended) const { event.waiting.push_back(suspended); }
    void await_resume() const noexcept {}
    foreign_event& event;
  };
  awaiter operator co_await() noexcept { return awaiter{*this}; }
  void set() {
    for (const auto each : std::exchange(waiting, {})) each.resume();
  }
};

TEST_CASE("when_all: two of them that one foreign event ends, inside a coroutine of a loop, both continue") {
  coracle::run_loop loop;
  foreign_event event;
  int joined = 0;
  const auto join = [&]() -> detached {
    co_await loop.schedule();
    co_await coracle::when_all(event, nothing());
    ++joined;
  };
  const auto set = [&]() -> detached {
    co_await loop.schedule();
    event.set();
    co_await nothing();
  };
  join();
  join();
  set();
  CHECK(loop.run_pending() == 3);
  CHECK(joined == 2);
}
}  // namespace
