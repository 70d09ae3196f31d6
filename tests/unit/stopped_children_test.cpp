// tests/unit/stopped_children_test.cpp -- children that a stop request ends where they are suspended.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <coracle/compose/as_outcome.hpp>
#include <coracle/compose/async_scope.hpp>
#include <coracle/compose/for_each_concurrent.hpp>
#include <coracle/compose/when_all.hpp>
#include <coracle/compose/when_any.hpp>
#include <coracle/compose/with_scope.hpp>
#include <coracle/core/sync_wait.hpp>
#include <coracle/core/task.hpp>
#include <coracle/core/with_environment.hpp>
#include <coracle/sync/async_manual_reset_event.hpp>
#include <coracle/testing/lifetime_probe.hpp>
#include <coracle/testing/poll.hpp>
#include <coracle/time/hedge.hpp>
#include <coracle/time/timeout.hpp>
#include <stdexcept>
#include <utility>

#include "stopped_bodies.hpp"

namespace {
using coracle::as_outcome;
using coracle::async_manual_reset_event;
using coracle::operation_cancelled;
using coracle::stop_reason;
using coracle::stop_source;
using coracle::sync_wait;
using coracle::task;
using coracle::throwing;
using coracle::when_any;
using coracle::with_stop;
using coracle::testing::lifetime_probe;
using coracle::testing::poll;
using coracle_test::stopped_bodies::innermost_first;
using coracle_test::stopped_bodies::stop_quietly;
using coracle_test::stopped_bodies::trace;
using coracle_test::stopped_bodies::wait_below_named;
using coracle_test::stopped_bodies::wait_in_task;

TEST_CASE("stopped task: a loser of when_any whose outcome is taken is destroyed where it waits") {
  trace t;
  async_manual_reset_event never;
  const auto race = [&]() -> task<> {
    auto give = []() -> task<int> { co_return 1; };
    auto first = co_await when_any(as_outcome(wait_below_named(t, never)), give());
    CHECK(first.index() == 1);
    CHECK(t.log.destroyed == innermost_first);
    CHECK(t.is_untouched());
  };
  sync_wait(race());
}

/// Stops `work` below as_outcome() while it waits.
TEST_CASE("stopped task: below a when_all the children are destroyed where they wait, then its task") {
  trace a, b, outer;
  async_manual_reset_event never;
  const auto both = [&]() -> task<> {
    const lifetime_probe local(outer.log, 1);
    try {
      co_await coracle::when_all(wait_below_named(a, never), never, wait_below_named(b, never));
    } catch (...) {
      outer.handled = true;
      throw;
    }
    outer.went_on = true;
  };
  const auto around = [&]() -> task<> {
    const lifetime_probe local(outer.log, 2);
    co_await coracle::when_all(both());
    outer.went_on = true;
  };
  stop_quietly(around());
  CHECK(a.log.destroyed == innermost_first);
  CHECK(b.log.destroyed == innermost_first);
  CHECK(outer.log.destroyed == std::vector{1, 2});
  CHECK(a.is_untouched());
  CHECK(b.is_untouched());
  CHECK(outer.is_untouched());
}

TEST_CASE("stopped task: as_outcome directly around a when_all, and a range of tasks") {
  trace a, b;
  async_manual_reset_event never;
  stop_quietly(coracle::when_all(wait_below_named(a, never), wait_below_named(b, never)));
  CHECK(a.log.destroyed == innermost_first);
  CHECK(a.is_untouched());
  CHECK(b.is_untouched());
  trace all;
  std::vector<task<int>> tasks;
  for (int i = 0; i != 3; ++i) tasks.push_back(wait_below_named(all, never));
  stop_quietly(coracle::when_all(std::move(tasks)));
  CHECK(all.log.alive == 0);
  CHECK(all.is_untouched());
}

TEST_CASE("stopped task: below as_outcome the losers of a race are destroyed, and the race goes on") {
  trace loser, late;
  async_manual_reset_event never, event;
  const auto give = []() -> task<int> { co_return 1; };
  const auto race = [&]() -> task<std::size_t> {
    const auto first = co_await when_any(wait_below_named(loser, never), never, give());
    CHECK(loser.log.destroyed == innermost_first);
    co_return first.index();
  };
  auto end = sync_wait(as_outcome(race()));
  CHECK(std::move(end).get() == 2);
  CHECK(loser.is_untouched());
  const auto stopped = [&]() -> task<> {
    co_await when_any(wait_below_named(late, never), wait_below_named(late, event));
    late.went_on = true;
  };
  stop_quietly(stopped());
  CHECK(late.log.alive == 0);
  CHECK(late.is_untouched());
}

TEST_CASE("stopped task: a child that fails beside stopped ones is thrown, and their handlers do not run") {
  trace waits, outer;
  async_manual_reset_event never;
  const auto fail = []() -> task<> {
    throw std::runtime_error("broken");
    co_return;
  };
  const auto both = [&]() -> task<> {
    try {
      co_await coracle::when_all(wait_below_named(waits, never), fail());
    } catch (const std::runtime_error&) {
      outer.handled = true;
    }
    outer.went_on = true;
  };
  auto end = sync_wait(as_outcome(both()));
  CHECK(end.has_value());
  CHECK(outer.handled);
  CHECK(outer.went_on);
  CHECK(waits.log.destroyed == innermost_first);
  CHECK(waits.is_untouched());
}

TEST_CASE("stopped task: a when_all that starts once stop is requested ends its task") {
  trace t;
  async_manual_reset_event never;
  const auto both = [&]() -> task<> {
    const lifetime_probe local(t.log, 1);
    co_await coracle::when_all(never, never);
    t.went_on = true;
  };
  stop_source source;
  source.request_stop();
  auto end = sync_wait(with_stop(as_outcome(both()), source.get_token()));
  CHECK(end.is_cancelled());
  CHECK(t.log.alive == 0);
  CHECK(t.is_untouched());
}

TEST_CASE("stopped task: below a when_all without as_outcome, or below throwing(), the handlers run") {
  trace plain, below;
  async_manual_reset_event never;
  const auto both = [&](trace& t) -> task<> {
    co_await coracle::when_all(wait_below_named(t, never), never);
  };
  stop_source source;
  auto thrown = poll(with_stop(both(plain), source.get_token()));
  source.request_stop();
  CHECK(thrown.run());
  CHECK_THROWS_AS(thrown.get(), operation_cancelled);
  CHECK(plain.handled);
  const auto throws = [&]() -> task<> { co_await throwing(both(below)); };
  stop_quietly(throws());
  CHECK(below.handled);
}

TEST_CASE("stopped task: below a timeout, a hedge and a concurrent loop they are destroyed where they wait") {
  using namespace std::chrono_literals;
  trace timed, hedged, looped;
  async_manual_reset_event never;
  const auto in_time = [&]() -> task<> {
    co_await coracle::timeout(wait_below_named(timed, never), 1h);
    timed.went_on = true;
  };
  stop_quietly(in_time());
  CHECK(timed.log.destroyed == innermost_first);
  CHECK(timed.is_untouched());

  const auto attempt = [&] { return wait_below_named(hedged, never); };
  const auto with_hedge = [&]() -> task<> {
    co_await coracle::hedge(1h, attempt);
    hedged.went_on = true;
  };
  stop_quietly(with_hedge());
  CHECK(hedged.log.destroyed == innermost_first);
  CHECK(hedged.is_untouched());

  const std::vector<int> numbers{1, 2, 3};
  const auto one = [&](int) -> task<> { co_await wait_below_named(looped, never); };
  const auto loop = [&]() -> task<> {
    co_await coracle::for_each_concurrent(numbers, 2, one);
    looped.went_on = true;
  };
  stop_quietly(loop());
  CHECK(looped.log.alive == 0);
  CHECK(looped.log.destroyed.size() == 10);
  CHECK(looped.is_untouched());
}

TEST_CASE("stopped task: below with_scope the body and the children are destroyed, then the task around") {
  trace body_trace, child, outer;
  async_manual_reset_event never;
  const auto body = [&](coracle::async_scope& scope) -> task<int> {
    scope.spawn(wait_below_named(child, never));
    co_return co_await wait_below_named(body_trace, never);
  };
  const auto around = [&]() -> task<> {
    const lifetime_probe local(outer.log, 1);
    try {
      co_await coracle::with_scope(body);
    } catch (...) {
      outer.handled = true;
    }
    outer.went_on = true;
  };
  stop_quietly(around());
  CHECK(body_trace.log.destroyed == innermost_first);
  CHECK(child.log.destroyed == innermost_first);
  CHECK(outer.log.alive == 0);
  CHECK(body_trace.is_untouched());
  CHECK(child.is_untouched());
  CHECK(outer.is_untouched());
}

TEST_CASE("stopped task: one that joins a scope is destroyed once the children are") {
  trace child, outer;
  async_manual_reset_event never;
  const auto around = [&]() -> task<> {
    const lifetime_probe local(outer.log, 1);
    coracle::async_scope scope;
    scope.spawn(wait_below_named(child, never));
    co_await scope.join();
    outer.went_on = true;
  };
  stop_quietly(around());
  CHECK(child.log.destroyed == innermost_first);
  CHECK(child.is_untouched());
  CHECK(outer.log.alive == 0);
  CHECK(outer.is_untouched());

  stop_source source;
  source.request_stop();
  const auto late = [&]() -> task<> {
    const lifetime_probe local(outer.log, 2);
    coracle::async_scope scope;
    co_await scope.join();
    outer.went_on = true;
  };
  CHECK(sync_wait(with_stop(as_outcome(late()), source.get_token())).is_cancelled());
  CHECK(outer.log.alive == 0);
  CHECK(outer.is_untouched());
}

TEST_CASE("stopped task: in a scope, handlers run where the request comes from outside") {
  trace child, joined;
  async_manual_reset_event never;
  const auto around = [&]() -> task<> {
    coracle::async_scope scope;
    scope.spawn(wait_below_named(child, never));
    co_await scope.join();
  };
  stop_source source;
  auto waiting = poll(with_stop(around(), source.get_token()));
  source.request_stop();
  CHECK(waiting.run());
  CHECK_THROWS_AS(waiting.get(), operation_cancelled);
  CHECK(child.handled);

  const auto body = [&](coracle::async_scope&) -> task<> { co_await wait_below_named(joined, never); };
  const auto scoped = [&]() -> task<> { co_await throwing(coracle::with_scope(body)); };
  stop_quietly(scoped());
  CHECK(joined.handled);
}

/// Awaits a task and takes its end as a value; counts how often it is asked.
class counting_parent : coracle::detail::shared_frame {
 public:
  explicit counting_parent(const coracle::environment& inherited) : shared_frame(&over, &functions) {
    promise().set_environment(&inherited);
  }
  template <class T>
  void await(task<T>& work) {
    auto awaiter = work.when_ready();
    CHECK(coracle::detail::suspend_into(awaiter, handle()));
    CHECK(ended == 0);
  }

