// expect: deleted
// tests/compile_fail/copied_mutex.cpp -- a copy of a mutex.
// SPDX-License-Identifier: MIT
#include <coracle/sync/async_mutex.hpp>

coracle::async_mutex mutex;
#ifndef CORACLE_COMPILE_FAIL_CONTROL
coracle::async_mutex wrong = mutex;
#endif
