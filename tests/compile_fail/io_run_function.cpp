// expect: io_service::run needs an awaitable
// tests/compile_fail/io_run_function.cpp -- a coroutine that is named where it should be called.
// SPDX-License-Identifier: MIT
#include <coracle/core/task.hpp>
#include <coracle/io/io_service.hpp>

coracle::task<> work();
void wrong(coracle::io_service& io) {
#ifndef CORACLE_COMPILE_FAIL_CONTROL
  io.run(work);
#else
  io.run(work());
#endif
}
