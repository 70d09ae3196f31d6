// bench/scenario/io_lives_asio.cpp -- the event loops of io_lives.cpp with Boost.Asio.
// SPDX-License-Identifier: MIT
#include <boost/asio/post.hpp>

#include "../rivals/asio.hpp"
#include "io_lives.hpp"
#include "scenario.hpp"

namespace {
using namespace coracle_bench;

asio::awaitable<void> hop(asio::io_context& io) { co_await asio::post(io, asio::deferred); }
void asio_make_run_destroy_io_service(scenario& run) {
  int ended = 0;
  run.measure([&] {
    for (; ended != lives; ++ended) {
      asio::io_context io{1};
      run_on(io, hop(io));
    }
  });
  run.expect(ended == lives, "each has lived");
}

CORACLE_SCENARIO(asio_make_run_destroy_io_service);
}  // namespace
