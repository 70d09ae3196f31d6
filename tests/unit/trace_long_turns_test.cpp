// tests/unit/trace_long_turns_test.cpp -- turns that last long are reported while they do.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <coracle/core/task.hpp>
#include <coracle/exec/run_loop.hpp>
#include <coracle/inspect/long_turns.hpp>
#include <coracle/inspect/trace.hpp>
#include <coracle/testing/allocations.hpp>
#include <new>
#include <string>
#include <thread>

#include "../../src/inspect/turn_recorder.hpp"
#include "traced_tasks.hpp"

using namespace coracle;
using coracle_test::run_all;
using coracle_test::start_on;
using coracle_test::traced_parent;
using coracle_test::without_unit;

namespace {
struct seen_turns {
  std::atomic<int> reports{0};
  long_turn first;
} seen_long;
/// Keeps its thread until it is reported, and then a little longer.
task<> compute_for_long() {
  while (seen_long.reports == 0) std::this_thread::yield();
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(2);
  while (std::chrono::steady_clock::now() < end) {
  }
  co_return;
}
task<> await_computation() { co_await compute_for_long(); }
}  // namespace

TEST_CASE("long_turn_watch: a turn that does not end is reported once, with the awaits of its begin") {
  seen_long.reports = 0;
  run_loop loop;
  {
    const long_turn_watch watch(std::chrono::microseconds(200), [](const long_turn& seen) {
      // The first turn, which looks symbols up, may take long, too.
      if (seen.awaits.find("start_on") == std::string::npos) return;
      if (seen_long.reports == 0) seen_long.first = seen;
      ++seen_long.reports;
    });
    run_all(loop, await_computation());
  }
  CHECK(seen_long.reports == 1);
  CHECK(seen_long.first.lasted >= std::chrono::microseconds(200));
  CHECK(seen_long.first.thread == ::gettid());
  CHECK(without_unit(seen_long.first.awaits).find("start_on  (") == 0);
  static_cast<void>(start_trace());
  run_all(loop, traced_parent());
  CHECK(stop_trace().turns() == 6);  // the watch has left nothing behind
}

namespace {
task<> ask_for_long_turns(int& failed) {
  failed = testing::fail_each_allocation([] {
    try {
      static_cast<void>(detail::turn_recorder::long_turns());
    } catch (const std::bad_alloc&) {
    }
  });
  co_return;
}
}  // namespace

TEST_CASE("long turns: without memory to list those under way, the list throws std::bad_alloc" *
          doctest::skip(!testing::allocations_are_counted)) {
  using detail::turn_recorder;
  int failed = 0;
  run_loop loop;
  turn_recorder::keep_long_turns(turn_recorder::watcher::program, 1);
  run_all(loop, ask_for_long_turns(failed));
  turn_recorder::keep_long_turns(turn_recorder::watcher::program, 0);
  CHECK(failed >= 1);
}
