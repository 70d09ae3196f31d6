// expect: io_service::run takes the work that it runs to its end: io.run(serve(io))
// tests/compile_fail/io_run_nothing.cpp -- run() as Asio has it.
// SPDX-License-Identifier: MIT
#include <coracle/io/io_service.hpp>

void wrong(coracle::io_service& io) {
#ifndef CORACLE_COMPILE_FAIL_CONTROL
  io.run();
#else
  io.process_events();
#endif
}
