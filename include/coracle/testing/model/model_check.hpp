// coracle/testing/model/model_check.hpp -- run a small concurrent program in every way in which it can run.
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
/// How far model_check() goes.
struct model_limits {
  /// How often in one execution a thread may be interrupted where it could have gone on, or a compare_exchange_weak fail
  /// for no reason. Without bound: one of all executions that no program can tell from each other is run.
  unsigned preemptions = ~0U;
  std::uint64_t executions = 10'000'000;  ///< after which it gives up: the result is not complete
  std::uint64_t steps = 10'000;           ///< of one execution, after which it counts as a livelock
  bool spurious_failures = true;  ///< compare_exchange_weak also fails without a reason, once an execution
  /// Not 0: the choices are random, from this seed, and `executions` says how many runs there are.
  std::uint64_t random_seed = 0;
  unsigned random_depth =
      3;  ///< then: in how many places of a run the order of its threads has to be unlucky
};

struct model_result {
  bool passed = false;
  bool complete = false;           ///< every execution within the bounds has been run
  std::uint64_t executions = 0;    ///< so many
  std::uint64_t pruned = 0;        ///< more were begun and given up, because they could only repeat others
  std::uint64_t steps = 0;         ///< accesses to atomics, in all of them
  std::set<std::string> outcomes;  ///< what model_record() was told, in all of them
  std::string failure;             ///< what is wrong; empty if it passed
  std::string schedule;            ///< how it came to that: a column for each thread
  std::string replay;              ///< for model_replay(): the choices that lead there
};

/// Calls `body` again and again, each time with another interleaving of its threads and other stale values that
/// C++'s memory model lets its loads see, until all have been tried or one fails.
///
///     const auto result = coracle::testing::model_check([] {
///       my_event event;
///       coracle::testing::model_thread setter{[&] { event.set(); }};
///       event.wait();
///       setter.join();
///     });
///     if (!result.passed) std::puts(result.schedule.c_str());
///
/// It reports a failed model_expect() or precondition, two accesses to a plain<T> that nothing orders, its end among them,
/// a deadlock (and so a lost wake-up), a livelock, and memory that an execution leaves behind.
/// What threads share is made of testing::atomic<T> and testing::plain<T> (<coracle/testing/model/atomic.hpp>).
/// The program is compiled as a whole with CORACLE_MODEL, which swaps coracle's atomics and everything that waits for
/// those of the checker, and linked with coracle::model. `body` does the same each time but for the order of
/// its threads: no clock, no random numbers, no real threads.
/// Limits: a load never sees a store that has not been made yet (no load buffering); stores to one location, and seq_cst
/// accesses, are ordered as they are executed; a load sees one of the last 8; up to 5 threads beside the body. What a
/// failed execution holds is freed without its destructors. More, and how to read a schedule: docs/model-checking.md.
/// Source: P. Abdulla et al., "Optimal Dynamic Partial Order Reduction", POPL 2014; K. Coons et al., "Bounded
/// Partial-Order Reduction", OOPSLA 2013; B. Norris, B. Demsky, "CDSChecker", OOPSLA 2013; D. Vyukov, Relacy.
model_result model_check(const model_limits& limits, std::function<void()> body);
inline model_result model_check(std::function<void()> body) { return model_check({}, std::move(body)); }

namespace model {
/// What is left out because it could only repeat something: nothing; old values, and places between steps that no other
/// thread notices; orders, too.
enum class reduction : std::uint8_t { none, of_values, of_orders };
/// For the tests of the checker itself: model_check() does `of_orders`.
model_result check_with(reduction reduces, const model_limits& limits, std::function<void()> body);
}  // namespace model

/// Runs the one execution that `replay` of a result names, for a debugger.
model_result model_replay(const std::string& replay, std::function<void()> body,
                          const model_limits& limits = {});

/// What must be true inside a model_check().
void model_expect(bool condition, const char* what,
                  std::source_location where = std::source_location::current());

/// Notes an outcome of this execution, for the result. What `body` itself allocates, it frees.
void model_record(std::string outcome);

/// A thread of the program that is checked. Joined at the latest by its destructor.
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

/// A loop that waits for another thread calls this: goes on only after another thread has done something.
void model_yield();
}  // namespace coracle::testing