  int asked = 0, ended = 0;

 private:
  static void over(basic_callback_frame* self) { ++static_cast<counting_parent*>(self)->ended; }
  static coracle::detail::awaiting_frame above(coracle::detail::shared_promise& self, stop_reason) noexcept {
    ++static_cast<counting_parent&>(from(self)).asked;
    return {nullptr, coracle::detail::awaiting_frame::kind::quiet};
  }
  static constexpr coracle::detail::shared_promise::functions functions{
      &coracle::detail::shared_promise::ignore_failure, &above};
};

struct nested {
  enum kind { races, groups, timeouts, scopes };
  static task<> down(int n, kind is, const async_manual_reset_event& event) {
    if (n == 0) {
      co_await event;
    } else if (is == races) {
      co_await when_any(down(n - 1, is, event), wait_in_task(event));
    } else if (is == groups) {
      co_await coracle::when_all(down(n - 1, is, event), wait_in_task(event));
    } else if (is == timeouts) {
      co_await coracle::timeout(down(n - 1, is, event), std::chrono::hours(1));
    } else {
      const auto body = [&](coracle::async_scope& scope) -> task<> {
        scope.spawn(wait_in_task(event));
        co_await down(n - 1, is, event);
      };
      co_await coracle::with_scope(body);
    }
  }
};

TEST_CASE("stopped task: a request through many levels asks each of them once how its children end") {
  for (const auto is : {nested::races, nested::groups, nested::timeouts, nested::scopes}) {
    const async_manual_reset_event never;
    stop_source source;
    coracle::environment inherited;
    inherited.stop = source.get_token();
    counting_parent parent(inherited);
    task<> work = nested::down(20, is, never);
    parent.await(work);
    // A frame above the request, whose children are not stopped.
    const coracle::environment empty;
    counting_parent outside(empty);
    task<> below = with_stop(nested::down(20, is, never), source.get_token());
    outside.await(below);
    source.request_stop();
    CHECK(parent.ended == 1);
    CHECK(outside.ended == 1);
    CHECK(work.is_ready());
    CHECK(below.is_ready());
    // 21 times or more without the answers that the levels keep.
    CHECK(parent.asked <= 2);
    CHECK(outside.asked <= 3);
  }
}

TEST_CASE("stopped task: an answer holds for children that were stopped together, and for their reason") {
  trace own, loses;
  async_manual_reset_event never;
  stop_source source;
  const auto inner = [&]() -> task<> {
    co_await when_any(with_stop(wait_below_named(own, never), source.get_token()),
                      wait_below_named(loses, never));
  };
  const auto outer = [&]() -> task<int> {
    co_await inner();
    co_return 1;
  };
  async_manual_reset_event event;
  auto waiting = poll(when_any(outer(), event));
  CHECK_FALSE(waiting.ready());
  source.request_stop(stop_reason::lost_race);  // not by either race: the handlers run
  waiting.run();
  CHECK(own.handled);
  CHECK_FALSE(waiting.ready());
  event.set();
  CHECK(waiting.run());
  CHECK(waiting.get().index() == 1);
  CHECK(loses.log.destroyed == innermost_first);
  CHECK(loses.is_untouched());
}

/// Requests stop below that many combinators, and then waits. Counts the handlers that run.
task<> stop_below_all(int combinators, stop_source& source, int& handlers) {
  try {
    if (combinators != 0) {
      co_await coracle::when_all(stop_below_all(combinators - 1, source, handlers));
    } else {
      const async_manual_reset_event never;
      source.request_stop();
      co_await never;
    }
  } catch (const operation_cancelled&) {
    ++handlers;
    throw;
  }
}
task<> stop_below_any(int combinators, stop_source& source, int& handlers) {
  const async_manual_reset_event never;
  try {
    if (combinators != 0) {
      co_await when_any(stop_below_any(combinators - 1, source, handlers), never);
    } else {
      source.request_stop();
      co_await never;
    }
  } catch (const operation_cancelled&) {
    ++handlers;
    throw;
  }
}
TEST_CASE("stopped task: below combinators of any depth, of which a late one starts its children later") {
  constexpr int many = 3'000;
  for (auto* const stop_below : {&stop_below_all, &stop_below_any}) {
    stop_source source;
    int handlers = 0;
    const auto end = sync_wait(as_outcome(with_stop(stop_below(many, source, handlers), source.get_token())));
    CHECK(end.is_cancelled());
    CHECK(handlers == 0);
  }
}
}  // namespace
