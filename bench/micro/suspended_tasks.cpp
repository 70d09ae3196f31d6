// bench/micro/suspended_tasks.cpp -- the memory of a million suspended tasks.
// SPDX-License-Identifier: MIT
#include <coracle/compose/when_all.hpp>
#include <coracle/core/sync_wait.hpp>
#include <coracle/core/task.hpp>
#include <coracle/sync/async_manual_reset_event.hpp>
#include <vector>

#include "resident_bytes.hpp"

namespace {
using coracle_bench::resident_bytes;

constexpr int tasks = 1'000'000;

long started = 0;
[[gnu::noinline]] coracle::task<> suspended(coracle::async_manual_reset_event& event) {
  ++started;
  co_await event;
}
/// Runs after all others have suspended.
coracle::task<> weigh(coracle::async_manual_reset_event& event, long before, double& bytes) {
  bytes = started == tasks ? static_cast<double>(resident_bytes() - before) / tasks : 0;
  event.set();
  co_return;
}
double bytes_of_a_task() {
  double bytes = 0;
  coracle::async_manual_reset_event event;
  const long before = resident_bytes();
  std::vector<coracle::task<>> children;
  children.reserve(tasks + 1);
  for (int i = 0; i < tasks; ++i) children.push_back(suspended(event));
  children.push_back(weigh(event, before, bytes));
  coracle::sync_wait(coracle::when_all(std::move(children)));
  return bytes;
}
void bytes_per_suspended_task(benchmark::State& state) { coracle_bench::show_bytes(state, bytes_of_a_task); }

CORACLE_BENCH_BYTES(bytes_per_suspended_task);
}  // namespace
