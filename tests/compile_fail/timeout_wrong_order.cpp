// expect: the work comes before the time: timeout(work(), 100ms)
// tests/compile_fail/timeout_wrong_order.cpp -- the time where the work belongs, as in other languages.
// SPDX-License-Identifier: MIT
#include <coracle/core/task.hpp>
#include <coracle/time/timeout.hpp>

coracle::task<> work() { co_return; }

coracle::task<> wrong() {
#ifndef CORACLE_COMPILE_FAIL_CONTROL
  co_await coracle::timeout(std::chrono::seconds(1), work());
#endif
  co_return;
}
