// coracle/testing/model/model_check.hpp -- runs a small concurrent program in every interleaving.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/base/config.hpp>
#include <cstdint>
#include <functional>
#include <set>
#include <source_location>
#include <string>
#include <utility>

namespace coracle::testing {
/// The bounds of a model_check().
struct model_limits {
  /// The maximum number of preemptions and spurious failures of compare_exchange_weak in one execution.
  /// Unbounded by default: then one execution of each equivalence class is run.
  unsigned preemptions = ~0U;
  std::uint64_t executions = 10'000'000;  ///< then it gives up: the result is not complete
  std::uint64_t steps = 10'000;           ///< of one execution; more are reported as a livelock
  bool spurious_failures = true;          ///< compare_exchange_weak may fail spuriously, once per execution
  /// If not 0, choices are random, from this seed, and `executions` is the number of runs.
  std::uint64_t random_seed = 0;
  unsigned random_depth = 3;  ///< then: the number of scheduling constraints that a bug may need
};

struct model_result {
  bool passed = false;
  bool complete = false;           ///< every execution within the bounds was run
  std::uint64_t executions = 0;    ///< number of executions
  std::uint64_t pruned = 0;        ///< further executions abandoned because they could only repeat others
  std::uint64_t steps = 0;         ///< accesses to atomics, in all of them
  std::set<std::string> outcomes;  ///< the arguments of model_record(), over all executions
  std::string failure;             ///< what is wrong; empty if it passed
  std::string schedule;            ///< the failing execution, a column per thread
  std::string replay;              ///< for model_replay(): the choices that lead there
};

/// Calls `body` repeatedly, each time with another interleaving of its threads and other stale values that
/// the C++ memory model allows its loads to return, until all have been tried or one fails.
///
///     const auto result = coracle::testing::model_check([] {
///       my_event event;
///       coracle::testing::model_thread setter{[&] { event.set(); }};
///       event.wait();
///       setter.join();
///     });
///     if (!result.passed) std::puts(result.schedule.c_str());
///
/// Reports a failed model_expect() or precondition, a data race on a plain<T>, including its destruction, a
/// deadlock (and so a lost wake-up), a livelock, and leaked memory. Threads share data through
/// testing::atomic<T> and testing::plain<T> (<coracle/testing/model/atomic.hpp>). The whole program is
/// compiled with CORACLE_MODEL, which replaces coracle's atomics and everything that waits by the checker's,
/// and linked with coracle::model. Apart from the interleaving, `body` must be deterministic: no clock, no
/// random numbers, no real threads. Limits: a load never returns a store that has not been executed yet (no
/// load buffering); modification order and the order of seq_cst accesses are execution order; a load returns
/// one of the last 8 stores; up to 5 threads besides the body. Objects of a failed execution are freed
/// without running destructors. More, and how to read a schedule: docs/model-checking.md.
/// Source: P. Abdulla et al., "Optimal Dynamic Partial Order Reduction", POPL 2014; K. Coons et al., "Bounded
/// Partial-Order Reduction", OOPSLA 2013; B. Norris, B. Demsky, "CDSChecker", OOPSLA 2013; D. Vyukov, Relacy.
model_result model_check(const model_limits& limits, std::function<void()> body);
inline model_result model_check(std::function<void()> body) { return model_check({}, std::move(body)); }

namespace model {
/// What the search leaves out because it could only repeat other executions: nothing; stale values, and
/// preemptions that no other thread can observe; also orders.
enum class reduction : std::uint8_t { none, of_values, of_orders };
/// For the checker's own tests: model_check() uses `of_orders`.
model_result check_with(reduction reduces, const model_limits& limits, std::function<void()> body);
}  // namespace model

/// Runs the one execution that a result's `replay` identifies, for a debugger.
model_result model_replay(const std::string& replay, std::function<void()> body,
                          const model_limits& limits = {});

/// Reports a failure of the model_check() if `condition` is false.
void model_expect(bool condition, const char* what,
                  std::source_location where = std::source_location::current());

/// Adds an outcome of this execution to the result. `body` must free what it allocates itself.
void model_record(std::string outcome);

/// A thread of the checked program. The destructor joins it.
class model_thread {
 public:
  explicit model_thread(std::function<void()> body);
  model_thread(const model_thread&) = delete;
  model_thread& operator=(const model_thread&) = delete;
  ~model_thread() { join(); }
  /// No effect the second time.
  void join();

 private:
  unsigned index_;
  bool joined_ = false;
};

/// Call in a loop that waits for another thread: returns only after another thread has made a step.
void model_yield();
}  // namespace coracle::testing
