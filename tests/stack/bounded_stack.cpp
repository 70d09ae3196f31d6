// tests/stack/bounded_stack.cpp -- chains of a million steps on a thread with a small stack.
// SPDX-License-Identifier: MIT
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <coracle/compose/async_scope.hpp>
#include <coracle/compose/when_all.hpp>
#include <coracle/core/sync_wait.hpp>
#include <coracle/core/task.hpp>
#include <coracle/exec/run_loop.hpp>
#include <coracle/generators/generator.hpp>
#include <coracle/sync/async_auto_reset_event.hpp>
#include <coracle/sync/async_manual_reset_event.hpp>
#include <coracle/sync/async_mutex.hpp>
#include <cstdint>
#include <cstdio>
#include <vector>

#include "../support/detached.hpp"
#include "../support/run_on_stack.hpp"
#include "../support/test_coroutine.hpp"

// -DSTACK_SCALE=10 divides the counts, for slow builds.
#ifndef STACK_SCALE
#define STACK_SCALE 1
#endif

namespace {
using coracle::task;
using coracle_test::detached;
using coracle_test::test_coroutine;

constexpr int million = 1'000'000 / STACK_SCALE;
// Up to 64 wake-ups run inside one another: at about 100 bytes each in an optimised build, 2 KiB in the
// slowest.
constexpr std::size_t stack_bytes = 256 * 1024, allowed_growth = 160 * 1024;

// ---- measuring -----------------------------------------------------------------------------------------

std::uintptr_t highest = 0, lowest = 0;

/// Notes how deep the stack is. Where address sanitizer keeps locals elsewhere, frames are still on it.
[[gnu::noinline]] void mark() noexcept {
  const auto here = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
  highest = std::max(highest, here);
  lowest = std::min(lowest, here);
}

/// The size of the calling thread's stack, as the system says.
std::size_t own_stack_size() {
  pthread_attr_t attributes;
  void* bottom = nullptr;
  std::size_t size = 0;
  if (::pthread_getattr_np(::pthread_self(), &attributes) != 0) return 0;
  ::pthread_attr_getstack(&attributes, &bottom, &size);
  ::pthread_attr_destroy(&attributes);
  return size;
}

// ---- transfers -----------------------------------------------------------------------------------------

[[gnu::noinline]] task<int> one() {
  mark();
  co_return 1;
}
task<int> await_often(int times) {
  int sum = 0;
  for (int i = 0; i != times; ++i) sum += co_await one();
  co_return sum;
}
bool synchronous_awaits() { return coracle::sync_wait(await_often(10 * million)) == 10 * million; }

/// Suspends the caller and continues its partner.
class pass_to {
 public:
  explicit pass_to(const test_coroutine& partner) noexcept : partner_(partner) {}
  bool await_ready() const noexcept { return false; }
  CORACLE_TRANSFER_ABI()
  std::coroutine_handle<> await_suspend(std::coroutine_handle<>) const noexcept {
    return coracle::transfer_to(partner_.handle());
  }
  void await_resume() const noexcept {}

