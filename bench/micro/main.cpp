// bench/micro/main.cpp -- runs the benchmarks named on the command line, for the table of tools/bench.py.
// SPDX-License-Identifier: MIT
#include <benchmark/benchmark.h>

#ifndef CORACLE_BENCH_FLAGS
#define CORACLE_BENCH_FLAGS "not said"
#endif

int main(int argc, char** argv) {
#ifdef __clang__
  benchmark::AddCustomContext("compiler", "clang++ " __clang_version__);
#else
  benchmark::AddCustomContext("compiler", "g++ " __VERSION__);
#endif
  benchmark::AddCustomContext("flags", CORACLE_BENCH_FLAGS);
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}
