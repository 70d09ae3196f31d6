// bench/micro/measure.hpp -- how every benchmark here is run and registered: one operation is one iteration.
// SPDX-License-Identifier: MIT
#pragma once
#include <benchmark/benchmark.h>

namespace coracle_bench {
/// Runs `operations(n)` until there is time enough. It carries out `n` operations, and the table shows
/// nanoseconds for one of them.
template <class Operations>
void measure(benchmark::State& state, benchmark::IterationCount n, Operations operations) {
  while (state.KeepRunningBatch(n)) operations(static_cast<long>(n));
}

/// As measure(), but the batch of `batches * each` operations is made of calls of `operations(batches)`.
template <class Operations>
void measure_each(benchmark::State& state, benchmark::IterationCount batches, benchmark::IterationCount each,
                  Operations operations) {
  while (state.KeepRunningBatch(batches * each)) operations(static_cast<long>(batches));
}

/// Makes the compiler compute `value` here, in a register if it likes.
inline void need(const long value) { benchmark::DoNotOptimize(value); }
}  // namespace coracle_bench

/// Wall-clock time, because some benchmarks work on other threads. A benchmark called floor_<name> holds what <name> is
/// compared to, asio_<name> or tbb_<name> the same by a rival; tools/bench.py runs them together.
#define CORACLE_BENCH(name) BENCHMARK(name)->UseRealTime()
