// examples/15_timers.cpp -- an event loop, timers on it, and a stop request that ends one.
// SPDX-License-Identifier: MIT
#include <chrono>
#include <coracle/compose/when_all.hpp>
#include <coracle/core/operation_cancelled.hpp>
#include <coracle/core/sync_wait.hpp>
#include <coracle/core/task.hpp>
#include <coracle/io/io_service.hpp>
#include <cstdio>

using namespace std::chrono_literals;

coracle::task<> say(coracle::io_service& io, const char* what, std::chrono::milliseconds after) {
  co_await io.schedule_after(after);
  std::puts(what);
}

coracle::task<> wait_for_ever(coracle::io_service& io, coracle::stop_token token) {
  try {
    co_await io.schedule_after(std::chrono::hours::max(), token);
  } catch (const coracle::operation_cancelled&) {
    std::puts("stopped waiting");
  }
}

coracle::task<> stop(coracle::io_service& io, coracle::stop_source source, std::chrono::milliseconds after) {
  co_await io.schedule_after(after);
  source.request_stop();
}

coracle::task<> everything(coracle::io_service& io) {
  const coracle::io_work_scope until_the_end{io};
  coracle::stop_source source;
  co_await coracle::when_all(say(io, "last", 60ms), say(io, "first", 1ms), say(io, "second", 20ms),
                             wait_for_ever(io, source.get_token()), stop(io, source, 40ms));
}

coracle::task<> run(coracle::io_service& io) {
  io.process_events();  // on this thread, until the last io_work_scope has ended
  co_return;
}

int main() {
  coracle::io_service io;
  coracle::sync_wait(coracle::when_all(everything(io), run(io)));
}

// Output:
//   first
//   second
//   stopped waiting
//   last
