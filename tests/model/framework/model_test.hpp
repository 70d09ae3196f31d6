// tests/model/framework/model_test.hpp -- the framework of a model check: its cases, its output, its result.
// SPDX-License-Identifier: MIT
#pragma once
#include <array>
#include <coracle/testing/model/model_check.hpp>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "model_mutants.hpp"

namespace coracle_test {
using coracle::testing::model_expect;
using coracle::testing::model_limits;
using coracle::testing::model_result;
using coracle::testing::model_thread;

/// Runs each(0) here and each(1), each(2) ... on threads of their own, and joins them.
template <class Each>
void together(unsigned threads, Each each) {
  std::array<std::optional<model_thread>, 5> others;
  for (unsigned i = 1; i != threads; ++i) others[i - 1].emplace([&each, i] { each(i); });
  each(0U);
}

/// A program of model checks: `program [NUMBER]`, which is added to each case's bound. Prints one line per
/// case; fails if any case fails.
/// `program --mutants EXECUTIONS [FILE]`: instead runs the cases on mutants of the shipped code, except for
/// those that the file names (model_mutants.hpp). The cases then run in finish(): what a body captures by
/// reference must live until then.
///
///     coracle_test::model_test run(argc, argv);
///     run.check("event: set against await", 3, [] { ... });
///     return run.finish();
class model_test {
 public:
  static constexpr unsigned all = ~0U;  ///< no bound on preemptions

  model_test(int argc, char** argv);
  model_test(const model_test&) = delete;
  model_test& operator=(const model_test&) = delete;

  /// Every execution with at most the given number of preemptions must pass, and all are run.
  void check(const char* name, unsigned preemptions, std::function<void()> body);
  /// As check(), and the set of the body's model_record()s must be exactly the given one.
  void outcomes(const char* name, const std::set<std::string>& wanted, std::function<void()> body);
  /// The checker must find an error, and report `what`.
  void finds(const char* name, const char* what, unsigned preemptions, std::function<void()> body);
  /// Returns the exit status for main().
  [[nodiscard]] int finish();

 private:
  [[nodiscard]] model_limits limits_for(unsigned preemptions) const;
  model_result run(const char* name, const model_limits& limits, std::function<void()> body);

  bool breaks_code_ = false;  ///< --mutants
  std::uint64_t budget_ = 0;
  std::string left_out_;
  std::vector<model_case> to_break_;
  unsigned more_ = 0;
  int cases_ = 0, failed_ = 0;
  std::uint64_t executions_ = 0;
};
}  // namespace coracle_test
