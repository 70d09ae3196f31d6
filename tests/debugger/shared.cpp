// tests/debugger/shared.cpp -- hangs in shared_tasks, which others await in every way, for gdb.
// SPDX-License-Identifier: MIT
#include <sys/prctl.h>

#include <coracle/coracle.hpp>
#include <cstdio>
#include <thread>
#include <utility>

namespace {
using namespace coracle;

shared_task<int> load(int value) {
  async_manual_reset_event never;
  co_await never;
  co_return value;
}
task<> load_both(shared_task<int> first) { co_await when_all(first, load(2)); }
task<int> load_again(shared_task<int> first) { co_return co_await first; }
task<> load_once_more(shared_task<int> first) { co_await when_all(first); }
task<> tell_that_it_hangs() {
  for (int turn = 0; turn != 10; ++turn) co_await this_task::yield();
  std::puts("hangs");
  std::fflush(stdout);
}
}  // namespace

int main() {
  prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);  // any debugger of this user may attach
  static_thread_pool pool(1);
  const shared_task<int> first = load(1);
  const std::jthread other([] { sync_wait(load(3)); });
  auto both = load_both(first);  // g++ evaluates arguments from the last to the first
  auto again = load_again(first);
  auto once_more = load_once_more(first);
  auto other_load = load_again(load(4));
  sync_wait(schedule_on(when_all(std::move(both), std::move(again), std::move(once_more),
                                 std::move(other_load), tell_that_it_hangs()),
                        pool));
}
