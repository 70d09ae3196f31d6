// coracle/testing/simulation/simulate.hpp -- runs a scenario with many seeds, or with every possible fault.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/testing/simulation/simulation.hpp>
#include <initializer_list>

namespace coracle::testing {
/// Uses a simulation and states what must hold, by simulation::expect(). An exception that leaves it is a
/// failure.
using simulated_scenario = std::function<void(simulation&)>;

struct simulated_seeds {
  std::uint64_t count = 1000;
  std::uint64_t first = 1;
};

/// The totals over all simulations of a simulate().
struct simulated_total {
  std::uint64_t seeds = 0;
  std::uint64_t steps = 0;
  std::uint64_t hash = 0;  ///< of all traces: equal for equal runs, in every process
};

/// Calls `body` once for each seed, each time with a simulation of its own.
///
///     coracle::testing::simulate({.count = 1000}, [](coracle::testing::simulation& sim) {
///       int sum = 0;
///       sim.run(add_concurrently(sim, sum));
///       sim.expect(sum == 10, "all four were added");
///     });
///
/// If the environment variable CORACLE_SEED is a number, runs only that seed and prints its whole trace.
/// Exceptions  simulation_failure: the seed, the reason, the end of the trace, and how to rerun it. If a seed
///             ends the program, stderr names it.
simulated_total simulate(const simulated_seeds& seeds, const simulated_scenario& body,
                         const simulation_options& options = {});

/// The number of runs of for_every_fault(), per kind of fault.
struct fault_counts {
  std::uint64_t cancellations = 0, operations = 0, allocations = 0;
  std::uint64_t hash = 0;  ///< as that of a simulated_total
};

/// Calls `body` with one seed, once without a fault, then for every k once with each of these faults: the
/// awaitable of run() gets a stop request before step k; the k-th call of simulation::fails() returns true;
/// the k-th allocation throws std::bad_alloc.
///
///     const auto counts = coracle::testing::for_every_fault(1, upload_and_check);
///
/// `body` may throw operation_cancelled after a stop request, std::bad_alloc if an allocation failed, and any
/// exception if an operation failed. In each case it must end, leak nothing and meet its
/// simulation::expect(). The program has CORACLE_COUNT_ALLOCATIONS() in one of its files. Under clang's
/// ThreadSanitizer allocations cannot be counted, and none fails.
/// Exceptions  simulation_failure: the fault, and as for simulate().
fault_counts for_every_fault(std::uint64_t seed, const simulated_scenario& body,
                             const simulation_options& options = {});

/// A scenario and its name.
struct simulation_case {
  const char* name;
  simulated_scenario body;
  simulation_options options = {};
};

/// The main() of a program of simulations: runs each case, or only NAME, with SEEDS seeds from FIRST on, and
/// prints totals, or how to rerun the first failure. Returns the exit status.
///
///     // program [SEEDS [FIRST [NAME]]]
///     int main(int argc, char** argv) {
///       return coracle::testing::simulate_main(argc, argv, {{"transfers", transfers}, {"upload", upload}});
///     }
int simulate_main(int argc, char** argv, std::initializer_list<simulation_case> cases);
}  // namespace coracle::testing
