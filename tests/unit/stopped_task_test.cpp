// tests/unit/stopped_task_test.cpp -- tasks that a stop request ends where they are suspended, and who is told.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <algorithm>
#include <coracle/compose/as_expected.hpp>
#include <coracle/compose/as_outcome.hpp>
#include <coracle/compose/async_scope.hpp>
#include <coracle/compose/for_each_concurrent.hpp>
#include <coracle/compose/via.hpp>
#include <coracle/compose/when_all.hpp>
#include <coracle/compose/when_any.hpp>
#include <coracle/compose/with_scope.hpp>
#include <coracle/core/sync_wait.hpp>
#include <coracle/core/task.hpp>
#include <coracle/core/with_environment.hpp>
#include <coracle/exec/inline_scheduler.hpp>
#include <coracle/generators/async_generator.hpp>
#include <coracle/sync/async_manual_reset_event.hpp>
#include <coracle/sync/async_mutex.hpp>
#include <coracle/testing/lifetime_probe.hpp>
#include <coracle/testing/poll.hpp>
#include <coracle/time/async_finally.hpp>
#include <coracle/time/hedge.hpp>
#include <coracle/time/timeout.hpp>
#include <coracle/utility/on_scope_exit.hpp>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "../support/run_on_stack.hpp"

namespace {
using coracle::as_optional;
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
using coracle::testing::lifetimes;
using coracle::testing::poll;

constexpr stop_reason reasons[] = {stop_reason::requested, stop_reason::timed_out, stop_reason::lost_race,
                                   stop_reason::sibling_failed, stop_reason::shutting_down};

/// Each notes that a handler has run, or that it went on.
struct trace {
  lifetimes log;
  bool handled = false;
  bool went_on = false;

