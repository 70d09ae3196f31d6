// tests/unit/promise_parts_test.cpp -- each part of a promise, in a user-defined coroutine type.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <coracle/core/promise_parts.hpp>
#include <coracle/core/sync_wait.hpp>
#include <coracle/core/task.hpp>
#include <coracle/testing/lifetime_probe.hpp>
#include <memory>
#include <string>
#include <vector>

#include "../support/abort_message.hpp"
#include "../support/test_coroutine.hpp"

namespace {
namespace part = coracle::part;
using coracle::task;

/// A coroutine type made of the given parts; its handle is public, and its owner destroys it.
template <class... Parts>
struct made_of {
  struct promise_type : Parts... {
    made_of get_return_object() noexcept {
      return made_of(std::coroutine_handle<promise_type>::from_promise(*this));
    }
  };
  explicit made_of(std::coroutine_handle<promise_type> h) noexcept : body(h) {}
  made_of(made_of&& other) noexcept : body(std::exchange(other.body, nullptr)) {}
  ~made_of() {
    if (body) body.destroy();
  }
  void resume() const { coracle::resume(body); }
  std::coroutine_handle<promise_type> body;
};
template <class T, class Errors = part::stores_errors>
using lazy =
    made_of<part::starts_lazily, part::returns<T, Errors>, part::stays_at_end, part::awaits_anything>;
using eager = made_of<part::starts_eagerly, part::returns<void>, part::stays_at_end, part::awaits_anything>;

lazy<void> log_line(std::vector<int>& log, int line) {
  log.push_back(line);
  co_return;
}
eager log_line_now(std::vector<int>& log, int line) {
  log.push_back(line);
  co_return;
}
TEST_CASE("starts_lazily: the body runs when it is resumed; starts_eagerly: inside the call") {
  std::vector<int> log;
  const lazy<void> late = log_line(log, 1);
  const eager now = log_line_now(log, 2);
  CHECK(log == std::vector{2});
  CHECK(now.body.done());
  late.resume();
  CHECK(log == std::vector{2, 1});
  CHECK(late.body.done());
}

task<> log_in_task(std::vector<int>& log, int line) {
  log.push_back(line);
  co_return;
}
eager await_now(std::vector<int>& log) {
  co_await log_in_task(log, 2);
  log.push_back(3);
}
TEST_CASE("starts_eagerly: called inside a running coroutine, it awaits tasks before the call returns") {
  std::vector<int> log;
  auto body = [](std::vector<int>& lines) -> coracle_test::test_coroutine {
    lines.push_back(1);
    const eager child = await_now(lines);
    lines.push_back(4);
    co_await log_in_task(lines, 5);
  };
  coracle_test::test_coroutine root = body(log);
  root.resume();
  CHECK(root.done());
  CHECK(log == std::vector{1, 2, 3, 4, 5});
}

eager nest_eagerly(std::vector<int>& log, int levels) {
  if (levels != 0) {
    const eager inner = nest_eagerly(log, levels - 1);
    co_await log_in_task(log, levels);
  }
}
TEST_CASE("starts_eagerly: eager coroutines inside one another run in the order of the calls") {
  std::vector<int> log;
  const eager outer = nest_eagerly(log, 3);
  CHECK(outer.body.done());
  CHECK(log == std::vector{1, 2, 3});
}

lazy<std::unique_ptr<int>> own() { co_return std::make_unique<int>(3); }
lazy<int&> refer(int& object) { co_return object; }
lazy<std::string> convert() { co_return "text"; }
TEST_CASE("returns: take() gives the value, the reference or nothing") {
  const lazy<std::unique_ptr<int>> owner = own();
  owner.resume();
  CHECK(*owner.body.promise().take() == 3);

  int object = 0;
  const lazy<int&> reference = refer(object);
  reference.resume();
  CHECK(&reference.body.promise().take() == &object);

  const lazy<std::string> converted = convert();
  converted.resume();
  CHECK(converted.body.promise().take() == "text");
}

template <class Errors>
lazy<int, Errors> fail() {
  throw 5;
  co_return 0;
}
TEST_CASE("stores_errors: resume() throws nothing, take() throws") {
  const lazy<int> one = fail<part::stores_errors>();
  one.resume();
  CHECK(one.body.done());
  CHECK_THROWS_AS(static_cast<void>(one.body.promise().take()), int);
}
TEST_CASE("rethrows_errors: the exception leaves through resume(), and the coroutine has ended") {
  const lazy<int, part::rethrows_errors> one = fail<part::rethrows_errors>();
  CHECK_THROWS_AS(one.resume(), int);
  CHECK(one.body.done());
}
TEST_CASE("terminates_on_error: an exception ends the program") {
  const std::string written = coracle_test::abort_message([] {
    std::set_terminate([] { coracle::detail::fail("terminated"); });
    fail<part::terminates_on_error>().resume();
  });
  CHECK(written == "coracle: terminated\n");
}

lazy<coracle::testing::lifetime_probe, part::terminates_on_error> probe_result(
    coracle::testing::lifetimes& log) {
  co_return coracle::testing::lifetime_probe(log, 1);
}
TEST_CASE("terminates_on_error: the value is destroyed once, if there is one") {
  coracle::testing::lifetimes log;
  {
    const auto unstarted = probe_result(log);
    const auto ended = probe_result(log);
    ended.resume();
    CHECK(log.alive == 1);
  }
  CHECK(log.alive == 0);
  CHECK(log.destroyed == std::vector{1});
}
TEST_CASE("parts: one that holds nothing takes no space, and without errors the value alone is stored") {
  CHECK(sizeof(lazy<int, part::terminates_on_error>::promise_type) == sizeof(int));
  CHECK(sizeof(lazy<void*, part::rethrows_errors>::promise_type) == sizeof(void*));
  CHECK(sizeof(lazy<std::string, part::terminates_on_error>::promise_type) ==
        sizeof(std::string) + sizeof(void*));
  CHECK(sizeof(lazy<int>::promise_type) == 2 * sizeof(void*));
}

struct fire_and_forget {
  struct promise_type : part::starts_eagerly,
                        part::returns<void, part::terminates_on_error>,
                        part::frees_itself,
                        part::awaits_anything {
    fire_and_forget get_return_object() const noexcept { return {}; }
  };
};
fire_and_forget run_and_go(std::coroutine_handle<>& waiting, coracle::testing::lifetime_probe) {
  struct publish {
    explicit publish(std::coroutine_handle<>& where) noexcept : place(where) {}
    bool await_ready() const noexcept { return false; }
    void await_suspend(std::coroutine_handle<> h) const noexcept { place = h; }
    void await_resume() const noexcept {}
    std::coroutine_handle<>& place;
  };
  co_await publish(waiting);
}
TEST_CASE("frees_itself: the frame goes at the end of the body, whoever resumed it") {
  coracle::testing::lifetimes log;
  std::coroutine_handle<> waiting;
  run_and_go(waiting, coracle::testing::lifetime_probe(log, 1));
  CHECK(log.alive == 1);
  REQUIRE(waiting);
  coracle::resume(waiting);
  CHECK(log.alive == 0);
}

using picky = made_of<part::starts_lazily, part::returns<int>, part::stays_at_end,
                      part::awaits_only<std::suspend_always, task<int>>>;
picky await_two_kinds() {
  co_await std::suspend_always{};
  co_return co_await []() -> task<int> { co_return 6; }();
}
TEST_CASE("awaits_only: awaits the types named") {
  const picky one = await_two_kinds();
  one.resume();
  CHECK_FALSE(one.body.done());
  one.resume();
  CHECK(one.body.promise().take() == 6);
}

/// Awaits numbers: the result is one more. Counts its awaits.
struct adding {
  struct promise_type : part::starts_lazily,
                        part::returns<int>,
                        part::stays_at_end,
                        part::adapts_awaits<promise_type> {
    adding get_return_object() noexcept { return {std::coroutine_handle<promise_type>::from_promise(*this)}; }
    auto adapt_await(int value) {
      ++awaits;
      return [](int n) -> task<int> { co_return n + 1; }(value);
    }
    template <class T>
    T&& adapt_await(T&& value) {
      ++awaits;
      return static_cast<T&&>(value);
    }
    int awaits = 0;
  };
  std::coroutine_handle<promise_type> body;
};
adding add_by_awaiting() {
  co_await std::suspend_never{};
  const int two = co_await 1;
  const int three = co_await two;
  co_return three;
}
TEST_CASE("adapts_awaits: each await goes through adapt_await(), which may admit what is not awaitable") {
  const adding one = add_by_awaiting();
  coracle::resume(one.body);
  CHECK(one.body.promise().awaits == 3);
  CHECK(one.body.promise().take() == 3);
  one.body.destroy();
}

using sequence = made_of<part::starts_lazily, part::returns<void>, part::stays_at_end, part::awaits_nothing,
                         part::yields<std::string>>;
sequence two_lines(const std::string*& first) {
  const std::string line = "one";
  first = &line;
  co_yield line;
  co_yield std::string("two");
}
TEST_CASE("yields: shows each value without a copy to whoever resumed it") {
  const std::string* first = nullptr;
  const sequence lines = two_lines(first);
  lines.resume();
  CHECK(&lines.body.promise().yielded() == first);
  lines.resume();
  CHECK(lines.body.promise().yielded() == "two");
  CHECK_FALSE(lines.body.done());
  lines.resume();
  CHECK(lines.body.done());
}

/// Its promise reads the parameters, including the object, before the body runs.
struct observing {
  struct promise_type : part::starts_lazily, part::returns<int>, part::stays_at_end, part::awaits_nothing {
    promise_type() = default;
    promise_type(const std::string& name, int number) : seen(name + std::to_string(number)) {}
    template <class Object>
    promise_type(Object& object, const std::string& name) : seen(name + object.suffix) {}
    observing get_return_object() noexcept {
      return {std::coroutine_handle<promise_type>::from_promise(*this)};
    }
    std::string seen = "nothing";
  };
  ~observing() { body.destroy(); }
  std::coroutine_handle<promise_type> body;
};
observing observe(std::string, int) { co_return 0; }
observing observe_nothing() { co_return 0; }
struct object {
  observing observe(std::string) { co_return 0; }
  std::string suffix = "-of-object";
};
TEST_CASE("parts: a promise's constructor may look at the parameters of the coroutine, and at its object") {
  object here;
  CHECK(observe("name", 3).body.promise().seen == "name3");
  CHECK(here.observe("name").body.promise().seen == "name-of-object");
  CHECK(observe_nothing().body.promise().seen == "nothing");
}
}  // namespace
