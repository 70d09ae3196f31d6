// bench/scenario/scenario.hpp -- what a scenario measures and reports, and how it is registered.
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

  /// `amount`, or ten times that in the run that shows how time and memory grow.
  [[nodiscard]] long times(long amount) const noexcept { return amount * scale_; }

  /// Runs `work` and measures its wall-clock time and the processor time of all threads. What is set up before and torn down
  /// after counts for memory alone.
  template <class Work>
  void measure(Work&& work) {
    const auto wall = std::chrono::steady_clock::now();
    const double cpu = cpu_seconds();
    work();
    cpu_seconds_ = cpu_seconds() - cpu;
    wall_seconds_ = std::chrono::duration<double>(std::chrono::steady_clock::now() - wall).count();
  }
  /// How long a person, or whatever stands for one, has waited once; the table shows the 50th and the 99th percentile.
  /// Not thread-safe: code on several threads collects its own times and passes them on at the end.
  void waited(std::chrono::nanoseconds time) { waits_.push_back(time); }
  void waited(const std::vector<std::chrono::nanoseconds>& times) {
    waits_.insert(waits_.end(), times.begin(), times.end());
  }
  /// Ends the process with an error unless the work gave the right result.
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

/// A scenario in the list of the program. Objects of this class are static.
class registered_scenario {
 public:
  registered_scenario(const char* name, void (*function)(scenario&), bool grows);
};
/// What the table's heading says about the library `name`.
class registered_version {
 public:
  registered_version(const char* name, const char* version);
};
}  // namespace coracle_bench

/// Registers the function `name`. The same work by others is called asio_<name>, tbb_<name>, threads_<name> (std::thread and
/// what blocks it) or loop_<name> (plain code on one thread); tools/bench.py runs them beside each other.
#define CORACLE_SCENARIO(name) \
  const coracle_bench::registered_scenario registered_##name { #name, &name, false }
/// The same for work whose size comes from scenario::times(): it is run at ten times the size, too.
#define CORACLE_GROWING_SCENARIO(name) \
  const coracle_bench::registered_scenario registered_##name { #name, &name, true }
