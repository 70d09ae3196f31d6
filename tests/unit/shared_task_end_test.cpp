// tests/unit/shared_task_end_test.cpp -- the end of a shared_task's body, handles and frame.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <coracle/compose/fmap.hpp>
#include <coracle/core/shared_task.hpp>
#include <coracle/core/sync_wait.hpp>
#include <coracle/core/task.hpp>
#include <coracle/core/with_environment.hpp>
#include <coracle/sync/async_manual_reset_event.hpp>
#include <coracle/testing/allocations.hpp>
#include <coracle/testing/failing_allocator.hpp>
#include <coracle/testing/lifetime_probe.hpp>
#include <string>
#include <type_traits>

#include "../support/detached.hpp"
#include "../support/many.hpp"
#include "../support/run_on_stack.hpp"
#include "shared_task_bodies.hpp"

namespace {
using coracle::async_manual_reset_event;
using coracle::shared_task;
using coracle::sync_wait;
using coracle::task;
using coracle::testing::lifetime_probe;
using coracle::testing::lifetimes;
using coracle_test::detached;
using coracle_test::many;
using coracle_test::shared_task_bodies::after;
using coracle_test::shared_task_bodies::give;

using coracle::await_result_t;
static_assert(std::is_same_v<await_result_t<shared_task<int>&>, int&>);
static_assert(std::is_same_v<await_result_t<shared_task<int>>, int&>);
static_assert(std::is_same_v<await_result_t<const shared_task<const int>&>, const int&>);
static_assert(std::is_same_v<await_result_t<shared_task<int&>>, int&>);
static_assert(std::is_void_v<await_result_t<shared_task<>>>);
static_assert(std::is_void_v<decltype(sync_wait(std::declval<shared_task<int>&>().when_ready()))>);
static_assert(sizeof(shared_task<int>) == sizeof(void*));
static_assert(std::is_nothrow_copy_constructible_v<shared_task<int>> &&
              std::is_nothrow_move_constructible_v<shared_task<int>> &&
              std::is_nothrow_copy_assignable_v<shared_task<int>>);

TEST_CASE("shared_task: the result is moved in once, never copied, and destroyed with the last handle") {
  lifetimes log;
  auto body = [](lifetimes& l) -> shared_task<lifetime_probe> { co_return lifetime_probe(l, 1); };
  {
    shared_task<lifetime_probe> one = body(log);
    {
      const shared_task<lifetime_probe> copy = one;
      CHECK(sync_wait(copy).id() == 1);
      CHECK(log.moves == 1);
    }
    CHECK(log.alive == 1);
    one = shared_task<lifetime_probe>();
    CHECK(log.alive == 0);
  }
  CHECK(log.copies == 0);
  CHECK(log.alive == 0);
}

TEST_CASE("shared_task: handles compare, swap, copy and move as pointers do") {
  shared_task<int> one = give(1), other = give(2), copy = one;
  CHECK(copy == one);
  CHECK(copy != other);
  CHECK(shared_task<int>() == shared_task<int>());
  swap(one, other);
  CHECK(copy == other);
  one.swap(other);
  CHECK(copy == one);
  other = one;
  CHECK(other == copy);
  shared_task<int>& alias = other;
  other = alias;
  other = std::move(alias);  // NOLINT: must keep it
  CHECK(other == copy);
  CHECK(sync_wait(other) == 1);
}

TEST_CASE("shared_task: the last handle destroys a body that has not started, or has ended") {
  lifetimes log;
  auto hold = [](lifetime_probe) -> shared_task<> { co_return; };
  {
    const shared_task<> unstarted = hold(lifetime_probe(log));
  }
  CHECK(log.alive == 0);
  {
    shared_task<> ended = hold(lifetime_probe(log));
    sync_wait(ended);
    CHECK(log.alive == 1);
  }
  CHECK(log.alive == 0);
}

TEST_CASE("shared_task: a body that runs keeps itself alive, also when all who wait have gone") {
  lifetimes log;
  async_manual_reset_event open;
  int ended = 0;
  auto body = [](lifetime_probe, async_manual_reset_event& event, int& count) -> shared_task<> {
    co_await event;
    ++count;
  };
  coracle::stop_source source;
  auto awaiter = [](shared_task<> mine) -> task<> {
    try {
      co_await mine;
    } catch (const coracle::operation_cancelled&) {
    }
  };
  coracle_test::run_detached(
      coracle::with_stop(awaiter(body(lifetime_probe(log), open, ended)), source.get_token()));
  source.request_stop();  // the awaiter ends, and with it the only handle
  CHECK(log.alive == 1);
  open.set();
  CHECK(ended == 1);
  CHECK(log.alive == 0);
}

TEST_CASE("shared_task: an awaiter that drops the last handle when it is woken ends the body's frame") {
  lifetimes log;
  async_manual_reset_event open;
  auto body = [](lifetime_probe, async_manual_reset_event& event) -> shared_task<int> {
    co_await event;
    co_return 4;
  };
  int sum = 0;
  const auto take = [&](shared_task<int> mine) -> detached {
    sum += co_await mine;
    mine = shared_task<int>();
  };
  {
    const shared_task<int> one = body(lifetime_probe(log), open);
    take(one);
    take(one);
  }
  CHECK(log.alive == 1);
  open.set();
  CHECK(sum == 8);
  CHECK(log.alive == 0);
}

TEST_CASE("shared_task: a million that end at once are awaited in a loop on a small stack") {
  long sum = 0;
  auto add_up = [](long& into) -> task<> {
    for (int i = 0; i != many(1'000'000); ++i) into += co_await give(1);
  };
  CHECK(coracle_test::run_on_stack(256 * 1024, [&] { sync_wait(add_up(sum)); }));
  CHECK(sum == many(1'000'000));
}

shared_task<int> chain(int depth) {
  if (depth == 0) co_return 0;
  const shared_task<int> next = chain(depth - 1);
  co_return 1 + co_await next;
}
TEST_CASE("shared_task: a chain of a hundred thousand runs on a small stack") {
  int depth = 0;
  CHECK(coracle_test::run_on_stack(256 * 1024, [&] { depth = sync_wait(chain(many(100'000))); }));
  CHECK(depth == many(100'000));
}

TEST_CASE("shared_task: waiting, waking and copying allocate nothing" *
          doctest::skip(!coracle::testing::allocations_are_counted)) {
  async_manual_reset_event open;
  int started = 0, sum = 0;
  const shared_task<int> one = after(open, started, 1);
  const auto wait = [&](shared_task<int> mine) -> detached { sum += co_await mine; };
  wait(one);  // warms the recycler
  const auto at_first = coracle::testing::allocations();
  const shared_task<int> copy = one;
  auto awaiter = copy.operator co_await();
  const bool ready = awaiter.await_ready();
  open.set();
  const auto at_last = coracle::testing::allocations();
  CHECK_FALSE(ready);
  CHECK(sum == 1);
  CHECK(at_last == at_first);
}

TEST_CASE("shared_task: where its frame cannot be allocated the call throws, and nothing leaks" *
          doctest::skip(!coracle::testing::allocations_are_counted)) {
  int caught = 0, finished = 0;
  const int failed = coracle::testing::fail_each_allocation([&] {
    try {
      finished += sync_wait(chain(3)) == 3;
    } catch (const std::bad_alloc&) {
      ++caught;
    }
  });
  CHECK(failed == caught);
  CHECK(failed == 4);
  CHECK(finished == 1);
}

TEST_CASE("shared_task: takes its frame from the allocator that it is given, also as a member function") {
  using bytes = coracle::testing::failing_allocator<std::byte>;
  coracle::testing::allocator_log log;
  auto body = [](std::allocator_arg_t, bytes, int n) -> shared_task<int> { co_return n; };
  struct object {
    shared_task<> run(std::allocator_arg_t, bytes) { co_return; }
  } one;
  {
    const shared_task<int> first = body(std::allocator_arg, bytes(log), 4);
    const shared_task<int> copy = first;
    CHECK(sync_wait(copy) == 4);
    sync_wait(one.run(std::allocator_arg, bytes(log)));
    CHECK(log.freed == 1);
  }
  CHECK(log.allocated == 2);
  CHECK(log.freed == 2);
  CHECK(log.bytes == 0);
}

TEST_CASE(
    "make_shared_task: shares the result of any awaitable, and awaits it once, when it is first awaited") {
  int runs = 0;
  auto once = [](int& count) -> task<std::string> {
    ++count;
    co_return "test";
  };
  const shared_task<std::string> one = coracle::make_shared_task(once(runs));
  CHECK(runs == 0);
  CHECK(sync_wait(one) == "test");
  CHECK(sync_wait(one) == "test");
  CHECK(runs == 1);

  auto nothing = [](int& count) -> task<> {
    ++count;
    co_return;
  };
  const shared_task<> second = coracle::make_shared_task(nothing(runs));
  sync_wait(second);
  sync_wait(second);
  CHECK(runs == 2);
}

int& pick(int& object) { return object; }
TEST_CASE("make_shared_task: keeps an lvalue reference, and makes a value of an rvalue reference") {
  int object = 3;
  auto refer = [](int& to) -> task<int&> { co_return pick(to); };
  auto give_up = [](int& to) -> task<int&&> { co_return std::move(to); };
  const auto kept = coracle::make_shared_task(refer(object));
  const auto moved = coracle::make_shared_task(give_up(object));
  static_assert(std::is_same_v<decltype(kept), const shared_task<int&>>);
  static_assert(std::is_same_v<decltype(moved), const shared_task<int>>);
  CHECK(&sync_wait(kept) == &object);
  CHECK(sync_wait(moved) == 3);
  CHECK(&sync_wait(moved) != &object);
}

shared_task<int> one_more(shared_task<int> than, lifetime_probe) { co_return co_await than + 1; }
/// Each task holds the only handle of the previous one.
shared_task<int> chain(lifetimes& log, int length) {
  shared_task<int> last = give(0);
  for (int i = 0; i != length; ++i) last = one_more(std::move(last), lifetime_probe(log, i));
  return last;
}
TEST_CASE("shared_task: a chain of any length is destroyed on a bounded stack") {
  constexpr int length = many(100'000);
  lifetimes log;
  log.destroyed.reserve(2 * length);
  int result = 0, alive = 0, left = 0, left_unstarted = 0;
  const bool ran = coracle_test::run_on_stack(256 * 1024, [&] {
    {
      const shared_task<int> last = chain(log, length);
      result = sync_wait(last);
      alive = log.alive;
    }
    left = log.alive;
    static_cast<void>(chain(log, length));
    left_unstarted = log.alive;
  });
  CHECK(ran);
  CHECK(result == length);
  CHECK(alive == length);
  CHECK(left == 0);
  CHECK(left_unstarted == 0);
}

TEST_CASE("shared_task: a short chain is gone when the destructor of its last handle has returned") {
  lifetimes log;
  log.destroyed.reserve(16);
  {
    const shared_task<int> last = chain(log, 3);
  }
  CHECK(log.alive == 0);
}

TEST_CASE("shared_task: goes through fmap") {
  const shared_task<int> one = give(123);
  auto to_text = [](int number) { return std::to_string(number); };
  auto mapped = [&]() -> task<std::string> { co_return co_await coracle::fmap(one, to_text); };
  CHECK(sync_wait(mapped()) == "123");
  CHECK(sync_wait(mapped()) == "123");
}
}  // namespace