  [[nodiscard]] bool is_untouched() const { return !handled && !went_on; }
};
[[gnu::noinline]] task<std::string> wait(trace& t, const async_manual_reset_event& event) {
  const lifetime_probe local(t.log, 1);
  co_await event;
  t.went_on = true;
  co_return "value";
}
[[gnu::noinline]] task<int> wait_below_opaque(trace& t, const async_manual_reset_event& event) {
  const lifetime_probe local(t.log, 2);
  const std::string value = co_await wait(t, event);
  t.went_on = true;
  co_return static_cast<int>(value.size());
}
// A call that the compiler may inline, of a result that fits into a word.
task<int> wait_below_visible(trace& t, const async_manual_reset_event& event) {
  const lifetime_probe local(t.log, 3);
  const int size = co_await wait_below_opaque(t, event);
  t.went_on = true;
  co_return size;
}
// One of a result that does not.
task<std::string> wait_below_class(trace& t, const async_manual_reset_event& event) {
  const lifetime_probe local(t.log, 4);
  const int size = co_await wait_below_visible(t, event);
  t.went_on = true;
  co_return std::to_string(size);
}
task<int> wait_below_named(trace& t, const async_manual_reset_event& event) {
  const lifetime_probe local(t.log, 5);
  auto named = wait_below_class(t, event);
  try {
    co_await std::move(named);
  } catch (...) {
    t.handled = true;
    throw;
  }
  t.went_on = true;
  co_return 5;
}
const std::vector innermost_first{1, 2, 3, 4, 5};
task<> wait_in_task(const async_manual_reset_event& event) { co_await event; }

// ---- as_outcome --------------------------------------------------------------------------------------

TEST_CASE("as_outcome: gives a value, an error, or why the work was stopped") {
  async_manual_reset_event never;
  const auto give = []() -> task<int> { co_return 3; };
  const auto fail = []() -> task<int> {
    throw std::runtime_error("broken");
    co_return 0;
  };
  CHECK(sync_wait(as_outcome(give())).get() == 3);
  auto failed = sync_wait(as_outcome(fail()));
  CHECK(failed.has_error());
  CHECK_THROWS_AS(std::move(failed).get(), std::runtime_error);
  for (const stop_reason why : reasons) {
    stop_source source;
    auto waiting = poll(with_stop(as_outcome(never), source.get_token()));
    source.request_stop(why);
    CHECK(waiting.run());
    CHECK(waiting.get().reason() == why);
  }
}

TEST_CASE("as_outcome: of an lvalue, of a function, of a reference and of nothing") {
  async_manual_reset_event set{true};
  int number = 7;
  const auto refer = [&]() -> task<int&> { co_return number; };
  CHECK(sync_wait(as_outcome(set)).has_value());
  CHECK(&sync_wait(as_outcome(refer)).get() == &number);
  auto named = refer();
  CHECK(&sync_wait(as_outcome(std::move(named))).get() == &number);
}

TEST_CASE("as_optional: is empty if the work was stopped, and throws its error") {
  async_manual_reset_event never, set{true};
  stop_source source;
  auto waiting = poll(with_stop(as_optional(never), source.get_token()));
  source.request_stop();
  CHECK(waiting.run());
  CHECK_FALSE(waiting.get().has_value());
  CHECK(sync_wait(as_optional(set)).has_value());
  const auto fail = []() -> task<int> {
    throw std::runtime_error("broken");
    co_return 0;
  };
  CHECK_THROWS_AS(sync_wait(as_optional(fail())), std::runtime_error);
}

TEST_CASE("as_expected: gives a value, or why there is none") {
  async_manual_reset_event never;
  int number = 7;
  const auto give = []() -> task<int> { co_return 3; };
  const auto refer = [&]() -> task<int&> { co_return number; };
  const auto nothing = []() -> task<> { co_return; };
  const auto fail = []() -> task<int> {
    throw std::runtime_error("broken");
    co_return 0;
  };
  CHECK(sync_wait(coracle::as_expected(give())).value() == 3);
  CHECK(&sync_wait(coracle::as_expected(refer)).value().get() == &number);
  CHECK(sync_wait(coracle::as_expected(nothing())).has_value());
  const auto failed = sync_wait(coracle::as_expected(fail()));
  REQUIRE_FALSE(failed.has_value());
  CHECK_FALSE(failed.error().is_cancelled());
  CHECK(failed.error().error() != nullptr);
  CHECK_THROWS_AS(failed.error().rethrow(), std::runtime_error);
  trace t;
  stop_source source;
  auto waiting = poll(with_stop(coracle::as_expected(wait_below_named(t, never)), source.get_token()));
  source.request_stop(stop_reason::timed_out);
  CHECK(waiting.run());
  const auto stopped = waiting.get();
  REQUIRE_FALSE(stopped.has_value());
  CHECK(stopped.error().reason() == stop_reason::timed_out);
  CHECK(stopped.error().error() == nullptr);
  CHECK_THROWS_AS(stopped.error().rethrow(), operation_cancelled);
  CHECK(t.log.destroyed == innermost_first);
  CHECK(t.is_untouched());
  static_assert(noexcept(std::declval<decltype(as_outcome(give()))&>().await_resume()));
  static_assert(noexcept(std::declval<decltype(coracle::as_expected(give()))&>().await_resume()));
}

// ---- tasks below it ------------------------------------------------------------------------------------

TEST_CASE("stopped task: below as_outcome each is destroyed where it waits, the innermost first") {
  for (const stop_reason why : reasons) {
    trace t;
    async_manual_reset_event never;
    stop_source source;
    auto waiting = poll(with_stop(as_outcome(wait_below_named(t, never)), source.get_token()));
    CHECK_FALSE(waiting.ready());
    source.request_stop(why);
    CHECK(t.log.alive == 5);  // until its executor runs it
    CHECK(waiting.run());
    CHECK(waiting.get().reason() == why);
    CHECK(t.log.destroyed == innermost_first);
    CHECK(t.is_untouched());
  }
}

TEST_CASE("stopped task: one that begins a wait once stop is requested is destroyed there") {
  trace t;
  async_manual_reset_event set{true};
  stop_source source;
  source.request_stop();
  auto end = sync_wait(with_stop(as_outcome(wait_below_named(t, set)), source.get_token()));
  CHECK(end.reason() == stop_reason::requested);
  CHECK(t.log.destroyed == innermost_first);
  CHECK(t.is_untouched());
}

TEST_CASE("stopped task: a request that comes after the wait has ended has no effect") {
  trace t;
  async_manual_reset_event event;
  stop_source source;
  auto waiting = poll(with_stop(as_outcome(wait_below_named(t, event)), source.get_token()));
  event.set();
  source.request_stop();
  CHECK(waiting.run());
  CHECK(waiting.get().has_value());
  CHECK(t.went_on);
}

TEST_CASE("stopped task: without as_outcome, and below throwing(), the handlers run") {
  trace t;
  async_manual_reset_event never;
  stop_source source;
  const auto handle = [&]() -> task<int> {
    try {
      co_return co_await throwing(wait_below_named(t, never));
    } catch (const operation_cancelled& cancelled) {
      CHECK(cancelled.reason() == stop_reason::requested);
    }
    co_return -1;
  };
  auto waiting = poll(with_stop(as_outcome(handle()), source.get_token()));
  source.request_stop();
  CHECK(waiting.run());
  CHECK(waiting.get().get() == -1);
  CHECK(t.log.destroyed == innermost_first);
  CHECK(t.handled);

  trace plain;
  stop_source second;
  auto thrown = poll(with_stop(wait_below_named(plain, never), second.get_token()));
  second.request_stop();
  CHECK(thrown.run());
  CHECK_THROWS_AS(thrown.get(), operation_cancelled);
  CHECK(plain.handled);
}

TEST_CASE("stopped task: when_ready() is told, and the task keeps why it was stopped") {
  trace t;
  async_manual_reset_event never;
  stop_source source;
  const auto look = [&]() -> task<int> {
    auto work = wait(t, never);
    co_await work.when_ready();
    CHECK(work.is_ready());
    CHECK(t.log.alive == 0);
    CHECK_THROWS_AS(co_await std::move(work), operation_cancelled);
    co_return 2;
  };
  auto waiting = poll(with_stop(as_outcome(look()), source.get_token()));
  source.request_stop();
  CHECK(waiting.run());
  CHECK(waiting.get().get() == 2);
}

TEST_CASE("stopped task: a coroutine of another type sees an exception") {
  trace t;
  async_manual_reset_event never;
  stop_source source;
  bool handled = false;
  const auto elements = [&]() -> coracle::async_generator<int> {
    try {
      co_yield co_await wait_below_named(t, never);
    } catch (const operation_cancelled&) {
      handled = true;
      throw;
    }
  };
  const auto consume = [&]() -> task<> {
    auto from = elements();
    static_cast<void>(co_await from.next());
  };
  auto waiting = poll(with_stop(as_outcome(consume()), source.get_token()));
  source.request_stop();
  CHECK(waiting.run());
  CHECK(waiting.get().is_cancelled());
  CHECK(handled);
  CHECK(t.log.destroyed == innermost_first);
}

/// A coroutine of another type, in a frame that is aligned to 8 only, as clang aligns one that it puts on the
/// stack.
struct in_place {
  struct promise_type : coracle::part::awaits_anything {
    template <class... Args>
    explicit promise_type(const coracle::environment& here, Args&...) noexcept : inherited(here) {}
    static void* operator new(std::size_t size) {
      void* const memory = ::operator new(size + 8);
      return static_cast<std::byte*>(memory) + 8;
    }
    static void operator delete(void* frame, std::size_t) {
      ::operator delete(static_cast<std::byte*>(frame) - 8);
    }
    in_place get_return_object() noexcept {
      return in_place{std::coroutine_handle<promise_type>::from_promise(*this)};
    }
    std::suspend_never initial_suspend() const noexcept { return {}; }
    std::suspend_always final_suspend() const noexcept { return {}; }
    void return_void() const noexcept {}
    void unhandled_exception() const noexcept { std::terminate(); }
    [[nodiscard]] const coracle::environment* get_environment() const noexcept { return &inherited; }

