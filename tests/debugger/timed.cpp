// tests/debugger/timed.cpp -- waits that end in time, and those of others that then do, for gdb.
// SPDX-License-Identifier: MIT
#include <sys/prctl.h>

#include <coracle/coracle.hpp>
#include <cstdio>

namespace {
using namespace coracle;
using std::chrono::hours;

async_manual_reset_event never;

task<> wait_for(async_manual_reset_event& event) { co_await event; }
task<> set_after_first(async_manual_reset_event& event) {
  co_await when_any(sleep_for(hours(24)), wait_for(never));
  event.set();
}
task<> set_after_timeout(async_manual_reset_event& event) {
  co_await as_outcome(timeout(wait_for(never), hours(24)));
  event.set();
}
/// Only what waits in time has the address of each event.
task<> wait_for_both() {
  async_manual_reset_event first, second;
  co_await when_all(wait_for(first), set_after_first(first), wait_for(second), set_after_timeout(second));
}
task<> tell_that_it_hangs() {
  for (int turn = 0; turn != 10; ++turn) co_await this_task::yield();
  std::puts("hangs");
  std::fflush(stdout);
}
}  // namespace

int main() {
  prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);  // any debugger of this user may attach
  static_thread_pool pool(1);
  sync_wait(schedule_on(when_all(wait_for_both(), tell_that_it_hangs()), pool));
}
