// tests/unit/async_scope_test.cpp -- work that is started now and joined later.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <coracle/compose/as_outcome.hpp>
#include <coracle/compose/async_scope.hpp>
#include <coracle/core/sync_wait.hpp>
#include <coracle/core/task.hpp>
#include <coracle/core/with_environment.hpp>
#include <coracle/exec/run_loop.hpp>
#include <coracle/sync/async_manual_reset_event.hpp>
#include <coracle/sync/async_mutex.hpp>
#include <coracle/testing/allocations.hpp>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include "../support/detached.hpp"
#include "async_scope_children.hpp"
#include "child_tasks.hpp"

namespace {
using coracle::async_manual_reset_event;
using coracle::async_scope;
using coracle::operation_cancelled;
using coracle::run_loop;
using coracle::scope_policy;
using coracle::stop_reason;
using coracle::sync_wait;
using coracle::task;
using coracle_test::counted_error;
using coracle_test::detached;
using coracle_test::fail_at_once;
using coracle_test::join;
using coracle_test::join_and_tell;
using coracle_test::message_of;
using coracle_test::wait_and_count;

int id_of(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const counted_error& e) {
    return e.id;
  }
}

TEST_CASE("async_scope: join() of a scope without children does not suspend") {
  async_scope scope;
  bool joined = false;
  join_and_tell(scope, joined);
  CHECK(joined);
}

TEST_CASE("async_scope: spawn() runs a child until it suspends, and join() waits for all") {
  async_manual_reset_event event;
  int count = 0;
  bool joined = false;
  async_scope scope;
  for (int i = 0; i != 3; ++i) scope.spawn(wait_and_count(event, count));
  join_and_tell(scope, joined);
  CHECK(count == 0);
  CHECK_FALSE(joined);
  event.set();
  CHECK(count == 3);
  CHECK(joined);
}

TEST_CASE("async_scope: children that have ended already are not waited for") {
  std::vector<int> log;
  async_scope scope;
  const auto note = [&](int name) -> task<> {
    log.push_back(name);
    co_return;
  };
  scope.spawn(note(1));
  scope.spawn(note(2));
  CHECK(log == std::vector{1, 2});
  bool joined = false;
  join_and_tell(scope, joined);
  CHECK(joined);
}

TEST_CASE("async_scope: a child may spawn, also while join() is awaited") {
  async_manual_reset_event first, second;
  int count = 0;
  bool joined = false;
  async_scope scope;
  const auto spawn_later = [&]() -> task<> {
    co_await first;
    scope.spawn(wait_and_count(second, count));
  };
  scope.spawn(spawn_later());
  join_and_tell(scope, joined);
  first.set();
  CHECK_FALSE(joined);
  second.set();
  CHECK(count == 1);
  CHECK(joined);
}

TEST_CASE(
    "async_scope: any awaitable is a child; values, references and what can only be moved are dropped") {
  async_manual_reset_event event{true};
  coracle::async_mutex mutex;
  auto owner = std::make_shared<int>(1);
  async_scope scope;
  const auto give = [](std::shared_ptr<int> kept) -> task<std::unique_ptr<int>> {
    co_return std::make_unique<int>(*kept);
  };
  const auto refer = [&]() -> task<int&> { co_return *owner; };
  scope.spawn(give(owner));
  scope.spawn(refer());
  scope.spawn(event.operator co_await());
  scope.spawn(mutex.scoped_lock_async());
  CHECK(owner.use_count() == 1);
  CHECK(mutex.try_lock());
  mutex.unlock();
  auto named = give(owner);
  scope.spawn(std::move(named));
  sync_wait(join(scope));
}

TEST_CASE("async_scope: an awaitable that can be copied may be spawned by name") {
  struct ready {
    explicit ready(int& count) : count_(&count) {}
    bool await_ready() const noexcept { return true; }
    void await_suspend(std::coroutine_handle<>) const noexcept {}
    void await_resume() const noexcept { ++*count_; }
    int* count_;
  };
  int count = 0;
  const ready twice(count);
  async_scope scope;
  scope.spawn(twice);
  scope.spawn(twice);
  CHECK(count == 2);
  sync_wait(join(scope));
}

TEST_CASE("async_scope: what a child holds is destroyed before join() ends") {
  async_manual_reset_event event;
  async_scope scope;
  auto owner = std::make_shared<int>(1);
  long seen_by_joiner = 0;
  const auto hold = [&](std::shared_ptr<int> kept) -> task<> {
    co_await event;
    CHECK(kept.use_count() == 2);
  };
  const auto wait = [&]() -> detached {
    co_await scope.join();
    seen_by_joiner = owner.use_count();
  };
  scope.spawn(hold(owner));
  wait();
  event.set();
  CHECK(seen_by_joiner == 1);
}

