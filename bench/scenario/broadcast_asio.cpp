// bench/scenario/broadcast_asio.cpp -- the broadcast of broadcast.cpp by a Boost.Asio channel for each
// subscriber.
// SPDX-License-Identifier: MIT
#include <boost/asio/experimental/concurrent_channel.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_future.hpp>
#include <future>
#include <memory>
#include <vector>

#include "../rivals/asio.hpp"
#include "broadcast.hpp"
#include "scenario.hpp"

namespace {
using namespace coracle_bench;
using boost::system::error_code;
using channel = asio::experimental::concurrent_channel<void(error_code, long)>;

// A channel that is closed may lose its last values (Boost 1.81), so the end is a value as well.
constexpr long end_of_values = -1;

asio::awaitable<long> add_up(channel& values) {
  long sum = 0;
  for (;;) {
    const long value = co_await values.async_receive(asio::deferred);
    if (value == end_of_values) co_return sum;
    sum += value;
  }
}
asio::awaitable<long> send_to_each(std::vector<std::unique_ptr<channel>>& all, long n) {
  for (long i = 0; i != n; ++i) {
    for (const auto& each : all) co_await each->async_send(error_code{}, i, asio::deferred);
  }
  for (const auto& each : all) co_await each->async_send(error_code{}, end_of_values, asio::deferred);
  co_return 0;
}
void send_by_channels(scenario& run) {
  asio::thread_pool pool{broadcast_threads};
  const long n = run.times(broadcast_values);
  long sum = 0;
  run.measure([&] {
    std::vector<std::unique_ptr<channel>> channels;
    std::vector<std::future<long>> ends;
    for (int i = 0; i != subscribers; ++i) {
      channels.push_back(std::make_unique<channel>(pool, places_a_subscriber));
      ends.push_back(asio::co_spawn(pool, add_up(*channels.back()), asio::use_future));
    }
    ends.push_back(asio::co_spawn(pool, send_to_each(channels, n), asio::use_future));
    for (auto& each : ends) sum += each.get();
  });
  run.expect(sum == subscribers * (n * (n - 1) / 2), "each subscriber gets each value");
}
void asio_broadcast_to_1000(scenario& run) { send_by_channels(run); }
void asio_broadcast_by_channels(scenario& run) { send_by_channels(run); }

CORACLE_GROWING_SCENARIO(asio_broadcast_to_1000);
CORACLE_GROWING_SCENARIO(asio_broadcast_by_channels);
}  // namespace
