// tests/probes/thread_local_caching.cpp -- does a coroutine that has changed threads see the new thread's
// state?
// SPDX-License-Identifier: MIT
#include <cerrno>
#include <coracle/core/executor.hpp>
#include <coracle/core/task.hpp>
#include <cstdio>
#include <set>
#include <thread>

#include "../support/detached.hpp"

// A compiler may compute the address of a thread-local once and use it after the coroutine was resumed on
// another thread. Each shape below reads everything that belongs to a thread, is moved, and reads it again.
namespace {
using coracle_test::detached;

thread_local int own_number = 0;

struct nowhere final : coracle::executor {
  void post(coracle::resumption&) noexcept override {}
};

/// What the thread that runs the coroutine really is.
struct thread_facts {
  int number = 0;
  std::thread::id id;
  const coracle::executor* place = nullptr;
};
thread_facts now;

int failures = 0;
void expect(bool right, const char* shape, const char* what) {
  if (right) return;
  ++failures;
  std::printf("FAILED: %s: %s is another thread's\n", shape, what);
}

/// Suspends; another thread goes on.
struct move_on {
  move_on() noexcept {}
  bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<> suspended) const noexcept { waiting = suspended; }
  void await_resume() const noexcept {}
  inline static std::coroutine_handle<> waiting;
};

// Macros, so that every read stands in the coroutine's own body.
#define EXPECT_OWN_THREAD(shape)                                                          \
  expect(own_number == now.number, shape, "a thread_local");                              \
  expect(std::this_thread::get_id() == now.id, shape, "this_thread::get_id()");           \
  expect(errno == now.number, shape, "errno");                                            \
  expect(coracle::current_executor() == now.place, shape, "coracle::current_executor()"); \
  expect(coracle::detail::this_thread().current == now.place, shape, "coracle's state of the thread")

detached straight() {
  EXPECT_OWN_THREAD("straight");
  co_await move_on{};
  EXPECT_OWN_THREAD("straight");
  co_await move_on{};
  EXPECT_OWN_THREAD("straight");
}
detached loop() {
  for (int i = 0; i != 5; ++i) {
    EXPECT_OWN_THREAD("loop");
    co_await move_on{};
    EXPECT_OWN_THREAD("loop");
  }
}
detached addresses() {
  std::set<const void*> numbers, errnos, states;
  int seen = 0;
  for (; seen != 4; ++seen) {
    numbers.insert(&own_number);
    errnos.insert(&errno);
    states.insert(&coracle::detail::this_thread());
    co_await move_on{};
  }
  // All threads are alive at the same time, so that no address is used twice.
  expect(numbers.size() == 4, "addresses", "the address of a thread_local");
  expect(errnos.size() == 4, "addresses", "the address of errno");
  expect(states.size() == 4, "addresses", "the address of coracle's state of the thread");
}
detached kept_across_try() {
  try {
    int& number = own_number;
    expect(number == now.number, "try", "a thread_local");
    co_await move_on{};
    EXPECT_OWN_THREAD("try");
    if (own_number == now.number) throw own_number;
  } catch (int thrown) {
    expect(thrown == now.number, "try", "a thread_local that was thrown");
    EXPECT_OWN_THREAD("catch");
  }
}
coracle::task<int> child() {
  EXPECT_OWN_THREAD("child");
  co_await move_on{};
  EXPECT_OWN_THREAD("child");
  co_return own_number;
}
detached through_a_child() {
  for (int i = 0; i != 3; ++i) {
    EXPECT_OWN_THREAD("parent");
    const int number = co_await child();
    expect(number == now.number, "parent", "the child's thread_local");
    EXPECT_OWN_THREAD("parent");
  }
}
detached branch(bool move) {
  EXPECT_OWN_THREAD("branch");
  if (move) co_await move_on{};
  EXPECT_OWN_THREAD("branch");
  if (!move) co_await move_on{};
  EXPECT_OWN_THREAD("branch");
}

/// Runs `start`, and each following part of the coroutine on a thread of its own inside the one before it, so
/// that all these threads live at the same time. Returns how often it moved.
int run_on(int number, void (*start)()) {
  int moved = 0;
  std::thread([&] {
    nowhere place;
    const coracle::detail::executor_scope here{&place};
    own_number = errno = number;
    now = {number, std::this_thread::get_id(), &place};
    if (number == 1) {
      start();
    } else {
      coracle::resume(std::exchange(move_on::waiting, nullptr));
    }
    if (move_on::waiting) moved = 1 + run_on(number + 1, start);
  }).join();
  return moved;
}
}  // namespace

int main() {
  constexpr struct {
    const char* name;
    void (*start)();
    int moves;
  } shapes[] = {
      {"straight", [] { straight(); }, 2},
      {"loop", [] { loop(); }, 5},
      {"addresses", [] { addresses(); }, 4},
      {"try", [] { kept_across_try(); }, 1},
      {"through a child", [] { through_a_child(); }, 3},
      {"branch taken", [] { branch(true); }, 1},
      {"branch not taken", [] { branch(false); }, 1},
  };
  int moves = 0;
  for (const auto& each : shapes) {
    const int moved = run_on(1, each.start);
    if (moved != each.moves) {
      ++failures;
      std::printf("FAILED: %s: moved %d times, not %d\n", each.name, moved, each.moves);
    }
    moves += moved;
  }
  std::printf("%zu shapes, %d moves to another thread, %d failures\n", std::size(shapes), moves, failures);
  return failures == 0 ? 0 : 1;
}
