// examples/01_task.cpp -- a coroutine that awaits another, started from main().
// SPDX-License-Identifier: MIT
#include <coracle/coracle.hpp>
#include <cstdio>
#include <stdexcept>

coracle::task<int> half_of(int number) {
  if (number % 2 != 0) throw std::invalid_argument("an odd number has no half");
  co_return number / 2;
}

coracle::task<> print_halves() {
  std::printf("half of 8 is %d\n", co_await half_of(8));
  try {
    co_await half_of(7);
  } catch (const std::invalid_argument& error) {
    std::printf("half of 7: %s\n", error.what());
  }
}

int main() { coracle::sync_wait(print_halves()); }

// Output:
//   half of 8 is 4
//   half of 7: an odd number has no half
