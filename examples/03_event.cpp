// examples/03_event.cpp -- coroutines that wait for an event.
// SPDX-License-Identifier: MIT
#include <coracle/coracle.hpp>
#include <cstdio>

coracle::task<> runner(coracle::async_manual_reset_event& start, int number) {
  std::printf("runner %d is ready\n", number);
  co_await start;
  std::printf("runner %d runs\n", number);
}

coracle::task<> starter(coracle::async_manual_reset_event& start) {
  std::puts("bang");
  start.set();
  std::puts("all have started");
  co_return;
}

int main() {
  coracle::async_manual_reset_event start;
  coracle::sync_wait(coracle::when_all(runner(start, 1), runner(start, 2), starter(start)));
}

// Output:
//   runner 1 is ready
//   runner 2 is ready
//   bang
//   runner 1 runs
//   runner 2 runs
//   all have started
