// bench/micro/resident_bytes.hpp -- how much memory something takes, shown as if it were nanoseconds.
// SPDX-License-Identifier: MIT
#pragma once
#include <benchmark/benchmark.h>
#include <malloc.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

namespace coracle_bench {
inline long resident_bytes() {
  long total = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> total >> resident;
  return resident * sysconf(_SC_PAGESIZE);
}

/// What `bytes()` gives in a child process, which first gives back the memory that was freed before: to use
/// that again would not show.
inline void show_bytes(benchmark::State& state, double (*bytes)()) {
  for (auto _ : state) {
    int ends[2];
    if (::pipe(ends) != 0) return state.SkipWithError("no pipe");
    double result = 0;
    const pid_t child = ::fork();
    if (child == 0) {
      ::malloc_trim(0);
      result = bytes();
      ::_exit(::write(ends[1], &result, sizeof result) == sizeof result ? 0 : 1);
    }
    ::close(ends[1]);
    if (::read(ends[0], &result, sizeof result) != sizeof result) state.SkipWithError("the child failed");
    ::close(ends[0]);
    ::waitpid(child, nullptr, 0);
    state.SetIterationTime(result * 1e-9);
  }
}
}  // namespace coracle_bench

#define CORACLE_BENCH_BYTES(name) BENCHMARK(name)->UseManualTime()->Iterations(1)
