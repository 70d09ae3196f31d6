// bench/scenario/actors.cpp -- a thousand actors pass a hundred tokens round a ring, on two threads.
// SPDX-License-Identifier: MIT
#include "actors.hpp"

#include <coracle/coracle.hpp>
#include <deque>

#include "scenario.hpp"

namespace {
using coracle::static_thread_pool;
using coracle::task;
using namespace coracle_bench;

/// A coroutine with an inbox; no other coroutine accesses its state, so there is no lock.
struct actor {
  coracle::unbounded_channel<long> inbox;  // a token is the number of its remaining hops
  long handed_on = 0;

  task<> run(actor& next, coracle::async_latch& tokens_left) {
    while (const auto token = co_await inbox.recv()) {
      if (*token == 0) {
        tokens_left.count_down();
      } else {
        ++handed_on;
        next.inbox.send(*token - 1);
      }
    }
  }
};
task<> ring(static_thread_pool& pool, std::deque<actor>& actors, long hops) {
  coracle::async_latch tokens_left{tokens_in_ring};
  coracle::async_scope scope;
  for (std::size_t i = 0; i != actors.size(); ++i) {
    scope.spawn(pool, actors[i].run(actors[(i + 1) % actors.size()], tokens_left));
  }
  for (int i = 0; i != tokens_in_ring; ++i)
    actors[static_cast<std::size_t>(i) * 7 % actors.size()].inbox.send(hops);
  co_await tokens_left;
  for (actor& each : actors) each.inbox.close();
  co_await scope.join();
}
void actor_ring(scenario& run) {
  static_thread_pool pool{2};
  std::deque<actor> actors(actors_in_ring);
  run.measure([&] { coracle::sync_wait(ring(pool, actors, run.times(hops_of_token))); });
  long handed_on = 0;
  for (const actor& each : actors) handed_on += each.handed_on;
  run.expect(handed_on == tokens_in_ring * run.times(hops_of_token), "each token makes each hop");
}

CORACLE_GROWING_SCENARIO(actor_ring);
}  // namespace
