// bench/scenario/timeouts.cpp -- ten thousand connections on one event loop, each waiting for a message.
// SPDX-License-Identifier: MIT
#include "timeouts.hpp"

#include <coracle/coracle.hpp>
#include <coracle/io.hpp>
#include <deque>

#include "scenario.hpp"

namespace {
using coracle::task;
using namespace coracle_bench;

using inbox = coracle::channel<int>;

task<> serve(inbox& messages, long& received) {
  try {
    for (;;) {
      if (!co_await coracle::timeout(messages.recv(), patience)) co_return;
      ++received;
    }
  } catch (const coracle::timed_out&) {
  }
}
task<> deliver(coracle::io_service& io, std::deque<inbox>& inboxes) {
  for (int i = 0; i != messages_each; ++i) {
    for (inbox& each : inboxes) co_await each.send(i);
    co_await io.schedule();
  }
  for (inbox& each : inboxes) each.close();
}
void timeouts_of_connections(scenario& run) {
  coracle::io_service io;
  std::deque<inbox> inboxes;
  for (long i = 0; i != run.times(waiting_connections); ++i) inboxes.emplace_back(1);
  long received = 0;
  const auto all = [&](coracle::async_scope& scope) -> task<> {
    for (inbox& each : inboxes) scope.spawn(serve(each, received));
    co_await deliver(io, inboxes);
  };
  run.measure([&] { io.run(coracle::with_scope(all)); });
  run.expect(received == messages_each * run.times(waiting_connections), "each message is received");
}

CORACLE_GROWING_SCENARIO(timeouts_of_connections);
}  // namespace
