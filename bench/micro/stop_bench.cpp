// bench/micro/stop_bench.cpp -- stop tokens, compared to those of the standard library.
// SPDX-License-Identifier: MIT
#include <coracle/core/stop.hpp>
#include <stop_token>

#include "measure.hpp"

namespace {
using coracle_bench::measure;

template <class Source>
void ask(benchmark::State& state) {
  Source source;
  const auto token = source.get_token();
  measure(state, 10'000'000, [&token](long n) {
    for (long i = 0; i < n; ++i) {
      bool asked = token.stop_requested();
      benchmark::DoNotOptimize(asked);
    }
  });
}
void stop_ask(benchmark::State& state) { ask<coracle::stop_source>(state); }
void floor_stop_ask(benchmark::State& state) { ask<std::stop_source>(state); }

template <class Source, template <class> class Callback>
void come_and_go(benchmark::State& state) {
  Source source;
  long calls = 0;
  const auto count = [&calls]() noexcept { ++calls; };
  measure(state, 1'000'000, [&](long n) {
    for (long i = 0; i < n; ++i) const Callback<decltype(count)> callback{source.get_token(), count};
  });
  coracle_bench::need(calls);
}
void stop_register_and_deregister(benchmark::State& state) {
  come_and_go<coracle::stop_source, coracle::stop_callback>(state);
}
void floor_stop_register_and_deregister(benchmark::State& state) {
  come_and_go<std::stop_source, std::stop_callback>(state);
}

template <class Source, template <class> class Callback>
void request_one(benchmark::State& state) {
  long calls = 0;
  const auto count = [&calls]() noexcept { ++calls; };
  measure(state, 100'000, [&](long n) {
    for (long i = 0; i < n; ++i) {
      Source source;
      const Callback<decltype(count)> callback{source.get_token(), count};
      source.request_stop();
    }
  });
  coracle_bench::need(calls);
}
void stop_request_one_callback(benchmark::State& state) {
  request_one<coracle::stop_source, coracle::stop_callback>(state);
}
void floor_stop_request_one_callback(benchmark::State& state) {
  request_one<std::stop_source, std::stop_callback>(state);
}
}  // namespace

CORACLE_BENCH(stop_ask);
CORACLE_BENCH(floor_stop_ask);
CORACLE_BENCH(stop_register_and_deregister);
CORACLE_BENCH(floor_stop_register_and_deregister);
CORACLE_BENCH(stop_request_one_callback);
CORACLE_BENCH(floor_stop_request_one_callback);
