// bench/scenario/work_queue_asio.cpp -- the queue of work_queue.cpp with Boost.Asio's channel.
// SPDX-License-Identifier: MIT
#include <array>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/experimental/concurrent_channel.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_future.hpp>
#include <future>
#include <vector>

#include "../rivals/asio.hpp"
#include "scenario.hpp"
#include "work_queue.hpp"

namespace {
using namespace coracle_bench;
using boost::system::error_code;
using channel = asio::experimental::concurrent_channel<void(error_code, job)>;

asio::awaitable<void> produce(channel& to, long n) {
  for (long i = 0; i != n; ++i) co_await to.async_send(error_code{}, static_cast<job>(i), asio::deferred);
  to.close();
}
asio::awaitable<void> work(channel& from, worked& mine) {
  for (;;) {
    const auto [failed, next] = co_await from.async_receive(asio::as_tuple(asio::deferred));
    if (failed) break;
    mine.on(next);
  }
}
void asio_work_queue(scenario& run) {
  asio::thread_pool pool{queue_workers};
  channel queue{pool, queue_places};
  std::array<worked, queue_workers> all;
  run.measure([&] {
    std::vector<std::future<void>> ends;
    for (worked& mine : all) ends.push_back(asio::co_spawn(pool, work(queue, mine), asio::use_future));
    ends.push_back(asio::co_spawn(pool, produce(queue, run.times(queued_jobs)), asio::use_future));
    for (auto& each : ends) each.get();
  });
  long done = 0;
  for (const worked& each : all) done += each.jobs;
  run.expect(done == run.times(queued_jobs), "each job is done once");
}

CORACLE_GROWING_SCENARIO(asio_work_queue);
}  // namespace
