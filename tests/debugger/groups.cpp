// tests/debugger/groups.cpp -- hangs in children that are in a vector, or inside as_outcome(), for gdb.
// SPDX-License-Identifier: MIT
#include <sys/prctl.h>

#include <coracle/coracle.hpp>
#include <cstdio>
#include <vector>

namespace {
using namespace coracle;

task<> wait_for(async_manual_reset_event& event) { co_await event; }
task<> visit_all() {
  async_manual_reset_event opened;
  const std::vector<int> rooms{1, 2, 3};
  const auto visit = [&](int) { return wait_for(opened); };
  co_await for_each_concurrent(rooms, 2, visit);
}
task<> race_all() {
  async_manual_reset_event started;
  std::vector<task<>> all;
  for (int i = 0; i != 2; ++i) all.push_back(wait_for(started));
  co_await when_any(std::move(all));
}
task<> look() {
  async_manual_reset_event seen;
  co_await as_outcome(seen);
}
task<> tell_that_it_hangs() {
  for (int turn = 0; turn != 10; ++turn) co_await this_task::yield();
  std::puts("hangs");
  std::fflush(stdout);
}
task<> run_all() { co_await when_all(visit_all(), race_all(), look(), tell_that_it_hangs()); }
}  // namespace

int main() {
  prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);  // any debugger of this user may attach
  static_thread_pool pool(1);
  sync_wait(schedule_on(run_all(), pool));
}
