// tests/unit/when_all_failure_test.cpp -- errors, cancellations and stop requests.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <coracle/compose/as_outcome.hpp>
#include <coracle/compose/via.hpp>
#include <coracle/compose/when_all.hpp>
#include <coracle/core/sync_wait.hpp>
#include <coracle/core/task.hpp>
#include <coracle/core/with_environment.hpp>
#include <coracle/exec/run_loop.hpp>
#include <coracle/exec/static_thread_pool.hpp>
#include <coracle/sync/async_manual_reset_event.hpp>
#include <coroutine>
#include <stdexcept>
#include <string>
#include <vector>

#include "../support/detached.hpp"
#include "child_tasks.hpp"

namespace {
using coracle::async_manual_reset_event;
using coracle::task;
using coracle_test::after;
using coracle_test::detached;
using coracle_test::fail;
using coracle_test::fail_after;
using coracle_test::give;
using coracle_test::message_of;
using coracle_test::nothing;

TEST_CASE("when_all: the first error in time stops the others, and is thrown once all have ended") {
  async_manual_reset_event never, second;
  std::string caught;
  std::vector<std::string> log;
  const auto end_slowly = [&](async_manual_reset_event& event) -> task<int> {
    try {
      co_await coracle::throwing(event);
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
      co_await coracle::throwing(event);
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

TEST_CASE("when_all: a task that was left out has no error, whatever was in its frame before") {
  async_manual_reset_event never;
  const auto fail_when_stopped = [&]() -> task<> {
    try {
      co_await coracle::throwing(never);
    } catch (const coracle::operation_cancelled&) {
      throw std::runtime_error("first");
    }
  };
  const auto fail_void = [](const char* what) -> task<> {
    throw std::runtime_error(what);
    co_return;
  };
  for (int i = 0; i != 4; ++i) {
    CHECK_THROWS_AS(coracle::sync_wait(fail_void("whose frame the next has")), std::runtime_error);
  }
  std::vector<task<>> tasks;
  tasks.push_back(fail_when_stopped());
  for (const char* each : {"second", "left out", "left out"}) tasks.push_back(fail_void(each));
  std::vector<std::string> errors;
  try {
    coracle::sync_wait(coracle::when_all(std::move(tasks)));
  } catch (const coracle::error_group& group) {
    for (const auto& each : group.errors()) errors.push_back(message_of(each));
  }
  CHECK(errors == std::vector<std::string>{"second", "first"});
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
      co_await coracle::throwing(waits);
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

/// Throws in one step of an await.
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

TEST_CASE("when_all_ready: tells an exception that was thrown while starting apart from a value") {
  const auto [started, failed] =
      coracle::sync_wait(coracle::when_all_ready(give(1), throws_at(throws_at::step::suspend)));
  CHECK(started.has_value());
  CHECK(message_of(failed.error()) == "suspend");
}
/// Throws when it is moved for the `until`-th time.
struct moves_so_often {
  explicit moves_so_often(int& until) : left(&until) {}
  moves_so_often(moves_so_often&& other) noexcept(false) : left(other.left) {
    if (--*left == 0) throw std::runtime_error("move");
  }
  int* left;
};
struct gives_one {
  explicit gives_one(int& until) : value(until) {}
  bool await_ready() const noexcept { return true; }
  void await_suspend(std::coroutine_handle<>) const noexcept {}
  moves_so_often await_resume() { return std::move(value); }
  moves_so_often value;
};

TEST_CASE("when_all_ready: where the move of a result throws, that is its error, or is thrown") {
  bool kept = false, thrown = false;
  for (int until = 2; until != 10; ++until) {  // not the move of the awaitable
    int left = until;
    try {
      auto [end, other] = sync_wait(coracle::when_all_ready(gives_one{left}, give(1)));
      CHECK(other.has_value());
      kept = kept || end.has_error();
    } catch (const std::runtime_error& error) {
      CHECK(error.what() == std::string("move"));
      thrown = true;
    }
  }
  CHECK(kept);
  CHECK(thrown);
}

TEST_CASE("when_all: a task that has ended before it with an error stops those that wait; on a pool, too") {
  coracle::static_thread_pool pool{1};
  for (const bool on_pool : {false, true}) {
    async_manual_reset_event never;
    const auto work = [&](task<int> ended) -> task<> {
      co_await ended.when_ready();
      co_await coracle::when_all(after(never, 1), std::move(ended), after(never, 2));
    };
    const auto run = [&] {
      on_pool ? coracle::sync_wait(coracle::schedule_on(work(fail("ended")), pool))
              : coracle::sync_wait(work(fail("ended")));
    };
    CHECK_THROWS_WITH_AS(run(), "ended", std::runtime_error);
  }
}

TEST_CASE("when_all: on a pool, what follows a child that fails at once is not started") {
  coracle::static_thread_pool pool{1};
  bool started = false;
  const auto note = [&]() -> task<int> {
    started = true;
    co_return 1;
  };
  CHECK_THROWS_WITH_AS(
      coracle::sync_wait(coracle::schedule_on(coracle::when_all(fail("first"), note(), note()), pool)),
      "first", std::runtime_error);
  CHECK_FALSE(started);
}

/// Fails in its await_resume(), without having suspended.
struct fails_at_once {
  bool await_ready() const noexcept { return true; }
  void await_suspend(std::coroutine_handle<>) const noexcept {}
  int await_resume() const { throw std::runtime_error("at once"); }
};

TEST_CASE("when_all: children that fail at once and are no tasks; on a pool, too") {
  coracle::static_thread_pool pool{1};
  const auto both = [] { return coracle::when_all(fails_at_once(), fails_at_once()); };
  CHECK_THROWS_WITH_AS(coracle::sync_wait(both()), "at once", std::runtime_error);
  CHECK_THROWS_WITH_AS(coracle::sync_wait(coracle::schedule_on(both(), pool)), "at once", std::runtime_error);
}

TEST_CASE("when_all: after a stop request a child that need not wait is not started, either") {
  coracle::stop_source source;
  const auto request = [&]() -> task<> {
    source.request_stop();
    co_return;
  };
  const async_manual_reset_event set{true};
  const auto end = coracle::sync_wait(
      coracle::as_outcome(coracle::with_stop(coracle::when_all(request(), set), source.get_token())));
  CHECK(end.is_cancelled());
}
}  // namespace