TEST_CASE("async_scope: the first error stops the siblings, and join() throws it when all have ended") {
  run_loop loop;
  async_manual_reset_event never;
  stop_reason seen = stop_reason::none;
  std::string caught;
  async_scope scope;
  const auto clean_up_slowly = [&]() -> task<> {
    try {
      co_await coracle::throwing(never);
    } catch (const operation_cancelled& cancelled) {
      seen = cancelled.reason();
    }
    co_await coracle::shielded(loop.schedule());
  };
  scope.spawn(clean_up_slowly());
  scope.spawn(never.operator co_await());
  scope.spawn(fail_at_once("first"));
  CHECK(seen == stop_reason::sibling_failed);
  const auto wait = [&]() -> detached {
    try {
      co_await scope.join();
    } catch (const std::runtime_error& error) {
      caught = error.what();
    }
  };
  wait();
  CHECK(caught.empty());
  CHECK(loop.run_one());
  CHECK(caught == "first");
}

TEST_CASE("async_scope: with collect_all nobody is stopped, and join() throws all errors, oldest first") {
  async_manual_reset_event event;
  int count = 0;
  std::vector<std::string> errors;
  async_scope scope{scope_policy::collect_all()};
  const auto wait = [&]() -> detached {
    try {
      co_await scope.join();
    } catch (const coracle::error_group& group) {
      for (const auto& each : group.errors()) errors.push_back(message_of(each));
    }
  };
  const auto fail_later = [&]() -> task<> {
    co_await event;
    throw std::runtime_error("last");
  };
  scope.spawn(fail_later());
  scope.spawn(fail_at_once("first"));
  scope.spawn(wait_and_count(event, count));
  scope.spawn(fail_at_once("second"));
  wait();
  CHECK(errors.empty());
  event.set();
  CHECK(count == 1);
  CHECK(errors == std::vector<std::string>{"first", "second", "last"});
}

TEST_CASE("async_scope: under supervision each error goes to the handler at once, and join() throws none") {
  async_manual_reset_event event;
  int count = 0;
  std::vector<std::string> errors;
  async_scope scope{
      scope_policy::supervise([&](std::exception_ptr error) { errors.push_back(message_of(error)); })};
  scope.spawn(wait_and_count(event, count));
  scope.spawn(fail_at_once("first"));
  CHECK(errors == std::vector<std::string>{"first"});
  scope.spawn(fail_at_once("second"));
  CHECK(errors.size() == 2);
  event.set();
  sync_wait(join(scope));
  CHECK(count == 1);
}

TEST_CASE("async_scope: of any subset of children that fails, in any order, no error is lost or doubled") {
  for (unsigned subset = 0; subset != 16; ++subset) {
    std::array<int, 4> order{0, 1, 2, 3};
    do {
      counted_error::log = {};
      {
        async_manual_reset_event events[4];
        std::vector<int> thrown;
        async_scope scope{scope_policy::collect_all()};
        const auto child = [&](int i) -> task<> {
          co_await events[i];
          if (subset >> i & 1u) throw counted_error(i);
        };
        for (int i = 0; i != 4; ++i) scope.spawn(child(i));
        const auto wait = [&]() -> detached {
          try {
            co_await scope.join();
          } catch (const counted_error& error) {
            thrown.push_back(error.id);
          } catch (const coracle::error_group& group) {
            for (const auto& each : group.errors()) thrown.push_back(id_of(each));
          }
        };
        wait();
        std::vector<int> failed;
        for (const int i : order) {
          events[i].set();
          if (subset >> i & 1u) failed.push_back(i);
        }
        CHECK(thrown == failed);
        CHECK(counted_error::log.made == static_cast<int>(failed.size()));
      }
      CHECK(counted_error::log.alive == 0);
    } while (std::next_permutation(order.begin(), order.end()));
  }
}

TEST_CASE("async_scope: what an awaitable throws while it is moved in leaves spawn(), and is no child") {
  struct bad_move {
    bad_move() = default;
    bad_move(bad_move&&) { throw std::runtime_error("not moved"); }
    bool await_ready() const noexcept { return true; }
    void await_suspend(std::coroutine_handle<>) const noexcept {}
    void await_resume() const noexcept {}
  };
  async_scope scope;
  CHECK_THROWS_WITH_AS(scope.spawn(bad_move()), "not moved", std::runtime_error);
  sync_wait(join(scope));
}

TEST_CASE("async_scope: the joiner may destroy the scope") {
  async_manual_reset_event event;
  int count = 0;
  auto scope = std::make_unique<async_scope>();
  const auto wait = [&]() -> detached {
    co_await scope->join();
    scope.reset();
  };
  scope->spawn(wait_and_count(event, count));
  wait();
  event.set();
  CHECK(scope == nullptr);
}

static_assert(!std::is_copy_constructible_v<async_scope> && !std::is_move_constructible_v<async_scope>);
static_assert(std::is_void_v<coracle::await_result_t<async_scope::join_operation>>);
static_assert(noexcept(std::declval<async_scope&>().join()));
}  // namespace
