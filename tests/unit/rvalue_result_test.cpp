// tests/unit/rvalue_result_test.cpp -- awaitables that return an rvalue reference to what they hold.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <chrono>
#include <coracle/coracle.hpp>
#include <coracle/io/io_service.hpp>
#include <coracle/testing.hpp>
#include <coracle/testing/simulation/simulation.hpp>
#include <coroutine>
#include <memory>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace {
using namespace std::chrono_literals;
using coracle::task;

using number = std::unique_ptr<int>;

/// Its awaiter holds the result and ends with the await, as that of a coroutine type may that returns
/// `std::move(result_)`.
class seven {
 public:
  class awaiter {
   public:
    awaiter() noexcept {}
    awaiter(awaiter&&) = delete;
    bool await_ready() const noexcept { return true; }
    void await_suspend(std::coroutine_handle<>) const noexcept {}
    number&& await_resume() noexcept { return std::move(result_); }

   private:
    number result_ = std::make_unique<int>(7);
  };
  seven() noexcept {}
  awaiter operator co_await() const noexcept { return {}; }
};

template <class Expected, class Result>
void check_value(Result&& result) {
  static_assert(std::is_same_v<Result, Expected>, "a value, not a reference to what has ended");
  CHECK(*result == 7);
}

TEST_CASE("rvalue results: tasks and combinators of one awaitable return a value") {
  coracle::testing::manual_scheduler place;
  coracle::stop_source stop;
  const coracle::task_local<int> local{0};
  const auto make = []() { return seven(); };
  const auto in_scope = [](coracle::async_scope&) { return seven(); };
  const auto nothing = []() -> task<> { co_return; };
  const auto use = [&]() -> task<> {
    check_value<number>(co_await coracle::make_task(seven()));
    check_value<number>(co_await coracle::schedule_on(seven(), place));
    check_value<number>(co_await coracle::resume_on(seven(), place));
    check_value<number>(co_await coracle::via(seven(), place));
    check_value<number>(co_await coracle::with_stop(seven(), stop.get_token()));
    check_value<number>(co_await coracle::stop_when(seven(), stop.get_token()));
    check_value<number>(co_await coracle::shielded(seven()));
    check_value<number>(co_await coracle::with_value(seven(), local, 1));
    check_value<number>(co_await coracle::timeout(seven(), 1s));
    check_value<number>(co_await coracle::stop_after(seven(), 1s));
    check_value<number>(co_await coracle::async_finally(seven(), nothing, 1s));
    check_value<number>(co_await coracle::with_scope(in_scope));
    check_value<number>(co_await coracle::retry({}, make));
    check_value<number>(co_await coracle::hedge(1s, make));
    auto end = co_await coracle::as_outcome(seven());
    check_value<number>(std::move(end).get());
    auto optional = co_await coracle::as_optional(seven());
    check_value<number>(std::move(*optional));
    auto expected = co_await coracle::as_expected(seven());
    check_value<number>(std::move(*expected));
    coracle::async_scope scope;
    auto future = scope.spawn_future(seven());
    co_await scope.join();
    check_value<number>(co_await std::move(future));
  };
  auto used = coracle::testing::poll(place, use());
  CHECK(used.run());
  used.get();
}

TEST_CASE("rvalue results: combinators of several awaitables return values") {
  const auto consume = [](auto&& result) { check_value<number>(std::move(result)); };
  const auto use = [&]() -> task<> {
    auto all = co_await coracle::when_all(seven(), seven());
    static_assert(std::is_same_v<decltype(all), std::tuple<number, number>>);
    check_value<number>(std::move(std::get<1>(all)));
    auto ready = co_await coracle::when_all_ready(seven());
    check_value<number>(std::move(std::get<0>(ready)).get());
    auto each = co_await coracle::when_all(std::vector<seven>(2));
    static_assert(std::is_same_v<decltype(each), std::vector<number>>);
    check_value<number>(std::move(each[1]));
    auto first = co_await coracle::when_any(seven(), seven());
    check_value<number>(std::move(std::get<0>(first)));
    auto succeeded = co_await coracle::when_any_succeeds(std::vector<seven>(2));
    check_value<number>(std::move(succeeded.value));
    auto selected = co_await coracle::select(seven(), coracle::sleep_for(1s));
    check_value<number>(std::move(std::get<0>(selected)));
    co_await coracle::as_completed(std::vector<seven>(2), consume);
  };
  coracle::sync_wait(use());
}

/// What a task returns refers to something that outlives it.
task<number&&> moved_from(number& kept) { co_return std::move(kept); }
task<const int> constant() { co_return 7; }

TEST_CASE("rvalue results: a task of a reference, or of a const number, is passed on as a value, too") {
  number one = std::make_unique<int>(7);
  const auto use = [&]() -> task<> {
    auto end = co_await coracle::as_outcome(moved_from(one));
    check_value<number>(std::move(one = std::move(end).get()));
    auto optional = co_await coracle::as_optional(moved_from(one));
    check_value<number>(std::move(one = std::move(*optional)));
    auto expected = co_await coracle::as_expected(moved_from(one));
    check_value<number>(std::move(one = std::move(*expected)));
    check_value<number>(std::move(one = co_await coracle::timeout(moved_from(one), 1s)));
    auto all = co_await coracle::when_all(moved_from(one), constant());
    static_assert(std::is_same_v<decltype(all), std::tuple<number, int>>);
    check_value<number>(std::move(one = std::move(std::get<0>(all))));
    auto first = co_await coracle::when_any(moved_from(one), constant());
    check_value<number>(std::move(one = std::get<0>(std::move(first))));
    auto joined = co_await coracle::fork_join(moved_from(one), constant());
    static_assert(std::is_same_v<decltype(joined), std::tuple<number, int>>);
    check_value<number>(std::move(std::get<0>(joined)));
    CHECK(std::get<1>(joined) == 7);
    CHECK((co_await coracle::as_outcome(constant())).get() == 7);
    CHECK(co_await coracle::timeout(constant(), 1s) == 7);
  };
  coracle::sync_wait(use());
}

TEST_CASE("rvalue results: what awaits from plain code returns a value") {
  check_value<number>(coracle::sync_wait(seven()));
  coracle::testing::virtual_time_loop loop;
  check_value<number>(loop.run(seven()));
  coracle::testing::simulation simulation{1};
  check_value<number>(simulation.run(seven()));
  coracle::io_service io;
  check_value<number>(io.run(seven()));
}
}  // namespace
