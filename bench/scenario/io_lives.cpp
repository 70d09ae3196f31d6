// bench/scenario/io_lives.cpp -- constructs event loops, runs one coroutine on each, and destroys them.
// SPDX-License-Identifier: MIT
#include "io_lives.hpp"

#include <coracle/core/task.hpp>
#include <coracle/io/io_service.hpp>

#include "scenario.hpp"

namespace {
using namespace coracle_bench;

coracle::task<> hop(coracle::io_service& io) { co_await io.schedule(); }
void make_run_destroy_io_service(scenario& run) {
  int ended = 0;
  run.measure([&] {
    for (; ended != lives; ++ended) {
      coracle::io_service io;
      io.run(hop(io));
    }
  });
  run.expect(ended == lives, "each has lived");
}

CORACLE_SCENARIO(make_run_destroy_io_service);
}  // namespace
