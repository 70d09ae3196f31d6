// expect: sync_wait needs an awaitable
// tests/compile_fail/sync_wait_int.cpp -- a number cannot be waited for.
// SPDX-License-Identifier: MIT
#include <coracle/core/sync_wait.hpp>

int main() {
#ifndef CORACLE_COMPILE_FAIL_CONTROL
  coracle::sync_wait(42);
#endif
}
