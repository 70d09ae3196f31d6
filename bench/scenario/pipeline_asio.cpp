// bench/scenario/pipeline_asio.cpp -- the stages of pipeline.cpp with Boost.Asio's channels.
// SPDX-License-Identifier: MIT
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/experimental/concurrent_channel.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_future.hpp>
#include <future>

#include "../rivals/asio.hpp"
#include "pipeline.hpp"
#include "scenario.hpp"

namespace {
using namespace coracle_bench;
using boost::system::error_code;
using channel = asio::experimental::concurrent_channel<void(error_code, std::uint64_t)>;

asio::awaitable<void> parse_all(channel& to, long n) {
  for (long i = 0; i != n; ++i) {
    co_await to.async_send(error_code{}, parse(static_cast<std::uint64_t>(i)), asio::deferred);
  }
  to.close();
}
asio::awaitable<void> enrich_all(channel& from, channel& to) {
  for (;;) {
    const auto [failed, next] = co_await from.async_receive(asio::as_tuple(asio::deferred));
    if (failed) break;
    co_await to.async_send(error_code{}, enrich(next), asio::deferred);
  }
  to.close();
}
asio::awaitable<void> store_all(channel& from, std::uint64_t& sum) {
  for (;;) {
    const auto [failed, next] = co_await from.async_receive(asio::as_tuple(asio::deferred));
    if (failed) break;
    sum = store(sum, next);
  }
}
void run_stages(scenario& run, asio::thread_pool& front, asio::thread_pool& back) {
  channel parsed{front, pipe_places}, enriched{back, pipe_places};
  std::uint64_t sum = 0;
  run.measure([&] {
    std::future<void> ends[] = {
        asio::co_spawn(front, parse_all(parsed, run.times(piped_items)), asio::use_future),
        asio::co_spawn(back, enrich_all(parsed, enriched), asio::use_future),
        asio::co_spawn(back, store_all(enriched, sum), asio::use_future)};
    for (auto& each : ends) each.get();
  });
  run.expect(sum == piped_by_loop(run.times(piped_items)), "what a loop computes");
}
void asio_pipeline(scenario& run) {
  asio::thread_pool pool{2};
  run_stages(run, pool, pool);
}
void asio_pipeline_over_two_pools(scenario& run) {
  asio::thread_pool front{1}, back{1};
  run_stages(run, front, back);
}

CORACLE_GROWING_SCENARIO(asio_pipeline);
CORACLE_GROWING_SCENARIO(asio_pipeline_over_two_pools);
}  // namespace
