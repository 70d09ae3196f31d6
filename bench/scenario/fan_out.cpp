// bench/scenario/fan_out.cpp -- a thousand concurrent requests; one fails, the others are cancelled.
// SPDX-License-Identifier: MIT
#include "fan_out.hpp"

#include <coracle/coracle.hpp>
#include <coracle/io.hpp>
#include <vector>

#include "scenario.hpp"

namespace {
using coracle::task;
using namespace coracle_bench;
using clock = std::chrono::steady_clock;

task<> request(coracle::io_service& io, int number, clock::time_point& failed_at) {
  co_await io.schedule();
  if (number == failing_request) {
    co_await io.schedule();
    failed_at = clock::now();
    throw std::runtime_error("refused");
  }
  co_await coracle::sleep_for(time_of_request);
}
task<> fan_out_again_and_again(coracle::io_service& io, scenario& run, long& failures) {
  for (long i = 0; i != run.times(fan_outs); ++i) {
    std::vector<task<>> all;
    clock::time_point failed_at;
    for (int number = 0; number != requests_at_once; ++number) all.push_back(request(io, number, failed_at));
    try {
      co_await coracle::when_all(std::move(all));
    } catch (const std::runtime_error&) {
      run.waited(clock::now() - failed_at);
      ++failures;
    }
  }
}
void fan_out_with_failure(scenario& run) {
  coracle::io_service io;
  long failures = 0;
  run.measure([&] { io.run(fan_out_again_and_again(io, run, failures)); });
  run.expect(failures == run.times(fan_outs), "each fan-out fails");
}

CORACLE_GROWING_SCENARIO(fan_out_with_failure);
}  // namespace
