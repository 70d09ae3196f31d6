// tests/unit/from_callback_stop_test.cpp -- stop requests against operations of callback APIs.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <coracle/compose/as_outcome.hpp>
#include <coracle/compose/from_callback.hpp>
#include <coracle/core/task.hpp>
#include <coracle/core/with_environment.hpp>
#include <coracle/exec/run_loop.hpp>
#include <coracle/testing/lifetime_probe.hpp>
#include <optional>
#include <stdexcept>
#include <string>

#include "../support/detached.hpp"
#include "callback_api.hpp"

namespace {
using coracle::completion;
using coracle::from_callback;
using coracle::task;
using coracle::testing::lifetime_probe;
using coracle::testing::lifetimes;
using coracle_test::callback_api::api;
using coracle_test::callback_api::note;
using coracle_test::callback_api::seen;

TEST_CASE("from_callback: stop requested before: nothing is initiated") {
  api<> calls;
  coracle::stop_source source;
  source.request_stop(coracle::stop_reason::shutting_down);
  seen found;
  coracle_test::run_detached(
      coracle::with_stop(note(from_callback<int>(calls.start(), calls.cancel()), found), source.get_token()));
  CHECK(found.cancelled == coracle::stop_reason::shutting_down);
  CHECK_FALSE(calls.handler.has_value());
  CHECK(calls.cancels == 0);
}

TEST_CASE(
    "from_callback: stop requested during: cancel() is called once, the await ends when the operation does") {
  api<> calls;
  coracle::stop_source source;
  seen found;
  coracle_test::run_detached(
      coracle::with_stop(note(from_callback<int>(calls.start(), calls.cancel()), found), source.get_token()));
  source.request_stop(coracle::stop_reason::timed_out);
  CHECK(calls.cancels == 1);
  CHECK_FALSE(found.over);
  SUBCASE("the API says that it was cancelled") {
    calls.handler->cancelled();
    CHECK(found.cancelled == coracle::stop_reason::timed_out);
  }
  SUBCASE("the API drops the completion") {
    calls.handler.reset();
    CHECK(found.cancelled == coracle::stop_reason::timed_out);
  }
  SUBCASE("the API had a value all the same") {
    calls.complete(9);
    CHECK(found.value == 9);
    CHECK(found.cancelled == coracle::stop_reason::none);
  }
  SUBCASE("the API failed") {
    calls.handler->fail(std::make_exception_ptr(std::runtime_error("broken pipe")));
    CHECK(found.error == "broken pipe");
  }
  CHECK(found.over);
}

TEST_CASE("from_callback: stop requested inside initiate() cancels when that has returned") {
  coracle::stop_source source;
  std::string order;
  std::optional<completion<int>> handler;
  const auto start = [&](auto done) {
    handler.emplace(std::move(done));
    source.request_stop();
    order += "started ";
  };
  const auto cancel = [&] {
    order += "cancelled ";
    handler->cancelled();
  };
  seen found;
  coracle_test::run_detached(
      coracle::with_stop(note(from_callback<int>(start, cancel), found), source.get_token()));
  CHECK(order == "started cancelled ");
  CHECK(found.cancelled == coracle::stop_reason::requested);
}

TEST_CASE(
    "from_callback: dropped or called inside initiate(), where stop is requested: cancelled, or its value") {
  for (const bool called : {false, true}) {
    coracle::stop_source source;
    const auto start = [&](auto done) {
      source.request_stop(coracle::stop_reason::shutting_down);
      if (called) done(3);
    };
    int cancels = 0;
    const auto cancel = [&] { ++cancels; };
    seen found;
    coracle_test::run_detached(
        coracle::with_stop(note(from_callback<int>(start, cancel), found), source.get_token()));
    CHECK(cancels == 0);
    CHECK(found.error.empty());
    CHECK(found.value == (called ? 3 : 0));
    CHECK(found.cancelled == (called ? coracle::stop_reason::none : coracle::stop_reason::shutting_down));
  }
}

TEST_CASE("from_callback: stop requested after the completion does not call cancel()") {
  coracle::run_loop loop;
  api<> calls;
  coracle::stop_source source;
  seen found;
  coracle_test::run_detached_on(
      loop,
      coracle::with_stop(note(from_callback<int>(calls.start(), calls.cancel()), found), source.get_token()));
  CHECK(loop.run_one());
  calls.complete(3);  // on its way to the loop
  source.request_stop();
  CHECK(calls.cancels == 0);
  CHECK_FALSE(found.over);
  CHECK(loop.run_one());
  CHECK(found.value == 3);
}

TEST_CASE("from_callback: without cancel() a stop request waits for the operation and leaves its value") {
  api<> calls;
  coracle::stop_source source;
  seen found;
  coracle_test::run_detached(
      coracle::with_stop(note(from_callback<int>(calls.start()), found), source.get_token()));
  source.request_stop();
  CHECK_FALSE(found.over);
  calls.complete(4);
  CHECK(found.value == 4);
}

TEST_CASE("from_callback: a completion that is called inside cancel() goes on after the last callback") {
  api<> calls;
  coracle::stop_source source;
  seen found;
  bool over_inside_callback = true;
  const auto cancel = [&] { calls.handler->cancelled(); };
  coracle_test::run_detached(
      coracle::with_stop(note(from_callback<int>(calls.start(), cancel), found), source.get_token()));
  coracle::stop_callback later{source.get_token(), [&]() noexcept { over_inside_callback = found.over; }};
  source.request_stop();
  CHECK_FALSE(over_inside_callback);
  CHECK(found.over);
}

TEST_CASE("from_callback: cancelled() without a stop request is a cancellation, too") {
  seen found;
  const auto refuse = [](auto done) { done.cancelled(); };
  coracle_test::run_detached(note(from_callback<int>(refuse), found));
  CHECK(found.cancelled == coracle::stop_reason::requested);
}

TEST_CASE("from_callback: below as_outcome() a cancelled operation ends the task where it waits") {
  api<> calls;
  bool handled = false;
  lifetimes log;
  std::optional<coracle::stop_reason> ended;
  coracle::stop_source source;
  const auto wait = [&]() -> task<int> {
    const lifetime_probe local(log);
    const auto cancel = [&] { calls.handler->cancelled(); };
    try {
      co_return co_await from_callback<int>(calls.start(), cancel);
    } catch (...) {
      handled = true;
      throw;
    }
  };
  const auto look = [&]() -> task<> {
    const auto end = co_await coracle::as_outcome(wait());
    ended = end.reason();
  };
  SUBCASE("while it runs") {
    coracle_test::run_detached(coracle::with_stop(look(), source.get_token()));
    CHECK(!ended);
    source.request_stop(coracle::stop_reason::shutting_down);
  }
  SUBCASE("before it is initiated") {
    source.request_stop(coracle::stop_reason::shutting_down);
    coracle_test::run_detached(coracle::with_stop(look(), source.get_token()));
    CHECK(!calls.handler);
  }
  CHECK(ended == coracle::stop_reason::shutting_down);
  CHECK(!handled);
  CHECK(log.alive == 0);
}
}  // namespace
