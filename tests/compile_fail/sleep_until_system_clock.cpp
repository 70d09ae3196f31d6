// expect: sleep_until needs a time_point of std::chrono::steady_clock
// tests/compile_fail/sleep_until_system_clock.cpp -- a time of the calendar.
// SPDX-License-Identifier: MIT
#include <chrono>
#include <coracle/core/task.hpp>
#include <coracle/time/sleep.hpp>

coracle::task<> wrong(std::chrono::system_clock::time_point alarm) {
  co_await coracle::sleep_for(alarm - std::chrono::system_clock::now());
  co_await coracle::sleep_until(std::chrono::floor<std::chrono::hours>(std::chrono::steady_clock::now()));
#ifndef CORACLE_COMPILE_FAIL_CONTROL
  co_await coracle::sleep_until(alarm);
#endif
}
