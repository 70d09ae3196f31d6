// expect: schedule_operation needs an executor: derive this class from coracle::executor
// tests/compile_fail/schedule_without_executor.cpp -- a scheduler of the program's own.
// SPDX-License-Identifier: MIT
#include <coracle/core/schedule.hpp>

#ifdef CORACLE_COMPILE_FAIL_CONTROL
struct loop : coracle::executor {
#else
struct loop {
  void post_scheduled(coracle::resumption&) noexcept {}
#endif
  auto schedule() noexcept { return coracle::schedule_operation{*this}; }
};