 private:
  const test_coroutine& partner_;
};
test_coroutine play(const test_coroutine* const& partner, int& turns) {
  while (turns != 10 * million) {
    mark();
    ++turns;
    co_await pass_to(*partner);
  }
}
bool ping_pong() {
  int turns = 0;
  const test_coroutine *first = nullptr, *second = nullptr;
  test_coroutine ping = play(second, turns), pong = play(first, turns);
  first = &ping;
  second = &pong;
  ping.resume();
  return turns == 10 * million;
}

task<int> descend(int depth) {
  mark();
  if (depth == 0) co_return 0;
  const int below = co_await descend(depth - 1);
  mark();
  co_return below + 1;
}
bool deep_recursion() { return coracle::sync_wait(descend(million)) == million; }

// ---- wake-ups ------------------------------------------------------------------------------------------

detached await_event(coracle::run_loop* loop, coracle::async_manual_reset_event& event, int& woken) {
  if (loop) co_await loop->schedule();
  co_await event;
  mark();
  ++woken;
}
bool release_waiters(coracle::run_loop* loop) {
  coracle::async_manual_reset_event event;
  int woken = 0;
  for (int i = 0; i != million; ++i) await_event(loop, event, woken);
  if (loop) loop->run_pending();
  event.set();
  if (loop) loop->run_pending();
  return woken == million;
}
bool event_without_executor() { return release_waiters(nullptr); }
bool event_on_run_loop() {
  coracle::run_loop loop;
  return release_waiters(&loop);
}

detached lock_once(coracle::run_loop* loop, coracle::async_mutex& mutex, int& held) {
  if (loop) co_await loop->schedule();
  const auto lock = co_await mutex.scoped_lock_async();
  mark();
  ++held;
}
bool pass_lock_on(coracle::run_loop* loop) {
  coracle::async_mutex mutex;
  int held = 0;
  if (!mutex.try_lock()) return false;
  for (int i = 0; i != million; ++i) lock_once(loop, mutex, held);
  if (loop) loop->run_pending();
  mutex.unlock();
  while (loop && loop->run_pending() != 0) {
  }
  return held == million;
}
bool mutex_without_executor() { return pass_lock_on(nullptr); }
bool mutex_on_run_loop() {
  coracle::run_loop loop;
  return pass_lock_on(&loop);
}

detached pass_set_on(coracle::async_auto_reset_event& event, int& woken) {
  co_await event;
  mark();
  ++woken;
  event.set();
}
bool auto_reset_event_without_executor() {
  coracle::async_auto_reset_event event;
  int woken = 0;
  for (int i = 0; i != million; ++i) pass_set_on(event, woken);
  event.set();
  return woken == million;
}

// ---- children ------------------------------------------------------------------------------------------

bool many_children() {
  std::vector<task<int>> children;
  children.reserve(static_cast<std::size_t>(million));
  for (int i = 0; i != million; ++i) children.push_back(one());
  const std::vector<int> ones = coracle::sync_wait(coracle::when_all(std::move(children)));
  return std::count(ones.begin(), ones.end(), 1) == million;
}

// A child is started inside a call of its parent: only so many of those are nested. One level takes a
// kilobyte of memory, and without the limit a hundred bytes of stack at least.
#ifdef STACK_LEVELS
constexpr int levels = STACK_LEVELS;
#else
constexpr int levels = million / 10;
#endif
task<int> descend_by_when_all(int depth) {
  mark();
  if (depth == 0) co_return 0;
  const auto [below, more] = co_await coracle::when_all(descend_by_when_all(depth - 1), one());
  mark();
  co_return below + more;
}
bool nested_when_all() { return coracle::sync_wait(descend_by_when_all(levels)) == levels; }

task<> spawn_next(coracle::async_scope& scope, int depth, int& started) {
  mark();
  ++started;
  if (depth != 0) scope.spawn(spawn_next(scope, depth - 1, started));
  co_return;
}
bool nested_spawns() {
  int started = 0;
  const auto spawn_and_join = [&]() -> task<> {
    coracle::async_scope scope;
    scope.spawn(spawn_next(scope, levels, started));
    co_await scope.join();
  };
  coracle::sync_wait(spawn_and_join());
  return started == levels + 1;
}

// ---- generators ----------------------------------------------------------------------------------------

coracle::generator<int> count_down(int n) {
  mark();
  co_yield n;
  if (n > 1) co_yield coracle::elements_of(count_down(n - 1));
}
bool deep_elements_of() {
  long long sum = 0;
  for (const int each : count_down(million)) sum += each;
  return sum == static_cast<long long>(million) * (million + 1) / 2;
}
bool deep_elements_of_left_early() {
  int seen = 0;
  for (const int each : count_down(million)) {
    seen += each != 0;
    if (seen == million - 1) break;
  }
  return seen == million - 1;
}

// ---- running -------------------------------------------------------------------------------------------

/// Null, or what was wrong.
const char* complaint(bool (*steps)()) {
  bool right = false;
  std::size_t stack = 0;
  const bool ran = coracle_test::run_on_stack(stack_bytes, [&right, &stack, steps] {
    stack = own_stack_size();
    highest = lowest = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
    right = steps();
  });
  if (!ran) return "the thread did not start";
  // Thread sanitizer adds its own thread-local data to the stack.
  if (stack < stack_bytes || stack > stack_bytes + 1024 * 1024)
    return "the thread has another stack than asked for";
  if (!right) return "a wrong count";
  if (highest == lowest) return "nothing was measured";
  return highest - lowest > allowed_growth ? "too much stack" : nullptr;
}

/// Runs the steps in a child process, which an overflowing stack may end; its memory is given back, too.
bool run(const char* name, bool (*steps)()) {
  std::printf("%-36s ", name);
  std::fflush(stdout);
  const pid_t child = ::fork();
  if (child == 0) {
    const char* const wrong = complaint(steps);
    std::printf("%7zu bytes of stack%s%s\n", highest - lowest, wrong ? "  FAILED: " : "", wrong ? wrong : "");
    std::fflush(stdout);
    ::_exit(wrong ? 1 : 0);
  }
  int status = 0;
  if (child < 0 || ::waitpid(child, &status, 0) != child) {
    std::puts("FAILED: no child process");
    return false;
  }
  if (WIFSIGNALED(status)) std::printf("FAILED: ended by signal %d\n", WTERMSIG(status));
  return status == 0;
}
}  // namespace

int main() {
  constexpr struct {
    const char* name;
    bool (*steps)();
  } all[] = {
      {"synchronous awaits", &synchronous_awaits},
      {"ping-pong", &ping_pong},
      {"recursion", &deep_recursion},
      {"event, no executor", &event_without_executor},
      {"event, run_loop", &event_on_run_loop},
      {"mutex, no executor", &mutex_without_executor},
      {"mutex, run_loop", &mutex_on_run_loop},
      {"auto-reset event, no executor", &auto_reset_event_without_executor},
      {"when_all of many", &many_children},
      {"when_all below when_all", &nested_when_all},
      {"spawn() below spawn()", &nested_spawns},
      {"elements_of", &deep_elements_of},
      {"elements_of, left early", &deep_elements_of_left_early},
  };
  bool right = true;
  for (const auto& each : all) right = run(each.name, each.steps) && right;
  return right ? 0 : 1;
}
