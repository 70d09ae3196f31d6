// expect: io_service::run takes one awaitable: io.run(coracle::when_all(serve(io), watch(io)))
// tests/compile_fail/io_run_two.cpp -- two tasks to run.
// SPDX-License-Identifier: MIT
#include <coracle/core/task.hpp>
#include <coracle/io/io_service.hpp>

coracle::task<> work() { co_return; }

void wrong(coracle::io_service& io) {
  io.run(work());
#ifndef CORACLE_COMPILE_FAIL_CONTROL
  io.run(work(), work());
#endif
}
