// tests/unit/argument_lookup_test.cpp -- functions of the user's namespace that have the names of this
// library's: argument-dependent lookup finds them, and none is called.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <coracle/compose/as_outcome.hpp>
#include <coracle/compose/async_scope.hpp>
#include <coracle/compose/fmap.hpp>
#include <coracle/compose/for_each_concurrent.hpp>
#include <coracle/compose/fork_join.hpp>
#include <coracle/compose/from_callback.hpp>
#include <coracle/compose/select.hpp>
#include <coracle/compose/single_flight.hpp>
#include <coracle/compose/via.hpp>
#include <coracle/compose/when_all.hpp>
#include <coracle/compose/when_any.hpp>
#include <coracle/core/shared_task.hpp>
#include <coracle/core/sync_wait.hpp>
#include <coracle/core/task.hpp>
#include <coracle/exec/inline_scheduler.hpp>
#include <coracle/generators/async_generator.hpp>
#include <functional>
#include <tuple>
#include <utility>
#include <vector>

namespace user {
struct wrong {};
// Not defined: a call of one whose result is not used does not link.
#define GREEDY(name)                   \
  template <class T>                   \
  wrong name(T&&);                     \
  template <class T, class U>          \
  wrong name(T&&, U&&);                \
  template <class T, class U, class V> \
  wrong name(T&&, U&&, V&&)
GREEDY(apply_to_each);
GREEDY(as_awaitable);
GREEDY(as_sibling);
GREEDY(await_here);
GREEDY(await_on);
GREEDY(construct_stored);
GREEDY(copy_failure);
GREEDY(element_of);
GREEDY(environment_of);
GREEDY(get_awaiter);
GREEDY(give_way);
GREEDY(put_off);
GREEDY(suspend_and_give);
GREEDY(suspend_into);
GREEDY(take_and_wait);
GREEDY(take_now);
GREEDY(transfer_to);
GREEDY(when_any);
#undef GREEDY

struct value {
  int number = 1;
};
struct awaiter {
  bool await_ready() const noexcept { return true; }
  void await_suspend(std::coroutine_handle<>) const noexcept {}
  value await_resume() const noexcept { return {}; }
};
struct awaitable {
  awaiter operator co_await() const noexcept { return {}; }
};
coracle::task<value> work() { co_return value{}; }
coracle::shared_task<value> shared_work() { co_return value{}; }
coracle::async_generator<value> values() { co_yield value{}; }
}  // namespace user

TEST_CASE("argument-dependent lookup: combinators call nothing of the user's namespace") {
  const auto all = []() -> coracle::task<int> {
    int sum = (co_await user::work()).number + (co_await user::awaitable{}).number;
    sum += (co_await user::shared_work()).number;
    const auto [a, b] = co_await coracle::when_all(user::work(), user::awaitable{});
    sum += a.number + b.number;
    std::vector<coracle::task<user::value>> tasks;
    tasks.push_back(user::work());
    sum += (co_await coracle::when_all(std::move(tasks))).front().number;
    sum += std::get<0>(co_await coracle::when_any(user::work(), user::awaiter{})).number;
    sum += std::get<0>(co_await coracle::select(user::awaitable{}, user::work())).number;
    const auto [c, d] = co_await coracle::fork_join(user::work(), user::work());
    sum += c.number + d.number;
    sum += (co_await coracle::as_outcome(user::work())).get().number;
    co_return sum + (co_await coracle::fmap(user::awaitable{}, std::identity())).number;
  };
  CHECK(coracle::sync_wait(all()) == 12);
  CHECK(coracle::sync_wait(user::awaitable{}).number == 1);
}

TEST_CASE("argument-dependent lookup: scopes, hops and callbacks call nothing of the user's namespace") {
  const auto all = []() -> coracle::task<int> {
    coracle::inline_scheduler place;
    int sum = (co_await coracle::via(user::work(), place)).number;
    sum += (co_await coracle::resume_on(user::awaitable{}, place)).number;
    coracle::async_scope scope;
    scope.spawn(user::awaiter{});
    scope.spawn(user::work());
    auto future = scope.spawn_future(user::awaitable{});
    sum += (co_await std::move(future)).number;
    co_await scope.join();
    const auto complete = [](auto done) { done(user::value{}); };
    sum += (co_await coracle::from_callback<user::value>(complete)).number;
    coracle::single_flight<int, user::value> flights;
    sum += (co_await flights.run(1, &user::work)).number;
    std::vector<user::value> elements(2);
    const auto visit = [&](user::value& each) -> coracle::task<user::value> {
      sum += each.number;
      co_return each;
    };
    co_await coracle::for_each_concurrent(elements, 1, visit);
    auto generator = user::values();
    co_return sum + (co_await generator.next())->number;
  };
  CHECK(coracle::sync_wait(all()) == 8);
}
