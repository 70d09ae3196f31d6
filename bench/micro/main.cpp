// bench/micro/main.cpp -- runs the benchmarks and prints one line for each, with its distance from its floor.
// SPDX-License-Identifier: MIT
#include <benchmark/benchmark.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include "suspended_tasks.hpp"

namespace {
/// Median, least and greatest of the repetitions; and the median over that of floor_<name>, of the same run.
class table : public benchmark::BenchmarkReporter {
 public:
  bool ReportContext(const Context&) override { return true; }
  void ReportRuns(const std::vector<Run>& runs) override {
    for (const Run& run : runs) {
      if (run.run_type != Run::RT_Iteration || run.error_occurred) continue;
      std::vector<double>& times = times_[run.run_name.function_name];
      if (times.empty()) order_.push_back(run.run_name.function_name);
      times.push_back(run.GetAdjustedRealTime());
    }
  }
  void Finalize() override {
    for (auto& [name, times] : times_) std::sort(times.begin(), times.end());
    std::printf("%-34s %10s %10s %10s %8s\n", "ns/op", "median", "min", "max", "x floor");
    for (const std::string& name : order_) {
      const std::vector<double>& times = times_[name];
      std::printf("%-34s %10.2f %10.2f %10.2f", name.c_str(), median(times), times.front(), times.back());
      const auto floor = times_.find("floor_" + name);
      if (floor != times_.end()) std::printf(" %8.2f", median(times) / median(floor->second));
      std::printf("\n");
    }
  }

 private:
  static double median(const std::vector<double>& sorted) { return sorted[sorted.size() / 2]; }

  std::map<std::string, std::vector<double>> times_;
  std::vector<std::string> order_;
};

/// In a child process, and before anything else has used the heap.
void print_bytes_per_suspended_task() {
  std::fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    std::printf("%-34s %10.1f\n", "bytes per suspended task", coracle_bench::bytes_per_suspended_task());
    std::fflush(stdout);
    _exit(0);
  }
  if (child > 0) waitpid(child, nullptr, 0);
}
}  // namespace

int main(int argc, char** argv) {
  print_bytes_per_suspended_task();
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  table lines;
  benchmark::RunSpecifiedBenchmarks(&lines);
  benchmark::Shutdown();
}
