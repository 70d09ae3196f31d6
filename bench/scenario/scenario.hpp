// bench/scenario/scenario.hpp -- measures, reports and registers a scenario.
// SPDX-License-Identifier: MIT
#pragma once
#include <chrono>
#include <string_view>
#include <vector>

namespace coracle_bench {
/// One run of one scenario, in a process of its own.
///
///     void tree_by_schedule(scenario& run) {
///       static_thread_pool pool{2};
///       long leaves = 0;
///       run.measure([&] { leaves = sync_wait(tree(pool, run.times(1 << 20))); });
///       run.expect(leaves == run.times(1 << 20), "every leaf is counted once");
///     }
///     CORACLE_GROWING_SCENARIO(tree_by_schedule);
class scenario {
 public:
  explicit scenario(long scale) noexcept : scale_(scale) {}

  /// Returns `amount`, or ten times that in the run that shows how time and memory grow.
  [[nodiscard]] long times(long amount) const noexcept { return amount * scale_; }

  /// Runs `work`, and measures its wall-clock time and the processor time of all threads. Setup and teardown
  /// outside it count only for memory.
  template <class Work>
  void measure(Work&& work) {
    const auto wall = std::chrono::steady_clock::now();
    const double cpu = cpu_seconds();
    work();
    cpu_seconds_ = cpu_seconds() - cpu;
    wall_seconds_ = std::chrono::duration<double>(std::chrono::steady_clock::now() - wall).count();
  }
  /// Records one latency; the table shows the 50th and the 99th percentile. Not thread-safe: each thread
  /// collects its own latencies and passes them on at the end.
  void waited(std::chrono::nanoseconds time) { waits_.push_back(time); }
  void waited(const std::vector<std::chrono::nanoseconds>& times) {
    waits_.insert(waits_.end(), times.begin(), times.end());
  }
  /// Ends the process with an error if `right` is false.
  void expect(bool right, std::string_view what) const;

  /// Prints the figures as JSON.
  void report();

 private:
  static double cpu_seconds() noexcept;

  long scale_;
  double wall_seconds_ = 0;
  double cpu_seconds_ = 0;
  std::vector<std::chrono::nanoseconds> waits_;
};

/// An entry in the program's list of scenarios. Objects of this class are static.
class registered_scenario {
 public:
  registered_scenario(const char* name, void (*function)(scenario&), bool grows);
};
/// The version of the library `name`, for the heading of the table.
class registered_version {
 public:
  registered_version(const char* name, const char* version);
};
}  // namespace coracle_bench

/// Registers the function `name`. The same work by rivals is called asio_<name>, tbb_<name>, threads_<name>
/// (std::thread and blocking calls) or loop_<name> (plain code on one thread); tools/bench.py compares them.
#define CORACLE_SCENARIO(name) \
  const coracle_bench::registered_scenario registered_##name { #name, &name, false }
/// The same for work whose size comes from scenario::times(): it is also run at ten times the size.
#define CORACLE_GROWING_SCENARIO(name) \
  const coracle_bench::registered_scenario registered_##name { #name, &name, true }