    const coracle::environment& inherited;
  };
  std::coroutine_handle<promise_type> body;
};
in_place catch_cancelled(const coracle::environment&, trace& t, const async_manual_reset_event& event,
                         bool& handled) {
  try {
    co_await wait_below_named(t, event);
  } catch (const operation_cancelled&) {
    handled = true;
  }
}

TEST_CASE("stopped task: a coroutine of another type is resumed, wherever its frame is") {
  trace t;
  async_manual_reset_event never;
  stop_source source;
  coracle::environment here;
  here.stop = source.get_token();
  bool handled = false;
  const in_place coroutine = catch_cancelled(here, t, never, handled);
  CHECK_FALSE(coroutine.body.done());
  source.request_stop();
  CHECK(coroutine.body.done());
  CHECK(handled);
  CHECK(t.log.destroyed == innermost_first);
  coroutine.body.destroy();
}

TEST_CASE("stopped task: a chain of any length is destroyed on a small stack") {
  const bool has_run = coracle_test::run_on_stack(256 * 1024, [] {
    async_manual_reset_event never;
    lifetimes log;
    struct deep {
      static task<> down(int n, lifetimes& log, const async_manual_reset_event& event) {
        const lifetime_probe local(log, n);
        if (n == 0) {
          co_await event;
        } else {
          co_await down(n - 1, log, event);
        }
      }
    };
    stop_source source;
    auto waiting = poll(with_stop(as_outcome(deep::down(20'000, log, never)), source.get_token()));
    source.request_stop();
    CHECK(waiting.run());
    CHECK(waiting.get().is_cancelled());
    CHECK(log.alive == 0);
    CHECK(std::is_sorted(log.destroyed.begin(), log.destroyed.end()));
  });
  CHECK(has_run);
}

// Of frames that are kept in different ways (core/frame_memory.hpp).
template <int Size>
task<> hold_page(const async_manual_reset_event& event) {
  volatile char page[Size];
  page[0] = 0;
  co_await event;
  static_cast<void>(page[0]);
}
template <int Size>
task<> hold_pages(const async_manual_reset_event& event) {
  volatile char page[Size];
  page[0] = 0;
  co_await hold_page<Size>(event);
  static_cast<void>(page[0]);
}
task<> allocated(std::allocator_arg_t, std::allocator<char>, const async_manual_reset_event& event) {
  co_await event;
}
task<> allocated_twice(std::allocator_arg_t, std::allocator<char> from,
                       const async_manual_reset_event& event) {
  co_await allocated(std::allocator_arg, from, event);
}

TEST_CASE("stopped task: frames of every size, and of the caller's allocator, are given back once") {
  const async_manual_reset_event never;
  const auto stop = [](auto work) {
    stop_source source;
    auto waiting = poll(with_stop(as_outcome(std::move(work)), source.get_token()));
    source.request_stop();
    CHECK(waiting.run());
    CHECK(waiting.get().is_cancelled());
  };
  for (int i = 0; i != 3; ++i) {
    stop(hold_pages<64>(never));
    stop(hold_pages<1000>(never));
    stop(hold_pages<5000>(never));
    stop(hold_pages<300'000>(never));
  }
  stop(allocated_twice(std::allocator_arg, {}, never));
}

TEST_CASE("stopped task: guards take its end for a failure") {
  async_manual_reset_event never;
  bool failed = false, succeeded = false;
  const auto guarded = [&]() -> task<> {
    const auto on_failure = coracle::on_scope_failure([&] { failed = true; });
    const auto on_success = coracle::on_scope_success([&] { succeeded = true; });
    co_await never;
  };
  stop_source source;
  auto waiting = poll(with_stop(as_outcome(guarded()), source.get_token()));
  source.request_stop();
  CHECK(waiting.run());
  CHECK(failed);
  CHECK_FALSE(succeeded);
}

// ---- combinators ---------------------------------------------------------------------------------------

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
template <class Work>
void stop_quietly(Work work) {
  stop_source source;
  auto waiting = poll(with_stop(as_outcome(std::move(work)), source.get_token()));
  CHECK_FALSE(waiting.ready());
  source.request_stop(stop_reason::shutting_down);
  CHECK(waiting.run());
  CHECK(waiting.get().reason() == stop_reason::shutting_down);
}

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

// ---- stopped by what has started them ------------------------------------------------------------------

TEST_CASE("stopped task: losers, and the siblings of a failure, are destroyed where they wait") {
  using namespace std::chrono_literals;
  trace loser, sibling, attempted, in_scope, looped;
  async_manual_reset_event never;
  const auto give = []() -> task<int> { co_return 1; };
  const auto fail = []() -> task<> {
    throw std::runtime_error("broken");
    co_return;
  };
  CHECK(sync_wait(when_any(wait_below_named(loser, never), give())).index() == 1);
  CHECK(loser.log.destroyed == innermost_first);
  CHECK(loser.is_untouched());

  CHECK_THROWS_AS(sync_wait(coracle::when_all(wait_below_named(sibling, never), fail())), std::runtime_error);
  CHECK(sibling.log.destroyed == innermost_first);
  CHECK(sibling.is_untouched());

  const auto attempt = [&](unsigned n) -> task<int> {
    if (n == 0) co_return co_await wait_below_named(attempted, never);
    co_return 2;
  };
  CHECK(sync_wait(coracle::hedge(0s, attempt)) == 2);
  CHECK(attempted.log.destroyed == innermost_first);
  CHECK(attempted.is_untouched());

  const auto body = [&](coracle::async_scope& scope) -> task<> {
    scope.spawn(wait_below_named(in_scope, never));
    scope.spawn(fail());
    co_return;
  };
  CHECK_THROWS_AS(sync_wait(coracle::with_scope(body)), std::runtime_error);
  CHECK(in_scope.log.destroyed == innermost_first);
  CHECK(in_scope.is_untouched());

  const std::vector<int> numbers{1, 2};
  const auto one = [&](int n) -> task<> {
    if (n == 2) throw std::runtime_error("broken");
    co_await wait_below_named(looped, never);
  };
  CHECK_THROWS_AS(sync_wait(coracle::for_each_concurrent(numbers, 2, one)), std::runtime_error);
  CHECK(looped.log.destroyed == innermost_first);
  CHECK(looped.is_untouched());
}

TEST_CASE("stopped task: losers in via, resume_on and async_finally are destroyed where they wait") {
  using namespace std::chrono_literals;
  trace visits, returns, finally;
  async_manual_reset_event never;
  coracle::inline_scheduler place;
  const auto give = []() -> task<int> { co_return 1; };
  bool cleaned = false;
  const auto clean_up = [&]() -> task<> {
    CHECK(finally.log.destroyed == innermost_first);
    cleaned = true;
    co_return;
  };
  const auto visiting = [&]() -> task<int> {
    const lifetime_probe local(visits.log, 6);
    const int value = co_await coracle::via(wait_below_named(visits, never), place);
    visits.went_on = true;
    co_return value;
  };
  const auto returning = [&]() -> task<int> {
    const lifetime_probe local(returns.log, 6);
    const int value = co_await coracle::resume_on(wait_below_named(returns, never), place);
    returns.went_on = true;
    co_return value;
  };
  const auto cleaning = [&]() -> task<int> {
    const lifetime_probe local(finally.log, 6);
    const int value = co_await coracle::async_finally(wait_below_named(finally, never), clean_up, 1s);
    finally.went_on = true;
    co_return value;
  };
  CHECK(sync_wait(when_any(visiting(), returning(), cleaning(), give())).index() == 3);
  CHECK(cleaned);
  for (const trace* each : {&visits, &returns, &finally}) {
    CHECK(each->log.destroyed == std::vector{1, 2, 3, 4, 5, 6});
    CHECK(each->is_untouched());
  }
}

TEST_CASE("stopped task: a loser that asks for the exception runs its handlers") {
  trace t;
  async_manual_reset_event never;
  const auto give = []() -> task<int> { co_return 1; };
  CHECK(sync_wait(when_any(throwing(wait_below_named(t, never)), give())).index() == 1);
  CHECK(t.handled);
  CHECK(t.log.destroyed == innermost_first);
}

TEST_CASE("stopped task: what a race has not stopped itself sees an exception") {
  trace outside, deeper;
  async_manual_reset_event never;
  stop_source source;
  auto waiting = poll(with_stop(when_any(wait_below_named(outside, never), never), source.get_token()));
  source.request_stop();
  CHECK(waiting.run());
  CHECK_THROWS_AS(waiting.get(), operation_cancelled);
  CHECK(outside.handled);

  // The inner race is stopped by the outer one, below a coroutine that wants its handler run.
  const auto give = []() -> task<int> { co_return 1; };
  const auto inner = [&]() -> task<> { co_await throwing(when_any(wait_below_named(deeper, never), never)); };
  CHECK(sync_wait(when_any(inner(), give())).index() == 1);
  CHECK(deeper.handled);
}

TEST_CASE("stopped task: a loser that has been stopped by a request of its own sees an exception") {
  async_manual_reset_event never;
  stop_source own;
  bool handled = false;
  const auto loser = [&]() -> task<> {
    try {
      co_await with_stop(wait_in_task(never), own.get_token());  // the race cannot stop this
    } catch (const operation_cancelled& cancelled) {
      handled = cancelled.reason() == stop_reason::requested;
    }
  };
  const auto give = []() -> task<int> { co_return 1; };
  auto waiting = poll(when_any(loser(), give()));
  CHECK_FALSE(waiting.ready());
  own.request_stop();
  CHECK(waiting.run());
  CHECK(waiting.get().index() == 1);
  CHECK(handled);
}

TEST_CASE(
    "stopped task: handlers run where the result is still wanted: at a timeout, in a scope that is stopped") {
  trace plain, quiet, in_scope;
  async_manual_reset_event never;
  const auto limited = [&](trace& t) -> task<> {
    co_await coracle::timeout(wait_below_named(t, never), std::chrono::hours(0));
  };
  CHECK_THROWS_AS(sync_wait(limited(plain)), coracle::timed_out);
  CHECK(plain.handled);
  auto end = sync_wait(as_outcome(limited(quiet)));
  CHECK_THROWS_AS(std::move(end).get(), coracle::timed_out);
  CHECK(quiet.log.destroyed == innermost_first);
  CHECK(quiet.is_untouched());

  const auto body = [&](coracle::async_scope& scope) -> task<> {
    scope.spawn(wait_below_named(in_scope, never));
    scope.request_stop();
    co_return;
  };
  sync_wait(coracle::with_scope(body));
  CHECK(in_scope.handled);
}

TEST_CASE("stopped task: a mutex that it waits for is not locked") {
  coracle::async_mutex mutex;
  REQUIRE(mutex.try_lock());
  const auto lock = [&]() -> task<> { const auto held = co_await mutex.scoped_lock_async(); };
  stop_source source;
  auto waiting = poll(with_stop(as_outcome(lock()), source.get_token()));
  source.request_stop();
  CHECK(waiting.run());
  CHECK(waiting.get().is_cancelled());
  mutex.unlock();
  CHECK(mutex.try_lock());
  mutex.unlock();
}
}  // namespace
