// tests/compat/cppcoro_when_all_test.cpp -- cppcoro's when_all and when_all_ready, and fmap of awaitables.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <coracle/compose/when_all.hpp>
#include <coracle/core/task.hpp>
#include <coracle/testing/allocations.hpp>
#include <cppcoro/async_manual_reset_event.hpp>
#include <cppcoro/async_mutex.hpp>
#include <cppcoro/fmap.hpp>
#include <cppcoro/shared_task.hpp>
#include <cppcoro/sync_wait.hpp>
#include <cppcoro/task.hpp>
#include <cppcoro/when_all.hpp>
#include <cppcoro/when_all_ready.hpp>
#include <memory>
#include <string>
#include <vector>

namespace {
using cppcoro::fmap;
using cppcoro::sync_wait;
using cppcoro::task;
using cppcoro::when_all;
using cppcoro::when_all_ready;

task<std::string> text(const char* value) { co_return value; }
task<> nothing() { co_return; }
task<std::unique_ptr<int>> owned(int value) { co_return std::make_unique<int>(value); }
task<int> fail_with(int error) {
  throw error;
  co_return 0;
}

TEST_CASE("cppcoro::when_all: a named one can be awaited again, and gives the same results") {
  auto body = []() -> task<> {
    auto both = when_all(text("a"), nothing());
    auto [first, none] = co_await both;
    auto [again, none_again] = co_await both;
    static_cast<void>(none);
    static_cast<void>(none_again);
    CHECK(first == "a");
    CHECK(again == "a");
    auto [moved, rest] = co_await std::move(both);
    static_cast<void>(rest);
    CHECK(moved == "a");
  };
  sync_wait(body());
}

TEST_CASE("cppcoro::when_all: move-only results come out of an rvalue") {
  auto [a, b] = sync_wait(when_all(owned(1), owned(2)));
  CHECK(*a + *b == 3);
  std::vector<task<std::unique_ptr<int>>> all;
  all.push_back(owned(3));
  all.push_back(owned(4));
  const std::vector<std::unique_ptr<int>> results = sync_wait(when_all(std::move(all)));
  CHECK(*results[0] + *results[1] == 7);
}

TEST_CASE("cppcoro::when_all: a named awaitable is copied, one in std::ref is awaited in place") {
  auto shared = [](int value) -> cppcoro::shared_task<int> { co_return value; };
  cppcoro::shared_task<int> s = shared(5);
  task<std::string> t = text("in place");
  auto [number, in_place] = sync_wait(when_all(s, std::ref(t)));
  CHECK(number == 5);
  CHECK(in_place == "in place");
  CHECK(t.is_ready());
  CHECK(sync_wait(t) == "in place");
}

/// Gives a reference into the awaiter, which a when_all has to keep.
class counter_awaiter {
 public:
  explicit counter_awaiter(int value) noexcept : value_(value) {}
  counter_awaiter(const counter_awaiter&) = delete;
  counter_awaiter& operator=(const counter_awaiter&) = delete;
  ~counter_awaiter() { value_ = -1; }
  bool await_ready() const noexcept { return true; }
  void await_suspend(std::coroutine_handle<>) const noexcept {}
  int& await_resume() noexcept { return value_; }

 private:
  int value_;
};
class counter {
 public:
  counter_awaiter operator co_await() const noexcept { return counter_awaiter{11}; }
};
struct record {
  std::string name;
  std::vector<int> values;
};

TEST_CASE("cppcoro::when_all_ready: a result that refers into the awaiter stays valid") {
  auto [child] = sync_wait(when_all_ready(counter{}));
  CHECK(child.result() == 11);
  CHECK(++child.result() == 12);
  CHECK(child.result() == 12);
}

TEST_CASE("cppcoro::when_all: results that are aggregates are moved, once") {
  auto make = [](std::string name) { return record{std::move(name), {1, 2, 3}}; };
  auto [one, two] =
      sync_wait(when_all(text("first") | fmap(make), text("a rather long second name") | fmap(make)));
  CHECK(one.name == "first");
  CHECK(two.name == "a rather long second name");
  CHECK(two.values.size() == 3);
}

TEST_CASE("cppcoro::when_all: throws the first exception in the order given, after all have ended") {
  cppcoro::async_manual_reset_event event;
  bool ended = false;
  auto late = [](cppcoro::async_manual_reset_event& gate, bool& end) -> task<> {
    co_await gate;
    end = true;
  };
  auto opens = [](cppcoro::async_manual_reset_event& gate) -> task<> {
    gate.set();
    co_return;
  };
  try {
    sync_wait(when_all(late(event, ended), fail_with(1), fail_with(2), opens(event)));
    FAIL("did not throw");
  } catch (int error) {
    CHECK(error == 1);
  }
  CHECK(ended);
}

TEST_CASE("cppcoro::when_all_ready: keeps exceptions in the children, to be thrown as often as asked") {
  auto [bad, good] = sync_wait(when_all_ready(fail_with(4), nothing()));
  CHECK_THROWS_AS(bad.result(), int);
  CHECK_THROWS_AS(std::move(bad).result(), int);
  CHECK_NOTHROW(good.result());
}

TEST_CASE("cppcoro::when_all: of nothing, and of an empty vector, completes at once") {
  const std::tuple<> none = sync_wait(when_all());
  static_cast<void>(none);
  CHECK(sync_wait(when_all(std::vector<task<std::string>>())).empty());
  sync_wait(when_all(std::vector<task<>>()));
}

TEST_CASE("cppcoro::when_all: one that cannot allocate throws std::bad_alloc and loses nothing" *
          doctest::skip(!coracle::testing::allocations_are_counted)) {
  const int failed = coracle::testing::fail_each_allocation([] {
    try {
      auto [a, b] = sync_wait(when_all(text("a"), owned(1)));
    } catch (const std::bad_alloc&) {
    }
  });
  CHECK(failed >= 4);
}

TEST_CASE("cppcoro::when_all: called unqualified it is not ambiguous for coracle's types") {
  cppcoro::async_manual_reset_event event{true};
  auto plain = []() -> coracle::task<int> { co_return 3; };
  auto body = [&]() -> task<int> {
    auto [n] = co_await when_all(plain());
    co_await when_all_ready(std::ref(event));
    auto mapped = fmap([](int x) { return x + 1; }, plain());
    co_return n + co_await std::move(mapped);
  };
  CHECK(sync_wait(body()) == 7);
}

TEST_CASE("cppcoro::fmap: holds copies of its function and its awaitable") {
  auto make = [] {
    const std::string prefix = "a prefix that is too long for the small string buffer ";
    auto add = [prefix](const std::string& s) { return prefix + s; };
    return text("x") | fmap(add) | fmap([](const std::string& s) { return s.size(); });
  };
  auto size = make();
  CHECK(sync_wait(size) == 55);
  CHECK(sync_wait(size) == 55);
}

TEST_CASE("cppcoro::async_mutex: may be destroyed while held, and a lock can be adopted") {
  {
    cppcoro::async_mutex held;
    CHECK(held.try_lock());
  }
  cppcoro::async_mutex mutex;
  {
    REQUIRE(mutex.try_lock());
    const cppcoro::async_mutex_lock lock{mutex, std::adopt_lock};
  }
  auto body = [](cppcoro::async_mutex& m) -> task<> {
    const cppcoro::async_mutex_lock lock = co_await m.scoped_lock_async();
    CHECK_FALSE(m.try_lock());
  };
  sync_wait(body(mutex));
  CHECK(mutex.try_lock());
}
}  // namespace
