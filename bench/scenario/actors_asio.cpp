// bench/scenario/actors_asio.cpp -- actors.cpp with Boost.Asio: an actor is a strand, a message a function.
// SPDX-License-Identifier: MIT
#include <boost/asio/post.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/thread_pool.hpp>
#include <deque>
#include <latch>

#include "../rivals/asio.hpp"
#include "actors.hpp"
#include "scenario.hpp"

namespace {
using namespace coracle_bench;

class actor {
 public:
  explicit actor(asio::thread_pool& pool) : strand_(asio::make_strand(pool)) {}

  void send(long token) {
    asio::post(strand_, [this, token] { handle(token); });
  }
  actor* next = nullptr;
  std::latch* tokens_left = nullptr;
  long handed_on = 0;

 private:
  void handle(long token) {
    if (token == 0) {
      tokens_left->count_down();
    } else {
      ++handed_on;
      next->send(token - 1);
    }
  }
  asio::strand<asio::thread_pool::executor_type> strand_;
};
void asio_actor_ring(scenario& run) {
  asio::thread_pool pool{2};
  std::deque<actor> actors;
  std::latch tokens_left{tokens_in_ring};
  for (int i = 0; i != actors_in_ring; ++i) actors.emplace_back(pool).tokens_left = &tokens_left;
  for (std::size_t i = 0; i != actors.size(); ++i) actors[i].next = &actors[(i + 1) % actors.size()];
  run.measure([&] {
    for (int i = 0; i != tokens_in_ring; ++i) {
      actors[static_cast<std::size_t>(i) * 7 % actors.size()].send(run.times(hops_of_token));
    }
    tokens_left.wait();
  });
  long handed_on = 0;
  for (const actor& each : actors) handed_on += each.handed_on;
  run.expect(handed_on == tokens_in_ring * run.times(hops_of_token), "each token makes each hop");
}

CORACLE_GROWING_SCENARIO(asio_actor_ring);
}  // namespace
