// tests/unit/stopped_task_test.cpp -- tasks that a stop request ends where they are suspended, and which
// awaiters learn of it.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <algorithm>
#include <coracle/compose/as_outcome.hpp>
#include <coracle/core/sync_wait.hpp>
#include <coracle/core/task.hpp>
#include <coracle/core/with_environment.hpp>
#include <coracle/generators/async_generator.hpp>
#include <coracle/sync/async_manual_reset_event.hpp>
#include <coracle/testing/lifetime_probe.hpp>
#include <coracle/testing/poll.hpp>
#include <coracle/utility/on_scope_exit.hpp>
#include <memory>
#include <utility>

#include "../support/run_on_stack.hpp"
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
using coracle::with_stop;
using coracle::testing::lifetime_probe;
using coracle::testing::lifetimes;
using coracle::testing::poll;
using coracle_test::stopped_bodies::innermost_first;
using coracle_test::stopped_bodies::trace;
using coracle_test::stopped_bodies::wait;
using coracle_test::stopped_bodies::wait_below_named;

constexpr stop_reason reasons[] = {stop_reason::requested, stop_reason::timed_out, stop_reason::lost_race,
                                   stop_reason::sibling_failed, stop_reason::shutting_down};

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
}  // namespace
