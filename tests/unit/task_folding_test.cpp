// tests/unit/task_folding_test.cpp -- bodies that are visible where they are awaited, and may be folded.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <coracle/core/sync_wait.hpp>
#include <coracle/core/task.hpp>
#include <coracle/sync/async_manual_reset_event.hpp>
#include <coracle/testing/lifetime_probe.hpp>
#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <thread>

#include "../support/test_coroutine.hpp"

// With clang from -O1 on, a task of a number may leave its result in the awaiter and destroy itself. Every
// case here runs each body many times in a loop, as the benchmark of a visible leaf does, and once where the
// body is not visible.
namespace {
using coracle::async_manual_reset_event;
using coracle::task;
using coracle::testing::lifetime_probe;
using coracle::testing::lifetimes;
using coracle_test::test_coroutine;

enum class colour : std::uint8_t { red = 3, green = 200 };

task<int> seen(int n) { co_return n; }
[[gnu::noinline]] task<int> unseen(int n) { co_return n; }
task<bool> is_odd(int n) { co_return n % 2 != 0; }
task<double> half(int n) { co_return n * 0.5; }
task<colour> colour_of(int n) { co_return n % 2 != 0 ? colour::red : colour::green; }
task<> add_to(long& sum, int n) {
  sum += n;
  co_return;
}

TEST_CASE("task folding: each small result arrives, of a body that is seen or not") {
  long sum = 0, odd = 0, red = 0;
  double halves = 0;
  coracle::sync_wait([](long& s, long& o, long& r, double& h) -> task<> {
    for (int i = 0; i < 100; ++i) {
      s += co_await seen(i) - co_await unseen(i);
      co_await add_to(s, i);
      o += co_await is_odd(i) ? 1 : 0;
      r += co_await colour_of(i) == colour::red ? 1 : 0;
      h += co_await half(i);
    }
  }(sum, odd, red, halves));
  CHECK(sum == 4950);
  CHECK(odd == 50);
  CHECK(red == 50);
  CHECK(halves == 2475.0);
}

task<int> hold(lifetimes& log, lifetime_probe held) {
  const lifetime_probe local(log, 2);
  co_return static_cast<int>(held.id());
}

TEST_CASE("task folding: what a body holds is destroyed once, at the latest at the end of the expression") {
  lifetimes log;
  const int sum = coracle::sync_wait([](lifetimes& l) -> task<int> {
    int s = 0;
    for (int i = 0; i < 50; ++i) {
      s += co_await hold(l, lifetime_probe(l, 1));
      if (l.alive != 0) co_return -1;
    }
    co_return s;
  }(log));
  CHECK(sum == 50);
  CHECK(log.alive == 0);
  CHECK(log.destroyed.size() >= 100);
}

struct odd_number : std::runtime_error {
  using runtime_error::runtime_error;
};
task<int> refuse_odd(lifetimes& log, int n) {
  const lifetime_probe local(log, n);
  if (n % 2 != 0) throw odd_number("odd");
  co_return n;
}

TEST_CASE("task folding: an exception of a body arrives, and one that the awaiter drops leaks nothing") {
  lifetimes log;
  const int sum = coracle::sync_wait([](lifetimes& l) -> task<int> {
    int s = 0;
    for (int i = 0; i < 50; ++i) {
      try {
        s += co_await refuse_odd(l, i);
      } catch (const odd_number&) {
        s += 1000;
      }
      if (l.alive != 0) co_return -1;
    }
    co_return s;
  }(log));
  CHECK(sum == 25 * 1000 + 600);
}

/// Reports which coroutine awaits it.
struct parked {
  std::coroutine_handle<>& waiter;
  bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<> who) const noexcept { waiter = who; }
  void await_resume() const noexcept {}
};
task<int> wait_in(lifetimes& log, std::coroutine_handle<>& waiter, int n) {
  const lifetime_probe local(log, n);
  co_await parked{waiter};
  if (n < 0) throw odd_number("negative");
  co_return n;
}

TEST_CASE("task folding: a body that waits goes on, fails, or is destroyed with who awaits it") {
  for (const int n : {7, -7}) {
    for (const bool goes_on : {true, false}) {
      lifetimes log;
      std::coroutine_handle<> waiter;
      int result = 0;
      {
        auto parent = [](lifetimes& l, std::coroutine_handle<>& w, int number, int& r) -> test_coroutine {
          try {
            r = co_await wait_in(l, w, number) + co_await seen(1);
          } catch (const odd_number&) {
            r = -1;
          }
        }(log, waiter, n, result);
        parent.resume();
        CHECK(!parent.done());
        CHECK(log.alive == 1);
        if (goes_on) {
          coracle::resume(waiter);
          CHECK(parent.done());
        }
      }
      CHECK(log.alive == 0);
      CHECK(result == (!goes_on ? 0 : n < 0 ? -1 : 8));
    }
  }
}

task<int> wait_for(lifetimes& log, async_manual_reset_event& event, int n) {
  const lifetime_probe local(log, n);
  co_await event;
  co_return n;
}

TEST_CASE("task folding: a body that ends on another thread leaves its result there") {
  lifetimes log;
  async_manual_reset_event event;
  std::thread setter([&event] { event.set(); });
  const int result = coracle::sync_wait([](lifetimes& l, async_manual_reset_event& e) -> task<int> {
    const int before = co_await wait_for(l, e, 40);
    co_return before + co_await wait_for(l, e, 2);
  }(log, event));
  setter.join();
  CHECK(result == 42);
  CHECK(log.alive == 0);
}

TEST_CASE("task folding: a task that is kept, and was run for its end only, gives its result later") {
  const int sum = coracle::sync_wait([]() -> task<int> {
    int s = 0;
    for (int i = 0; i < 20; ++i) {
      task<int> kept = seen(i);
      co_await kept.when_ready();
      std::optional<task<int>> moved(std::move(kept));
      s += co_await *std::move(moved);
    }
    co_return s;
  }());
  CHECK(sum == 190);
}

/// Counts the objects that have not been released.
template <class T>
struct counted : std::allocator<T> {
  template <class U>
  struct rebind {
    using other = counted<U>;
  };
  explicit counted(long& open) noexcept : open_(&open) {}
  template <class U>
  counted(const counted<U>& other) noexcept : open_(other.open_) {}
  T* allocate(std::size_t n) {
    ++*open_;
    return std::allocator<T>::allocate(n);
  }
  void deallocate(T* p, std::size_t n) noexcept {
    --*open_;
    std::allocator<T>::deallocate(p, n);
  }
  long* open_;
};
task<int> allocated(std::allocator_arg_t, counted<char>, int n) {
  if (n == 13) throw odd_number("thirteen");
  co_return n;
}

TEST_CASE("task folding: a frame from an allocator goes back to it, each time before the next is made") {
  long open = 0;
  const int sum = coracle::sync_wait([](long& o) -> task<int> {
    int s = 0;
    for (int i = 0; i < 20; ++i) {
      try {
        s += co_await allocated(std::allocator_arg, counted<char>(o), i);
      } catch (const odd_number&) {
        s += 13;
      }
      if (o != 0) co_return -1;
    }
    co_return s;
  }(open));
  CHECK(sum == 190);
  CHECK(open == 0);
}
}  // namespace
