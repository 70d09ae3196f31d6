// tests/debugger/branches.cpp -- hangs in combinators of what is no coroutine, for gdb.
// SPDX-License-Identifier: MIT
#include <sys/prctl.h>

#include <chrono>
#include <coracle/coracle.hpp>
#include <cstdio>
#include <vector>

namespace {
using namespace coracle;
using event = async_manual_reset_event;

task<> race(event& first, event& second) { co_await when_any(first, second); }
task<> choose(channel<int>& first, channel<int>& second) { co_await select(first.recv(), second.recv()); }
task<> await_both(event& first, event& second) { co_await when_all(first, second); }
task<> end_at_once() { co_return; }
task<> await_rest(event& rest) { co_await when_all(end_at_once(), rest); }
task<> nest(event& first, event& second, event& third) {
  co_await when_all(when_any(first, second), when_any(third, second));
}
task<> wait_for(event& one) { co_await one; }
task<> race_child(event& first, event& second) { co_await when_any(first, wait_for(second)); }
task<> look(event& first, event& second) { co_await as_outcome(when_any(first, second)); }

// These may go on.

task<> race_clock(event& first) { co_await when_any(first, sleep_for(std::chrono::hours(24))); }
task<> race_wrapped(event& first) { co_await when_any(as_outcome(first), sleep_for(std::chrono::hours(24))); }
task<> set_tomorrow(event& first) {
  co_await sleep_for(std::chrono::hours(24));
  first.set();
}
task<> race_other(event& first, event& second) { co_await when_any(first, second); }
std::vector<completion<void>> calls;
auto called() {
  return from_callback([](completion<void> done) { calls.push_back(std::move(done)); });
}
task<> race_call(event& first) {
  auto operation = called();
  co_await when_any(first, std::move(operation));
}
task<> race_call_with_child(event& first) {
  auto operation = called();
  co_await when_any(wait_for(first), std::move(operation));
}

task<> tell_that_it_hangs() {
  for (int turn = 0; turn != 10; ++turn) co_await this_task::yield();
  std::puts("hangs");
  std::fflush(stdout);
}
task<> run_all() {
  event a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r;
  channel<int> numbers(1), others(2);
  co_await when_all(race(a, b), choose(numbers, others), await_both(c, d), await_rest(e), nest(f, g, h),
                    race_child(i, j), look(k, l), race_clock(m), set_tomorrow(n), race_other(n, o),
                    race_call(p), race_call_with_child(q), race_wrapped(r), tell_that_it_hangs());
}
}  // namespace

int main() {
  prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);  // any debugger of this user may attach
  static_thread_pool pool(1);
  sync_wait(schedule_on(run_all(), pool));
}
