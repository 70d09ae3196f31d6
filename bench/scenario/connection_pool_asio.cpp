// bench/scenario/connection_pool_asio.cpp -- connection_pool.cpp with Boost.Asio: tokens in a channel.
// SPDX-License-Identifier: MIT
#include <boost/asio/experimental/concurrent_channel.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_future.hpp>
#include <future>

#include "../rivals/asio.hpp"
#include "connection_pool.hpp"
#include "scenario.hpp"

namespace {
using namespace coracle_bench;
using clock = std::chrono::steady_clock;
using boost::system::error_code;
using tokens = asio::experimental::concurrent_channel<void(error_code, int)>;

asio::awaitable<void> client(tokens& free, queries& all, int number, long n) {
  auto& waits = all.waits[static_cast<std::size_t>(number)];
  for (long i = 0; i != n; ++i) {
    const auto asked = clock::now();
    const int token = co_await free.async_receive(asio::deferred);
    waits.push_back(clock::now() - asked);
    all.begin();
    co_await asio::post(asio::deferred);
    all.end();
    free.try_send(error_code{}, token);
  }
}
void asio_connection_pool(scenario& run) {
  asio::thread_pool pool{2};
  tokens free{pool, connections};
  for (int i = 0; i != connections; ++i) free.try_send(error_code{}, i);
  queries all;
  run.measure([&] {
    std::vector<std::future<void>> ends;
    for (int i = 0; i != clients; ++i) {
      ends.push_back(
          asio::co_spawn(pool, client(free, all, i, run.times(queries_of_client)), asio::use_future));
    }
    for (auto& each : ends) each.get();
  });
  for (const auto& each : all.waits) run.waited(each);
  run.expect(!all.too_many && all.done == clients * run.times(queries_of_client),
             "each query has a connection");
}

CORACLE_GROWING_SCENARIO(asio_connection_pool);
}  // namespace
