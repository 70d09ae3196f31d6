// bench/scenario/retry_storm.cpp -- ten thousand operations fail together and retry after random delays.
// SPDX-License-Identifier: MIT
#include "retry_storm.hpp"

#include <coracle/coracle.hpp>
#include <coracle/io.hpp>
#include <stdexcept>

#include "scenario.hpp"

namespace {
using coracle::task;
using namespace coracle_bench;

task<> attempt(unsigned& failures, long& succeeded) {
  if (failures++ != failures_each) throw std::runtime_error("overloaded");
  ++succeeded;
  co_return;
}
task<> operation(coracle::retry_policy policy, long& succeeded) {
  unsigned failures = 0;
  auto again = [&] { return attempt(failures, succeeded); };
  co_await coracle::retry(policy, again);
}
void retry_storm(scenario& run) {
  coracle::io_service io;
  long succeeded = 0;
  coracle::retry_policy policy;
  policy.max_attempts = failures_each + 1;
  policy.first_delay = first_delay;
  const auto all = [&](coracle::async_scope& scope) -> task<> {
    for (long i = 0; i != run.times(retried_operations); ++i) scope.spawn(operation(policy, succeeded));
    co_return;
  };
  run.measure([&] { io.run(coracle::with_scope(all)); });
  run.expect(succeeded == run.times(retried_operations), "each operation succeeds in the end");
}

CORACLE_GROWING_SCENARIO(retry_storm);
}  // namespace
