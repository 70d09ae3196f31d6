// tests/unit/awaitable_test.cpp -- what counts as awaitable, its result type, and where it works.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <coracle/core/awaitable.hpp>
#include <coracle/core/task.hpp>
#include <coracle/exec/inline_scheduler.hpp>
#include <coracle/exec/run_loop.hpp>
#include <coracle/generators/generator.hpp>
#include <coracle/sync/async_manual_reset_event.hpp>
#include <memory>
#include <string>

#include "../support/test_coroutine.hpp"

// Named, since most members here are never defined.
namespace awaitable_test {
using namespace coracle;

template <class Suspended, class Ready = bool>
struct awaiter_with {
  Ready await_ready();
  Suspended await_suspend(std::coroutine_handle<>);
  int await_resume();
};
struct truth {
  explicit operator bool() const;
};
struct no_resume {
  bool await_ready();
  void await_suspend(std::coroutine_handle<>);
};
struct member {
  awaiter_with<void> operator co_await() const;
};
struct rvalue_member {
  awaiter_with<void> operator co_await() &&;
};
struct lvalue_member {
  awaiter_with<void>& operator co_await() &;
};
struct free_one {
  friend awaiter_with<bool> operator co_await(free_one);
};
struct both {
  awaiter_with<void> operator co_await() const;
  friend awaiter_with<void> operator co_await(both);
};
struct member_of_nothing {
  int operator co_await() const;
};
template <class T>
struct giving {
  bool await_ready() noexcept;
  void await_suspend(std::coroutine_handle<>) noexcept;
  T await_resume() noexcept;
};

TEST_CASE("awaiter: await_suspend returns void, bool or a handle, and nothing else") {
  CHECK(awaiter<awaiter_with<void>>);
  CHECK(awaiter<awaiter_with<bool>>);
  CHECK(awaiter<awaiter_with<std::coroutine_handle<>>>);
  CHECK(awaiter<awaiter_with<std::coroutine_handle<std::noop_coroutine_promise>>>);
  CHECK_FALSE(awaiter<awaiter_with<int>>);
  CHECK_FALSE(awaiter<awaiter_with<void*>>);
  CHECK_FALSE(awaiter<awaiter_with<bool&>>);
}
TEST_CASE("awaiter: await_ready converts to bool in a condition, and the three members are there") {
  CHECK(awaiter<awaiter_with<void, truth>>);
  CHECK(awaiter<awaiter_with<void, int>>);
  CHECK_FALSE(awaiter<awaiter_with<void, void>>);
  CHECK_FALSE(awaiter<awaiter_with<void, std::string>>);
  CHECK_FALSE(awaiter<no_resume>);
  CHECK_FALSE(awaiter<int>);
}

TEST_CASE("awaitable: an awaiter, a member or a free operator co_await make one, both operators do not") {
  CHECK(awaitable<awaiter_with<void>>);
  CHECK(awaitable<awaiter_with<void>&>);
  CHECK(awaitable<std::suspend_always>);
  CHECK(awaitable<member>);
  CHECK(awaitable<const member&>);
  CHECK(awaitable<free_one>);
  CHECK(awaitable<free_one&>);
  CHECK_FALSE(awaitable<both>);
  CHECK_FALSE(awaitable<member_of_nothing>);
}
TEST_CASE("awaitable: int, void, pointers and handles are none") {
  CHECK_FALSE(awaitable<int>);
  CHECK_FALSE(awaitable<void>);
  CHECK_FALSE(awaitable<std::unique_ptr<int>>);
  CHECK_FALSE(awaitable<awaiter_with<void>*>);
  CHECK_FALSE(awaitable<std::coroutine_handle<>>);
}
TEST_CASE("awaitable: the value category decides: a task only as an rvalue, an event as an lvalue") {
  CHECK(awaitable<rvalue_member>);
  CHECK_FALSE(awaitable<rvalue_member&>);
  CHECK(awaitable<lvalue_member&>);
  CHECK_FALSE(awaitable<lvalue_member>);
  CHECK(awaitable<task<int>>);
  CHECK_FALSE(awaitable<task<int>&>);
  CHECK_FALSE(awaitable<const task<int>&>);
  CHECK(awaitable<async_manual_reset_event&>);
}

TEST_CASE("awaiter_type_t: what operator co_await returns, or the object itself") {
  CHECK(std::is_same_v<awaiter_type_t<member>, awaiter_with<void>>);
  CHECK(std::is_same_v<awaiter_type_t<free_one>, awaiter_with<bool>>);
  CHECK(std::is_same_v<awaiter_type_t<lvalue_member&>, awaiter_with<void>&>);
  CHECK(std::is_same_v<awaiter_type_t<std::suspend_always>, std::suspend_always&&>);
  CHECK(std::is_same_v<awaiter_type_t<std::suspend_always&>, std::suspend_always&>);
}
TEST_CASE("await_result_t: the type of the co_await expression, category included") {
  CHECK(std::is_same_v<await_result_t<std::suspend_always>, void>);
  CHECK(std::is_same_v<await_result_t<giving<int&>>, int&>);
  CHECK(std::is_same_v<await_result_t<giving<int&&>>, int&&>);
  CHECK(std::is_same_v<await_result_t<giving<const int&>>, const int&>);
  CHECK(std::is_same_v<await_result_t<task<std::unique_ptr<int>>>, std::unique_ptr<int>>);
  CHECK(std::is_same_v<await_result_t<task<int&>>, int&>);
  CHECK(std::is_same_v<await_result_t<task<>>, void>);
}
TEST_CASE("awaitable_of: the result converts; for void, there is none") {
  CHECK(awaitable_of<task<int>, int>);
  CHECK(awaitable_of<task<int>, double>);
  CHECK(awaitable_of<task<const char*>, std::string>);
  CHECK_FALSE(awaitable_of<task<std::string>, int>);
  CHECK(awaitable_of<task<>, void>);
  CHECK_FALSE(awaitable_of<task<int>, void>);
  CHECK_FALSE(awaitable_of<task<>, int>);
  CHECK_FALSE(awaitable_of<int, int>);
}
TEST_CASE("scheduler: has a schedule() that is awaitable of nothing") {
  struct returns_int {
    giving<int> schedule();
  };
  CHECK(scheduler<run_loop>);
  CHECK(scheduler<inline_scheduler>);
  CHECK(scheduler<const inline_scheduler>);
  CHECK_FALSE(scheduler<returns_int>);
  CHECK_FALSE(scheduler<int>);
}

struct plain_promise {};
struct int_promise {
  giving<long> await_transform(int);
};
struct refusing_promise {
  void await_transform(std::suspend_always) = delete;
};
struct picky_promise {
  template <class T>
    requires(sizeof(T) > 1000)
  T&& await_transform(T&&);
  giving<long> await_transform(char*);
};
struct final_promise final {};
struct only_in_plain {
  bool await_ready();
  void await_suspend(std::coroutine_handle<plain_promise>);
  void await_resume();
};
TEST_CASE("awaitable_in: without await_transform, what is awaitable anywhere") {
  CHECK(awaitable_in<std::suspend_always, plain_promise>);
  CHECK(awaitable_in<member, plain_promise>);
  CHECK(awaitable_in<free_one, plain_promise>);
  CHECK(awaitable_in<task<int>, plain_promise>);
  CHECK(awaitable_in<task<int>, final_promise>);
  CHECK_FALSE(awaitable_in<task<int>&, plain_promise>);
  CHECK_FALSE(awaitable_in<int, plain_promise>);
}
TEST_CASE("awaitable_in: await_transform admits what is not awaitable, and refuses what is") {
  CHECK(awaitable_in<int, int_promise>);
  CHECK_FALSE(awaitable_in<std::suspend_always, int_promise>);
  CHECK_FALSE(awaitable_in<std::suspend_always, refusing_promise>);
  CHECK_FALSE(awaitable_in<int, refusing_promise>);
  CHECK_FALSE(awaitable_in<std::suspend_always, picky_promise>);
}
TEST_CASE("awaitable_in: the coroutine types of the library") {
  CHECK(awaitable_in<task<int>, task<>::promise_type>);
  CHECK_FALSE(awaitable_in<task<int>&, task<>::promise_type>);
  CHECK_FALSE(awaitable_in<int, task<>::promise_type>);
  CHECK_FALSE(awaitable_in<task<int>, coracle::generator<int>::promise_type>);
}
TEST_CASE("awaitable_in: an awaiter may take the handle of one promise only") {
  CHECK(awaitable_in<only_in_plain, plain_promise>);
  CHECK_FALSE(awaitable_in<only_in_plain, int_promise>);
  CHECK_FALSE(awaitable<only_in_plain>);
}

TEST_CASE("get_awaiter: is noexcept where the operator is, and gives the object itself without a copy") {
  std::suspend_always object;
  CHECK(&get_awaiter(object) == &object);
  CHECK(noexcept(get_awaiter(object)));
  CHECK(noexcept(get_awaiter(std::declval<task<>>())));
  CHECK_FALSE(noexcept(get_awaiter(std::declval<member>())));
}

struct suspend_void {
  void await_suspend(std::coroutine_handle<> h) { seen = h; }
  std::coroutine_handle<> seen;
};
struct suspend_if {
  bool await_suspend(std::coroutine_handle<>) { return suspends; }
  bool suspends;
};
struct suspend_handle {
  std::coroutine_handle<> await_suspend(std::coroutine_handle<>) { return target; }
  std::coroutine_handle<> target;
};
TEST_CASE("suspend_into: starts an awaiter from plain code, whatever await_suspend returns") {
  const std::coroutine_handle<> self = std::noop_coroutine();
  suspend_void always;
  CHECK(detail::suspend_into(always, self));
  CHECK(always.seen == self);

  suspend_if yes{true}, no{false};
  CHECK(detail::suspend_into(yes, self));
  CHECK_FALSE(detail::suspend_into(no, self));

  bool ran = false;
  auto body = [](bool& flag) -> coracle_test::test_coroutine {
    flag = true;
    co_return;
  };
  coracle_test::test_coroutine target = body(ran);
  suspend_handle transfer{target.handle()};
  CHECK(detail::suspend_into(transfer, self));
  CHECK(ran);
}
}  // namespace awaitable_test
