// tests/debugger/timed.cpp -- waits that end in time, and those of others that then do, for gdb.
// SPDX-License-Identifier: MIT
#include <sys/prctl.h>

#include <coracle/coracle.hpp>
#include <cstdio>
#include <functional>
#include <thread>

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
task<> nap() { co_await sleep_for(hours(24)); }
task<> hang_until_stopped() {
  async_manual_reset_event own;
  co_await own;
}
task<> stop_after_nap() { co_await when_any(nap(), hang_until_stopped()); }
/// Only what waits in time has the address of each event.
task<> wait_for_both() {
  async_manual_reset_event first, second;
  co_await when_all(wait_for(first), set_after_first(first), wait_for(second), set_after_timeout(second),
                    stop_after_nap());
}
task<> tell_that_it_hangs() {
  for (int turn = 0; turn != 10; ++turn) co_await this_task::yield();
  std::puts("hangs");
  std::fflush(stdout);
}
/// The thread awaits no coroutine, and then wakes one.
void set_after_sleep(static_thread_pool& pool) {
  async_manual_reset_event event;
  async_scope waiting;
  waiting.spawn(schedule_on(wait_for(event), pool));
  sync_wait(sleep_for(hours(24)));
  event.set();
  sync_wait(waiting.join());
}
}  // namespace

int main() {
  prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);  // any debugger of this user may attach
  static_thread_pool pool(1);
  const std::jthread other(set_after_sleep, std::ref(pool));
  sync_wait(schedule_on(when_all(wait_for_both(), tell_that_it_hangs()), pool));
}
