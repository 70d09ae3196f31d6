// tests/unit/meeting_promise_test.cpp -- a coroutine that ends before or after it is awaited, on any thread.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <coracle/core/frame_memory.hpp>
#include <coracle/core/meeting_promise.hpp>
#include <coracle/core/sync_wait.hpp>
#include <coracle/exec/run_loop.hpp>
#include <coracle/exec/static_thread_pool.hpp>
#include <coracle/sync/async_manual_reset_event.hpp>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "../support/run_on_stack.hpp"
#include "../support/test_coroutine.hpp"

namespace {
namespace part = coracle::part;
using coracle::async_manual_reset_event;
using coracle::run_loop;
using coracle_test::test_coroutine;

static_assert(sizeof(part::meets_parent) == 4 * sizeof(void*), "its comment states this cost");

template <class T>
class [[nodiscard]] eager_task {
 public:
  struct promise_type : part::starts_eagerly,
                        part::returns<T>,
                        part::meets_parent,
                        part::awaits_anything,
                        coracle::recycled_frames {
    eager_task get_return_object() noexcept {
      return eager_task(std::coroutine_handle<promise_type>::from_promise(*this));
    }
  };
  eager_task(eager_task&& other) noexcept : body_(std::exchange(other.body_, nullptr)) {}
  ~eager_task() {
    if (body_) body_.destroy();
  }
  bool await_ready() const noexcept { return body_.promise().has_ended(); }
  bool await_suspend(std::coroutine_handle<> parent) noexcept { return body_.promise().set_parent(parent); }
  T await_resume() { return body_.promise().take(); }

 private:
  explicit eager_task(std::coroutine_handle<promise_type> body) noexcept : body_(body) {}
  std::coroutine_handle<promise_type> body_;
};

eager_task<int> answer() { co_return 42; }
eager_task<int> answer_after(async_manual_reset_event& event) {
  co_await event;
  co_return 42;
}
eager_task<int> answer_on(run_loop& loop) {
  co_await loop.schedule();
  co_return 42;
}
/// Schedules itself on `home` if there is one; then awaits, and records where it resumes.
test_coroutine await_on(run_loop* home, eager_task<int>& child, coracle::executor*& after, int& result) {
  if (home) co_await home->schedule();
  result = co_await child;
  after = coracle::current_executor();
}

TEST_CASE("meets_parent: one that has ended is ready, and its awaiter does not suspend") {
  eager_task<int> one = answer();
  CHECK(one.await_ready());
  CHECK(coracle::sync_wait(one) == 42);
}

TEST_CASE(
    "meets_parent: an end between await_ready and await_suspend wakes nobody, and the awaiter goes on") {
  async_manual_reset_event event;
  eager_task<int> one = answer_after(event);
  CHECK_FALSE(one.await_ready());
  event.set();
  CHECK_FALSE(one.await_suspend(std::noop_coroutine()));
  CHECK(one.await_resume() == 42);
}

TEST_CASE("meets_parent: one that is awaited before it ends wakes its awaiter at the end, once") {
  async_manual_reset_event event;
  eager_task<int> one = answer_after(event);
  coracle::executor* after = nullptr;
  int result = 0;
  test_coroutine parent = await_on(nullptr, one, after, result);
  parent.resume();
  CHECK_FALSE(parent.done());
  event.set();
  CHECK(parent.done());
  CHECK(result == 42);
}

TEST_CASE("meets_parent: the awaiter goes on on its own executor, wherever the coroutine ends") {
  run_loop home, away;
  eager_task<int> one = answer_on(away);
  coracle::executor* after = nullptr;
  int result = 0;
  test_coroutine parent = await_on(&home, one, after, result);
  parent.resume();
  CHECK(home.run_one());
  CHECK(away.run_one());
  CHECK_FALSE(parent.done());
  CHECK(home.run_one());
  CHECK(parent.done());
  CHECK(after == &home);
  CHECK(result == 42);
}

TEST_CASE("meets_parent: on the same executor the end continues the awaiter at once") {
  run_loop home;
  coracle::executor* after = nullptr;
  int result = 0;
  async_manual_reset_event event;
  auto body = [](run_loop& loop, async_manual_reset_event& e) -> eager_task<int> {
    co_await loop.schedule();
    co_await e;
    co_return 7;
  };
  eager_task<int> one = body(home, event);
  test_coroutine parent = await_on(&home, one, after, result);
  parent.resume();
  CHECK(home.run_pending() == 2);
  event.set();
  CHECK(home.run_one());
  CHECK(parent.done());
  CHECK(result == 7);
  CHECK(after == &home);
  CHECK_FALSE(home.run_one());
}

TEST_CASE(
    "meets_parent: an awaiter without an executor goes on outside of the one where the coroutine ends") {
  run_loop away;
  eager_task<int> one = answer_on(away);
  coracle::executor* after = &away;
  int result = 0;
  test_coroutine parent = await_on(nullptr, one, after, result);
  parent.resume();
  CHECK(away.run_one());
  CHECK(parent.done());
  CHECK(after == nullptr);
}

TEST_CASE(
    "meets_parent: an exception is kept for the awaiter, and a coroutine that nobody awaits is only freed") {
  auto fails = []() -> eager_task<std::string> {
    throw 5;
    co_return "never";
  };
  eager_task<std::string> awaited = fails();
  const eager_task<std::string> dropped = fails();
  CHECK(dropped.await_ready());
  CHECK_THROWS_AS(coracle::sync_wait(awaited), int);
}

TEST_CASE("meets_parent: 100,000 awaits one after the other need no more than 128 KiB of stack") {
  int sum = 0;
  const bool ran = coracle_test::run_on_stack(128 * 1024, [&sum] {
    run_loop loop;
    auto body = [](run_loop& l, int& total) -> test_coroutine {
      co_await l.schedule();
      for (int i = 0; i != 50'000; ++i) {
        eager_task<int> ended = answer();
        eager_task<int> later = answer_on(l);
        total += co_await ended;
        total += co_await later;
      }
    };
    test_coroutine root = body(loop, sum);
    root.resume();
    while (loop.run_one()) {
    }
  });
  CHECK(ran);
  CHECK(sum == 100'000 * 42);
}

TEST_CASE("meets_parent: end and awaiter meet 5,000 times on different threads, and the result is there") {
  constexpr int rounds = 5'000;
  coracle::static_thread_pool pool{1};
  auto body = [](coracle::static_thread_pool& place, std::vector<int>& data,
                 int value) -> eager_task<std::string> {
    co_await place.schedule();
    data.push_back(value);
    co_return std::string(30, 'x') + std::to_string(value);
  };
  int wrong = 0;
  for (int i = 0; i != rounds; ++i) {
    std::vector<int> data;
    eager_task<std::string> one = body(pool, data, i);
    for (int spin = 0; spin != i % 64; ++spin) static_cast<void>(one.await_ready());
    const std::string result = coracle::sync_wait(one);
    if (result != std::string(30, 'x') + std::to_string(i) || data != std::vector{i}) ++wrong;
  }
  CHECK(wrong == 0);
}
}  // namespace
