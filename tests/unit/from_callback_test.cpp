// tests/unit/from_callback_test.cpp -- awaiting operations of callback APIs.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <coracle/compose/from_callback.hpp>
#include <coracle/compose/when_all.hpp>
#include <coracle/core/sync_wait.hpp>
#include <coracle/core/task.hpp>
#include <coracle/exec/run_loop.hpp>
#include <coracle/testing/allocations.hpp>
#include <coracle/testing/lifetime_probe.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>

#include "../support/abort_message.hpp"
#include "../support/detached.hpp"
#include "callback_api.hpp"

namespace {
using coracle::completion;
using coracle::from_callback;
using coracle::task;
using coracle_test::detached;
using coracle_test::callback_api::api;
using coracle_test::callback_api::note;
using coracle_test::callback_api::seen;

TEST_CASE("from_callback: a completion inside initiate() gives its value without suspending") {
  const auto add = [](auto done) { done(42); };
  CHECK(coracle::sync_wait(from_callback<int>(add)) == 42);
}

TEST_CASE("from_callback: the await ends when the completion is called, with its value") {
  api<> calls;
  seen found;
  coracle_test::run_detached(note(from_callback<int>(calls.start(), calls.cancel()), found));
  CHECK_FALSE(found.over);
  calls.complete(7);
  CHECK(found.value == 7);
  CHECK(calls.cancels == 0);
}

TEST_CASE("from_callback: nothing is initiated before the await") {
  api<> calls;
  auto operation = from_callback<int>(calls.start());
  CHECK_FALSE(calls.handler.has_value());
  seen found;
  coracle_test::run_detached(note(std::move(operation), found));
  CHECK(calls.handler.has_value());
  calls.complete(1);
}

TEST_CASE("from_callback: void, a reference and a move-only result") {
  int target = 0;
  const auto all = [&]() -> task<> {
    co_await from_callback([](auto done) { done(); });
    const auto give_target = [&](auto done) { done(target); };
    int& referred = co_await from_callback<int&>(give_target);
    referred = 5;
    const auto owned =
        co_await from_callback<std::unique_ptr<int>>([](auto done) { done(std::make_unique<int>(6)); });
    CHECK(*owned == 6);
    const auto text = co_await from_callback<std::string>([](auto done) { done(3u, 'x'); });
    CHECK(text == "xxx");
  };
  coracle::sync_wait(all());
  CHECK(target == 5);
}

TEST_CASE("from_callback: what fail() is given is thrown") {
  const auto refuse = [](auto done) { done.fail(std::make_exception_ptr(std::runtime_error("refused"))); };
  CHECK_THROWS_WITH_AS(coracle::sync_wait(from_callback<int>(refuse)), "refused", std::runtime_error);
}

TEST_CASE("from_callback: what making the value throws is thrown from the await, not at the API") {
  coracle::testing::lifetimes log;
  log.copies_until_throw = 0;
  const coracle::testing::lifetime_probe original{log};
  bool went_on = false;
  const auto give = [&](auto done) {
    done(original);
    went_on = true;
  };
  CHECK_THROWS_AS(coracle::sync_wait(from_callback<coracle::testing::lifetime_probe>(give)),
                  coracle::testing::copy_failed);
  CHECK(went_on);
}

TEST_CASE("from_callback: a completion that is dropped is a broken promise, at once or later") {
  const auto drop = [](auto) {};
  CHECK_THROWS_WITH_AS(coracle::sync_wait(from_callback<int>(drop)),
                       "an operation of from_callback dropped its completion without calling it",
                       coracle::broken_promise);
  api<> calls;
  seen found;
  coracle_test::run_detached(note(from_callback<int>(calls.start()), found));
  calls.handler.reset();
  CHECK(found.error == "an operation of from_callback dropped its completion without calling it");
}

TEST_CASE("from_callback: what initiate() throws is thrown once the completion is gone") {
  const auto refuse = [](auto) { throw std::runtime_error("not today"); };
  CHECK_THROWS_WITH_AS(coracle::sync_wait(from_callback<int>(refuse)), "not today", std::runtime_error);
  api<> calls;
  seen found;
  const auto keep_and_throw = [&](auto done) {
    calls.handler.emplace(std::move(done));
    throw std::runtime_error("half started");
  };
  coracle_test::run_detached(note(from_callback<int>(keep_and_throw), found));
  CHECK_FALSE(found.over);
  calls.complete(1);
  CHECK(found.error == "half started");
}

TEST_CASE("from_callback: assigning to a completion drops the one that it held") {
  api<> first, second;
  seen a, b;
  coracle_test::run_detached(note(from_callback<int>(first.start()), a));
  coracle_test::run_detached(note(from_callback<int>(second.start()), b));
  *first.handler = std::move(*second.handler);
  CHECK(a.over);
  CHECK_FALSE(b.over);
  CHECK_FALSE(*second.handler);
  first.complete(2);
  CHECK(b.value == 2);
}

TEST_CASE("from_callback: resumes on the executor on which it suspended, from any thread") {
  coracle::run_loop loop;
  api<> calls;
  bool in_place = false;
  const auto work = [&]() -> task<> {
    co_await from_callback<int>(calls.start());
    in_place = coracle::current_executor() == &loop;
  };
  coracle_test::run_detached_on(loop, work());
  CHECK(loop.run_one());
  std::thread([&] { calls.complete(1); }).join();
  CHECK_FALSE(in_place);
  CHECK(loop.run_one());
  CHECK(in_place);
}

TEST_CASE("from_callback: an API that takes a std::function gets a copyable completion") {
  std::function<void(int)> handler;
  seen found;
  const auto start = [&](auto done) { handler = std::move(done).copyable(); };
  SUBCASE("called") {
    coracle_test::run_detached(note(from_callback<int>(start), found));
    const auto copy = handler;
    handler = nullptr;
    CHECK_FALSE(found.over);
    copy(8);
    CHECK(found.value == 8);
  }
  SUBCASE("the last copy dropped") {
    coracle_test::run_detached(note(from_callback<int>(start), found));
    handler = nullptr;
    CHECK(found.error == "an operation of from_callback dropped its completion without calling it");
  }
  SUBCASE("failed and cancelled") {
    const auto fail = [&](auto done) {
      std::move(done).copyable().fail(std::make_exception_ptr(std::runtime_error("bad")));
    };
    coracle_test::run_detached(note(from_callback<int>(fail), found));
    CHECK(found.error == "bad");
    const auto cancel = [&](auto done) { std::move(done).copyable().cancelled(); };
    coracle_test::run_detached(note(from_callback<int>(cancel), found));
    CHECK(found.cancelled == coracle::stop_reason::requested);
  }
}

// A C library: a function, and a pointer that is passed to it.
using c_callback = void (*)(void* context, int status, int value);
struct c_library {
  c_callback callback;
  void* context;
};
void c_start(c_library& library, c_callback callback, void* context) { library = {callback, context}; }

TEST_CASE("from_callback: an API in C carries the completion as a void*") {
  c_library library{};
  seen found;
  const auto start = [&](completion<int> done) {
    const c_callback on_end = [](void* context, int status, int value) {
      auto mine = completion<int>::from(context);
      if (status != 0) return mine.fail(std::make_exception_ptr(std::runtime_error("status")));
      mine(value);
    };
    c_start(library, on_end, done.release());
  };
  coracle_test::run_detached(note(from_callback<int>(start), found));
  CHECK_FALSE(found.over);
  library.callback(library.context, 0, 11);
  CHECK(found.value == 11);
  coracle_test::run_detached(note(from_callback<int>(start), found));
  library.callback(library.context, 1, 0);
  CHECK(found.error == "status");
}

TEST_CASE("from_callback: two operations at the same time") {
  api<> a, b;
  const auto both = [&]() -> task<> {
    auto [x, y] = co_await coracle::when_all(from_callback<int>(a.start()), from_callback<int>(b.start()));
    CHECK(x == 1);
    CHECK(y == 2);
  };
  bool over = false;
  const auto run = [&]() -> task<> {
    co_await both();
    over = true;
  };
  coracle_test::run_detached(run());
  b.complete(2);
  a.complete(1);
  CHECK(over);
}

TEST_CASE("from_callback: the functions live until the await is over, and no longer") {
  coracle::testing::lifetimes log;
  api<> calls;
  seen found;
  {
    auto operation = from_callback<int>([&calls, probe = coracle::testing::lifetime_probe{log}](
                                            auto done) { calls.handler.emplace(std::move(done)); },
                                        [probe = coracle::testing::lifetime_probe{log}] {});
    coracle_test::run_detached(note(std::move(operation), found));
  }
  CHECK(log.destroyed.empty());
  CHECK(log.copies == 0);
  calls.complete(1);
  CHECK(log.destroyed.size() == 2);
  CHECK(log.alive == 0);
}

TEST_CASE("from_callback: a coroutine whose operations are always over at once gives way to others") {
  coracle::run_loop loop;
  int others = 0;
  const auto busy = [&]() -> task<> {
    for (int i = 0; i != 1000; ++i) co_await from_callback([](auto done) { done(); });
    CHECK(others > 0);
  };
  const auto other = [&]() -> task<> {
    ++others;
    co_return;
  };
  coracle_test::run_detached_on(loop, busy());
  coracle_test::run_detached_on(loop, other());
  while (loop.run_one()) {
  }
  CHECK(others == 1);
}

TEST_CASE("from_callback: allocates nothing" * doctest::skip(!coracle::testing::allocations_are_counted)) {
  api<> calls;
  int sum = 0;
  const auto work = [&]() -> detached {
    for (int i = 0; i != 3; ++i) sum += co_await from_callback<int>(calls.start(), calls.cancel());
  };
  work();
  const auto before = coracle::testing::allocations();
  for (int i = 0; i != 3; ++i) calls.complete(1);
  const auto after = coracle::testing::allocations();
  CHECK(after == before);
  CHECK(sum == 3);
}

TEST_CASE("from_callback: completed twice ends the program and says so") {
  CHECK(coracle_test::abort_message([] {
          coracle::sync_wait(from_callback<int>([](auto done) {
            done(1);
            done(2);
          }));
        }) == "coracle: an operation of from_callback was completed twice, or by a completion moved from\n");
}

TEST_CASE("from_callback: failed without an error ends the program and says so") {
  CHECK(coracle_test::abort_message(
            [] { coracle::sync_wait(from_callback<int>([](auto done) { done.fail(nullptr); })); }) ==
        "coracle: fail() of a completion with a null exception_ptr: pass the error, or call cancelled()\n");
}

TEST_CASE("from_callback: destroyed while it waits ends the program and says so") {
  CHECK(coracle_test::abort_message([] {
          api<> calls;
          seen found;
          task<> waiting = note(from_callback<int>(calls.start()), found);
          const auto run = [](task<>& body) -> detached { co_await body.when_ready(); };
          run(waiting);
          waiting = {};
        }) ==
        "coracle: a coroutine was destroyed while it waits for an operation of from_callback: let that "
        "complete first\n");
}

static_assert(!std::is_copy_constructible_v<completion<int>> &&
              std::is_nothrow_move_constructible_v<completion<int>>);
static_assert(sizeof(completion<int>) == sizeof(void*));
static_assert(!std::is_invocable_v<completion<int>&> && !std::is_invocable_v<completion<int>&, const char*> &&
              !std::is_invocable_v<completion<>&, int>);
}  // namespace
