// expect: schedule_at() needs a time_point of std::chrono::steady_clock
// tests/compile_fail/schedule_at_system_clock.cpp -- a time of the calendar.
// SPDX-License-Identifier: MIT
#include <chrono>
#include <coracle/core/task.hpp>
#include <coracle/io/io_service.hpp>

coracle::task<> wrong(coracle::io_service& io, std::chrono::system_clock::time_point alarm) {
  co_await io.schedule_at(std::chrono::floor<std::chrono::hours>(std::chrono::steady_clock::now()));
#ifndef CORACLE_COMPILE_FAIL_CONTROL
  co_await io.schedule_at(alarm);
#else
  co_await io.schedule_after(alarm - std::chrono::system_clock::now());
#endif
}
