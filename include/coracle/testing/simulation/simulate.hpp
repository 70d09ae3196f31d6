// coracle/testing/simulation/simulate.hpp -- run a scenario with many seeds, or with each fault that can happen in it.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/testing/simulation/simulation.hpp>
#include <initializer_list>

namespace coracle::testing {
/// Uses a simulation, and tells it what must be true: simulation::expect(). An exception that leaves it is a failure.
using simulated_scenario = std::function<void(simulation&)>;

struct simulated_seeds {
  std::uint64_t count = 1000;
  std::uint64_t first = 1;
};

/// What all simulations of a simulate() did.
struct simulated_total {
  std::uint64_t seeds = 0;
  std::uint64_t steps = 0;
  std::uint64_t hash = 0;  ///< of all their traces: equal runs have equal ones, in each process
};

/// Calls `body` once for each seed, each time with a simulation of its own.
///
///     coracle::testing::simulate({.count = 1000}, [](coracle::testing::simulation& sim) {
///       int sum = 0;
///       sim.run(add_concurrently(sim, sum));
///       sim.expect(sum == 10, "all four were added");
///     });
///
/// Where the environment variable CORACLE_SEED is a number, it runs that seed only, and prints its whole trace.
/// Exceptions  simulation_failure: which seed, why, the end of its trace, and how to run it again. A seed that ends the
///             program is named on stderr before.
simulated_total simulate(const simulated_seeds& seeds, const simulated_scenario& body,
                         const simulation_options& options = {});

/// How often for_every_fault() has run its scenario, for each kind of fault.
struct fault_counts {
  std::uint64_t cancellations = 0, operations = 0, allocations = 0;
  std::uint64_t hash = 0;  ///< as that of a simulated_total
};

/// Calls `body` with one seed, once without a fault, then for every k once with each of these: what is run() is asked to
/// stop before step k; the k-th call of simulation::fails() gives true; the k-th allocation throws std::bad_alloc.
///
///     const auto counts = coracle::testing::for_every_fault(1, upload_and_check);
///
/// `body` may let pass operation_cancelled where it was asked to stop, std::bad_alloc where an allocation failed, and
/// any exception where an operation did: the error surfaces. It is to end, to leave no memory behind, and to meet its
/// simulation::expect() in each case.
/// The program has CORACLE_COUNT_ALLOCATIONS() in one of its files. ThreadSanitizer does not let allocations be counted:
/// there none fails.
/// Exceptions  simulation_failure: which fault, and as for simulate().
fault_counts for_every_fault(std::uint64_t seed, const simulated_scenario& body,
                             const simulation_options& options = {});

/// A scenario and its name.
struct simulation_case {
  const char* name;
  simulated_scenario body;
  simulation_options options = {};
};

/// What main() of a program of simulations returns: runs each case with SEEDS seeds from FIRST on, only NAME if that is
/// given, and says how many there were; or how the first failure can be run again.
///
///     // program [SEEDS [FIRST [NAME]]]
///     int main(int argc, char** argv) {
///       return coracle::testing::simulate_main(argc, argv, {{"transfers", transfers}, {"upload", upload}});
///     }
int simulate_main(int argc, char** argv, std::initializer_list<simulation_case> cases);
}  // namespace coracle::testing
