// bench/scenario/retry_storm_asio.cpp -- the operations of retry_storm.cpp with Boost.Asio's timers.
// SPDX-License-Identifier: MIT
#include <boost/asio/steady_timer.hpp>
#include <random>
#include <stdexcept>

#include "../rivals/asio.hpp"
#include "retry_storm.hpp"
#include "scenario.hpp"

namespace {
using namespace coracle_bench;

asio::awaitable<void> attempt(unsigned& failures, long& succeeded) {
  if (failures++ != failures_each) throw std::runtime_error("overloaded");
  ++succeeded;
  co_return;
}
asio::awaitable<void> operation(std::mt19937_64& random, long& succeeded) {
  asio::steady_timer timer{co_await asio::this_coro::executor};
  unsigned failures = 0;
  std::chrono::nanoseconds delay = first_delay;
  for (;;) {
    try {
      co_await attempt(failures, succeeded);
      co_return;
    } catch (const std::runtime_error&) {
    }
    timer.expires_after(std::chrono::nanoseconds{random() % static_cast<std::uint64_t>(delay.count())});
    delay *= 2;
    co_await timer.async_wait(asio::deferred);
  }
}
void asio_retry_storm(scenario& run) {
  asio::io_context io{1};
  std::mt19937_64 random{std::random_device{}()};
  long succeeded = 0;
  run.measure([&] {
    for (long i = 0; i != run.times(retried_operations); ++i) {
      asio::co_spawn(io, operation(random, succeeded), asio::detached);
    }
    io.run();
  });
  run.expect(succeeded == run.times(retried_operations), "each operation succeeds in the end");
}

CORACLE_GROWING_SCENARIO(asio_retry_storm);
}  // namespace
