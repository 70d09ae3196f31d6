// expect: a oneshot carries an object: send a pointer instead of a reference
// tests/compile_fail/oneshot_of_reference.cpp -- a reference to send.
// SPDX-License-Identifier: MIT
#include <coracle/channels/oneshot.hpp>

void wrong() {
  auto right = coracle::oneshot<int*>();
#ifndef CORACLE_COMPILE_FAIL_CONTROL
  auto ends = coracle::oneshot<int&>();
#endif
}
