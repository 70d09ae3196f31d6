// bench/scenario/fan_out_asio.cpp -- the requests of fan_out.cpp with Boost.Asio's parallel_group.
// SPDX-License-Identifier: MIT
#include <boost/asio/async_result.hpp>
#include <boost/asio/experimental/parallel_group.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <exception>
#include <vector>

#include "../rivals/asio.hpp"
#include "fan_out.hpp"
#include "scenario.hpp"

namespace {
using namespace coracle_bench;
using clock = std::chrono::steady_clock;

asio::awaitable<void> request(int number, clock::time_point& failed_at) {
  co_await asio::post(asio::deferred);
  if (number == failing_request) {
    co_await asio::post(asio::deferred);
    failed_at = clock::now();
    throw std::runtime_error("refused");
  }
  asio::steady_timer timer{co_await asio::this_coro::executor, time_of_request};
  co_await timer.async_wait(asio::deferred);
}
asio::awaitable<void> fan_out_again_and_again(scenario& run, long& failures) {
  const auto here = co_await asio::this_coro::executor;
  using operation =
      decltype(asio::co_spawn(here, request(0, std::declval<clock::time_point&>()), asio::deferred));
  for (long i = 0; i != run.times(fan_outs); ++i) {
    std::vector<operation> all;
    clock::time_point failed_at;
    for (int number = 0; number != requests_at_once; ++number) {
      all.push_back(asio::co_spawn(here, request(number, failed_at), asio::deferred));
    }
    const auto [order, errors] = co_await asio::experimental::make_parallel_group(std::move(all))
                                     .async_wait(asio::experimental::wait_for_one_error{}, asio::deferred);
    run.waited(clock::now() - failed_at);
    failures += order.front() == failing_request && errors[failing_request] != nullptr;
  }
}
void asio_fan_out_with_failure(scenario& run) {
  asio::io_context io{1};
  long failures = 0;
  run.measure([&] { run_on(io, fan_out_again_and_again(run, failures)); });
  run.expect(failures == run.times(fan_outs), "each fan-out fails");
}

CORACLE_GROWING_SCENARIO(asio_fan_out_with_failure);
}  // namespace
