// tests/unit/sync_wait_test.cpp -- awaiting from code that is no coroutine.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <coracle/core/sync_wait.hpp>
#include <coracle/core/with_environment.hpp>
#include <coracle/exec/run_loop.hpp>
#include <coracle/exec/static_thread_pool.hpp>
#include <coracle/sync/async_manual_reset_event.hpp>
#include <coracle/testing/allocations.hpp>
#include <memory>
#include <string>
#include <thread>

#include "../support/abort_message.hpp"
#include "../support/test_coroutine.hpp"

namespace {
using coracle::async_manual_reset_event;
using coracle::sync_wait;
using coracle::task;

task<int> answer() { co_return 42; }

/// Behaves as the test specifies in each of the three steps of an await.
template <class Suspend>
struct scripted {
  scripted(bool is_ready, Suspend suspend_as) : ready(is_ready), suspend(suspend_as) {}
  bool await_ready() const noexcept { return ready; }
  auto await_suspend(std::coroutine_handle<> h) {
    suspended = true;
    return suspend(h);
  }
  int await_resume() const noexcept { return suspended ? 2 : 1; }
  bool ready;
  Suspend suspend;
  bool suspended = false;
};

TEST_CASE("sync_wait: a ready awaitable is not suspended") {
  auto never = [](std::coroutine_handle<>) {};
  CHECK(sync_wait(scripted(true, never)) == 1);
}

TEST_CASE("sync_wait: await_suspend may return void, false, true or a handle") {
  auto resumes = [](std::coroutine_handle<> h) { h.resume(); };
  auto does_not_suspend = [](std::coroutine_handle<>) { return false; };
  auto suspends = [](std::coroutine_handle<> h) {
    h.resume();
    return true;
  };
  auto transfers = [](std::coroutine_handle<> h) { return h; };
  CHECK(sync_wait(scripted(false, resumes)) == 2);
  CHECK(sync_wait(scripted(false, does_not_suspend)) == 2);
  CHECK(sync_wait(scripted(false, suspends)) == 2);
  CHECK(sync_wait(scripted(false, transfers)) == 2);
}

/// Its other members have the names of those that a task has for plain code.
struct of_the_same_names {
  void require_body() const { FAIL("called"); }
  void require_result() const { FAIL("called"); }
  void mark_taken() const { FAIL("called"); }
  bool await_ready() const noexcept { return true; }
  void await_suspend(std::coroutine_handle<>) const noexcept {}
  int await_resume() const noexcept { return 7; }
};

TEST_CASE("sync_wait: calls no other members of an awaiter") { CHECK(sync_wait(of_the_same_names()) == 7); }

TEST_CASE("sync_wait: takes an awaitable that is an lvalue by reference") {
  async_manual_reset_event event(true);
  sync_wait(event);
  auto never = [](std::coroutine_handle<>) {};
  scripted lvalue(true, never);
  CHECK(sync_wait(lvalue) == 1);
}

TEST_CASE("sync_wait: gives values, references and nothing") {
  int object = 0;
  auto reference = [](int& o) -> task<int&> { co_return o; };
  auto owner = []() -> task<std::unique_ptr<int>> { co_return std::make_unique<int>(1); };
  CHECK(sync_wait(answer()) == 42);
  CHECK(&sync_wait(reference(object)) == &object);
  CHECK(*sync_wait(owner()) == 1);
  CHECK(std::is_void_v<decltype(sync_wait(task<>()))>);
  CHECK(std::is_same_v<decltype(sync_wait(task<const int&>())), const int&>);
}

struct error {};

TEST_CASE("sync_wait: throws what the task throws, and what await_suspend throws") {
  auto fails = []() -> task<> {
    throw error{};
    co_return;
  };
  auto refuses = [](std::coroutine_handle<>) { throw error{}; };
  CHECK_THROWS_AS(sync_wait(fails()), error);
  CHECK_THROWS_AS(sync_wait(scripted(false, refuses)), error);
  CHECK(sync_wait(answer()) == 42);
}

TEST_CASE("sync_wait: blocks until a coroutine that another thread goes on with has ended") {
  async_manual_reset_event event;
  int written = 0;
  std::thread::id where;
  auto body = [](async_manual_reset_event& e, int& value, std::thread::id& id) -> task<int> {
    co_await e;
    id = std::this_thread::get_id();
    co_return value;
  };
  std::thread other([&] {
    written = 7;
    event.set();
  });
  const std::thread::id id = other.get_id(), own = std::this_thread::get_id();
  CHECK(sync_wait(body(event, written, where)) == 7);
  other.join();
  CHECK((where == id || where == own));  // own: the event was set before it was awaited
}

TEST_CASE("sync_wait: of a thousand waits for another thread, each returns after its event was set") {
  constexpr std::size_t rounds = 1000;
  const auto ping = std::make_unique<async_manual_reset_event[]>(rounds);
  const auto pong = std::make_unique<async_manual_reset_event[]>(rounds);
  std::size_t answered = 0, wrong = 0;
  std::thread other([&] {
    for (std::size_t i = 0; i != rounds; ++i) {
      sync_wait(ping[i]);
      ++answered;
      pong[i].set();
    }
  });
  for (std::size_t i = 0; i != rounds; ++i) {
    ping[i].set();
    sync_wait(pong[i]);
    if (answered != i + 1) ++wrong;
  }
  other.join();
  CHECK(wrong == 0);
}

TEST_CASE("sync_wait: inside a coroutine on an executor it runs outside of it, and returns into it") {
  coracle::run_loop loop;
  coracle::executor *inside = &loop, *after = nullptr;
  auto where = []() -> task<coracle::executor*> { co_return coracle::current_executor(); };
  auto body = [&where](coracle::run_loop& l, coracle::executor*& in, coracle::executor*& out) -> task<> {
    co_await l.schedule();
    in = sync_wait(where());
    out = coracle::current_executor();
  };
  auto root = coracle_test::started(body(loop, inside, after));
  CHECK(loop.run_one());
  CHECK(root.done());
  CHECK(inside == nullptr);
  CHECK(after == &loop);
}

TEST_CASE("sync_wait: blocks a pool's only thread for what is to run there, and says so" *
          doctest::skip(!CORACLE_CHECKS())) {
  const std::string written = coracle_test::first_message([] {
    coracle::static_thread_pool pool{1};
    const auto body = [&pool]() -> task<> {
      co_await pool.schedule();
      sync_wait(pool.schedule());
    };
    sync_wait(body());
  });
  CHECK(written ==
        "coracle: sync_wait() has blocked a scheduler's thread for a second: a deadlock, if it awaits "
        "something "
        "that must run there\n");
}

TEST_CASE("sync_wait: passes no environment on, wherever it is called") {
  const coracle::stop_source source;
  auto token_is_possible = []() -> task<bool> {
    const coracle::stop_token token = co_await coracle::this_task::stop_token();
    co_return token.stop_possible();
  };
  auto body = [&token_is_possible]() -> task<bool> {
    const bool here = co_await token_is_possible();
    co_return here && !sync_wait(token_is_possible());
  };
  CHECK_FALSE(sync_wait(token_is_possible()));
  CHECK(sync_wait(coracle::with_stop(body(), source.get_token())));
}

TEST_CASE("sync_wait: allocates nothing of its own") {
  async_manual_reset_event event(true);
  sync_wait(answer());
  const std::size_t before = coracle::testing::allocations();
  sync_wait(event);
  const int value = sync_wait(answer());
  const std::size_t after = coracle::testing::allocations();
  CHECK(value == 42);
  CHECK(after == before);
}
}  // namespace
