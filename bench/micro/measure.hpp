// bench/micro/measure.hpp -- runs and registers each micro-benchmark: one operation is one iteration.
// SPDX-License-Identifier: MIT
#pragma once
#include <benchmark/benchmark.h>

namespace coracle_bench {
/// Runs `operations(n)`, which carries out `n` operations, until the time suffices. The table shows
/// nanoseconds per operation.
template <class Operations>
void measure(benchmark::State& state, benchmark::IterationCount n, Operations operations) {
  while (state.KeepRunningBatch(n)) operations(static_cast<long>(n));
}

/// As measure(), but `operations(batches)` carries out `batches * each` operations.
template <class Operations>
void measure_each(benchmark::State& state, benchmark::IterationCount batches, benchmark::IterationCount each,
                  Operations operations) {
  while (state.KeepRunningBatch(batches * each)) operations(static_cast<long>(batches));
}

/// Makes the compiler compute `value` here, possibly in a register.
inline void need(const long value) { benchmark::DoNotOptimize(value); }
}  // namespace coracle_bench

/// Measures wall-clock time, because some benchmarks work on other threads. floor_<name> is the lower bound
/// that <name> is compared to, asio_<name> or tbb_<name> the same work by a rival; tools/bench.py runs them
/// together.
#define CORACLE_BENCH(name) BENCHMARK(name)->UseRealTime()
