// examples/15_timers.cpp -- an event loop, timers on it, and a stop request that ends one.
// SPDX-License-Identifier: MIT
#include <chrono>
#include <coracle/compose/when_all.hpp>
#include <coracle/core/operation_cancelled.hpp>
#include <coracle/core/task.hpp>
#include <coracle/core/with_environment.hpp>
#include <coracle/io/io_service.hpp>
#include <coracle/time/sleep.hpp>
#include <cstdio>

using namespace std::chrono_literals;

coracle::task<> say(const char* what, std::chrono::milliseconds after) {
  co_await coracle::sleep_for(after);
  std::puts(what);
}

coracle::task<> wait_for_ever() {
  try {
    co_await coracle::sleep_for(std::chrono::hours::max());
  } catch (const coracle::operation_cancelled&) {
    std::puts("stopped waiting");
  }
}

coracle::task<> stop(coracle::stop_source source, std::chrono::milliseconds after) {
  co_await coracle::sleep_for(after);
  source.request_stop();
}

coracle::task<> everything() {
  coracle::stop_source source;
  co_await coracle::when_all(say("first", 1ms), say("second", 20ms),
                             coracle::stop_when(wait_for_ever(), source.get_token()), stop(source, 40ms));
  co_await say("last", 20ms);
}

int main() {
  coracle::io_service io;
  io.run(everything());  // processes events on this thread until it has ended
}

// Output:
//   first
//   second
//   stopped waiting
//   last
