// bench/scenario/shutdown.cpp -- stops and joins ten thousand sessions that ping now and then.
// SPDX-License-Identifier: MIT
#include "shutdown.hpp"

#include <coracle/coracle.hpp>
#include <coracle/io.hpp>

#include "scenario.hpp"

namespace {
using coracle::task;
using namespace coracle_bench;
using clock = std::chrono::steady_clock;

/// Counts itself when it is destroyed.
task<> session(long& said_goodbye) {
  const auto say_goodbye = coracle::on_scope_exit([&said_goodbye]() noexcept { ++said_goodbye; });
  for (;;) co_await coracle::sleep_for(between_pings);
}
task<> serve(scenario& run, long& said_goodbye) {
  for (int i = 0; i != shutdowns; ++i) {
    coracle::async_scope sessions;
    for (long s = 0; s != run.times(open_sessions); ++s) sessions.spawn(session(said_goodbye));
    co_await coracle::sleep_for(uptime);
    const auto asked = clock::now();
    sessions.request_stop(coracle::stop_reason::shutting_down);
    try {
      co_await sessions.join();
    } catch (const coracle::operation_cancelled&) {
    }
    run.waited(clock::now() - asked);
  }
}
void shutdown_under_load(scenario& run) {
  coracle::io_service io;
  long said_goodbye = 0;
  run.measure([&] { io.run(serve(run, said_goodbye)); });
  run.expect(said_goodbye == shutdowns * run.times(open_sessions), "each session ends in good order");
}

CORACLE_GROWING_SCENARIO(shutdown_under_load);
}  // namespace
