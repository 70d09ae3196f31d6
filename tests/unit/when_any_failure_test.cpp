// tests/unit/when_any_failure_test.cpp -- errors, cancellations and stop requests.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <coracle/compose/as_outcome.hpp>
#include <coracle/compose/when_any.hpp>
#include <coracle/core/sync_wait.hpp>
#include <coracle/core/task.hpp>
#include <coracle/core/with_environment.hpp>
#include <coracle/exec/run_loop.hpp>
#include <coracle/sync/async_auto_reset_event.hpp>
#include <coracle/sync/async_manual_reset_event.hpp>
#include <coracle/sync/async_semaphore.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "../support/detached.hpp"
#include "child_tasks.hpp"

namespace {
using coracle::async_manual_reset_event;
using coracle::operation_cancelled;
using coracle::stop_reason;
using coracle::sync_wait;
using coracle::task;
using coracle::when_any;
using coracle_test::after;
using coracle_test::detached;
using coracle_test::fail;
using coracle_test::give;

/// Fails rather than being cancelled.
task<int> fail_when_stopped(async_manual_reset_event& event, const char* what) {
  try {
    co_await coracle::throwing(event);
  } catch (const operation_cancelled&) {
    throw std::runtime_error(what);
  }
  co_return 0;
}
task<int> note_reason(async_manual_reset_event& event, stop_reason& seen) {
  try {
    co_await coracle::throwing(event);
  } catch (const operation_cancelled& cancelled) {
    seen = cancelled.reason();
    throw;
  }
  co_return 0;
}

TEST_CASE("when_any: losers are stopped because they lost the race, and joined before it goes on") {
  coracle::run_loop loop;
  async_manual_reset_event never, win;
  stop_reason seen = stop_reason::none;
  bool over = false;
  std::vector<std::string> log;
  const auto clean_up_slowly = [&]() -> task<> {
    try {
      co_await coracle::throwing(never);
    } catch (const operation_cancelled&) {
      log.emplace_back("stopped");
    }
    co_await coracle::shielded(loop.schedule());
    log.emplace_back("cleaned up");
  };
  const auto work = [&]() -> detached {
    co_await when_any(note_reason(never, seen), win, clean_up_slowly());
    over = true;
    log.emplace_back("over");
  };
  work();
  win.set();
  CHECK(seen == stop_reason::lost_race);
  CHECK_FALSE(over);
  loop.run_pending();
  CHECK(log == std::vector<std::string>{"stopped", "cleaned up", "over"});
}

TEST_CASE("when_any: an error ends the race as a value does, and is thrown when the others have ended") {
  async_manual_reset_event never;
  stop_reason seen = stop_reason::none;
  CHECK_THROWS_WITH_AS(static_cast<void>(sync_wait(when_any(note_reason(never, seen), fail("first"), never))),
                       "first", std::runtime_error);
  CHECK(seen == stop_reason::lost_race);
}

TEST_CASE("when_any: an error of a loser is thrown rather than the value of the winner lost with it") {
  async_manual_reset_event never;
  CHECK_THROWS_WITH_AS(static_cast<void>(sync_wait(when_any(fail_when_stopped(never, "loser"), give(1)))),
                       "loser", std::runtime_error);
  CHECK_THROWS_WITH_AS(static_cast<void>(sync_wait(when_any(fail_when_stopped(never, "a"),
                                                            fail_when_stopped(never, "b"), fail("c")))),
                       "3 errors: c; a; b", coracle::error_group);
}

TEST_CASE("when_any: a child that is cancelled by itself leaves the race; if all are, so is the race") {
  coracle::stop_source source;
  async_manual_reset_event never, event;
  std::size_t index = 9;
  const auto work = [&]() -> detached {
    const auto first = co_await when_any(coracle::with_stop(after(never, 1), source.get_token()), event);
    index = first.index();
  };
  work();
  source.request_stop();
  CHECK(index == 9);
  event.set();
  CHECK(index == 1);
  const auto gives_up = []() -> task<> {
    throw operation_cancelled(stop_reason::timed_out);
    co_return;
  };
  CHECK_THROWS_WITH_AS(static_cast<void>(sync_wait(when_any(gives_up(), gives_up()))),
                       "operation cancelled: its deadline has passed", operation_cancelled);
}

TEST_CASE("when_any: stopped before it takes no event") {
  coracle::stop_source source;
  source.request_stop();
  coracle::async_auto_reset_event set{true};
  const auto race = [&]() -> task<> { co_await when_any(set, set); };
  CHECK_THROWS_AS(sync_wait(coracle::with_stop(race(), source.get_token())), operation_cancelled);
  sync_wait(set);
}

TEST_CASE("when_any: stopped before it starts no child") {
  coracle::stop_source source;
  source.request_stop(stop_reason::shutting_down);
  int started = 0;
  const auto child = [&]() -> task<> {
    ++started;
    co_return;
  };
  const auto race = [&]() -> task<> { co_await when_any(child(), child()); };
  CHECK_THROWS_WITH_AS(sync_wait(coracle::with_stop(race(), source.get_token())),
                       "operation cancelled: shutting down", operation_cancelled);
  CHECK(started == 0);
}

TEST_CASE("when_any: a stop request while it waits stops all, for its reason, and they are joined") {
  coracle::stop_source source;
  async_manual_reset_event never;
  stop_reason seen = stop_reason::none, thrown = stop_reason::none;
  const auto race = [&]() -> task<> { co_await when_any(note_reason(never, seen), never); };
  const auto work = [&]() -> detached {
    try {
      co_await coracle::with_stop(race(), source.get_token());
    } catch (const operation_cancelled& e) {
      thrown = e.reason();
    }
  };
  work();
  source.request_stop(stop_reason::timed_out);
  CHECK(seen == stop_reason::timed_out);
  CHECK(thrown == stop_reason::timed_out);
}

TEST_CASE("when_any: a stop request to all gives its reason, though a child has left before for another") {
  async_manual_reset_event never;
  const auto reason_of = [&](auto race) {
    coracle::stop_source first, all;
    stop_reason thrown = stop_reason::none;
    const auto work = [&]() -> detached {
      try {
        co_await coracle::stop_when(race(first.get_token()), all.get_token());
      } catch (const operation_cancelled& e) {
        thrown = e.reason();
      }
    };
    work();
    first.request_stop(stop_reason::shutting_down);
    CHECK(thrown == stop_reason::none);
    all.request_stop(stop_reason::timed_out);
    return thrown;
  };
  const auto any = [&](const coracle::stop_token& token) {
    return when_any(coracle::stop_when(never, token), never);
  };
  const auto any_success = [&](const coracle::stop_token& token) {
    return coracle::when_any_succeeds(coracle::stop_when(never, token), never);
  };
  CHECK(reason_of(any) == stop_reason::timed_out);
  CHECK(reason_of(any_success) == stop_reason::timed_out);
}

TEST_CASE("when_any: a stop request that a child answers with a value is answered so") {
  coracle::stop_source source;
  async_manual_reset_event never;
  int value = 0;
  const auto finish_when_stopped = [&]() -> task<int> {
    try {
      co_await coracle::throwing(never);
    } catch (const operation_cancelled&) {
    }
    co_return 8;
  };
  const auto race = [&]() -> task<> { value = std::get<1>(co_await when_any(never, finish_when_stopped())); };
  const auto work = [&]() -> detached { co_await coracle::with_stop(race(), source.get_token()); };
  work();
  source.request_stop();
  CHECK(value == 8);
}
}  // namespace
