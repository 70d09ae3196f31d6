// tests/model/model_test.hpp -- the framework of a model check: its cases, its output, its result.
// SPDX-License-Identifier: MIT
#pragma once
#include <array>
#include <coracle/testing/model/model_check.hpp>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <optional>
#include <set>
#include <string>

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

  model_test(int argc, char** argv) {
    if (argc > 2 && std::strcmp(argv[1], "--mutants") == 0) {
      mutants_.emplace(static_cast<std::uint64_t>(std::atoll(argv[2])), argc > 3 ? argv[3] : "");
    } else if (argc > 1) {
      more_ = static_cast<unsigned>(std::atoi(argv[1]));
    }
  }
  model_test(const model_test&) = delete;
  model_test& operator=(const model_test&) = delete;

  /// Every execution with at most the given number of preemptions must pass, and all are run.
  model_result check(const char* name, unsigned preemptions, std::function<void()> body) {
    const model_limits limits = limits_for(preemptions);
    if (mutants_) {
      mutants_->add({name, limits, std::move(body)});
      return {};
    }
    model_result result = coracle::testing::model_check(limits, std::move(body));
    const std::string bound = limits.preemptions == all ? "all" : std::to_string(limits.preemptions);
    std::printf("%-60s preemptions %-3s  executions %10llu  %s\n", name, bound.c_str(),
                static_cast<unsigned long long>(result.executions),
                !result.passed    ? "FAILED"
                : result.complete ? "passed"
                                  : "FAILED: not complete");
    std::fflush(stdout);
    if (!result.passed) report(result);
    executions_ += result.executions;
    failed_ += !result.passed || !result.complete;
    ++cases_;
    return result;
  }
  /// As check(), and the set of the body's model_record()s must be exactly the given one.
  void outcomes(const char* name, const std::set<std::string>& wanted, std::function<void()> body) {
    if (mutants_) return mutants_->add({name, limits_for(all), std::move(body), wanted});
    const model_result result = check(name, all, std::move(body));
    if (result.outcomes == wanted) return;
    ++failed_;
    std::printf("  FAILED: the outcomes are");
    for (const std::string& each : result.outcomes) std::printf(" %s", each.c_str());
    std::printf("; wanted");
    for (const std::string& each : wanted) std::printf(" %s", each.c_str());
    std::printf("\n");
  }
  /// The checker must find an error, and report `what`.
  void finds(const char* name, const char* what, unsigned preemptions, std::function<void()> body) {
    if (mutants_) return;
    const model_limits limits = limits_for(preemptions);
    const model_result result = coracle::testing::model_check(limits, std::move(body));
    const bool found = result.failure.find(what) != std::string::npos;
    std::printf("%-60s finds \"%s\" after %llu executions: %s\n", name, what,
                static_cast<unsigned long long>(result.executions), found ? "passed" : "FAILED");
    if (!found) report(result);
    executions_ += result.executions;
    failed_ += !found;
    ++cases_;
  }
  /// Returns the exit status for main().
  [[nodiscard]] int finish() {
    if (mutants_) return mutants_->run();
    std::printf("%d cases, %llu executions, %d failed\n", cases_,
                static_cast<unsigned long long>(executions_), failed_);
    return failed_ == 0 ? 0 : 1;
  }

 private:
  [[nodiscard]] model_limits limits_for(unsigned preemptions) const {
    model_limits limits;
    limits.preemptions = preemptions == all ? all : preemptions + more_;
    limits.executions = 100'000'000;
    return limits;
  }
  static void report(const model_result& result) {
    constexpr std::size_t most = 12'000;
    std::printf("%s\n%s\nreplay: %s\n", result.failure.c_str(), result.schedule.substr(0, most).c_str(),
                result.replay.substr(0, 400).c_str());
  }

  std::optional<model_mutants<shipped_mutants>> mutants_;
  unsigned more_ = 0;
  int cases_ = 0, failed_ = 0;
  std::uint64_t executions_ = 0;
};
}  // namespace coracle_test
