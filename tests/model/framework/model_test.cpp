// tests/model/framework/model_test.cpp -- the framework of a model check: its cases, its output, its result.
// SPDX-License-Identifier: MIT
#include "model_test.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace coracle_test {
namespace {
void report(const model_result& result) {
  constexpr std::size_t most = 12'000;
  std::printf("%s\n%s\nreplay: %s\n", result.failure.c_str(), result.schedule.substr(0, most).c_str(),
              result.replay.substr(0, 400).c_str());
}
}  // namespace

model_test::model_test(int argc, char** argv) {
  if (argc > 2 && std::strcmp(argv[1], "--mutants") == 0) {
    breaks_code_ = true;
    budget_ = static_cast<std::uint64_t>(std::atoll(argv[2]));
    if (argc > 3) left_out_ = argv[3];
  } else if (argc > 1) {
    more_ = static_cast<unsigned>(std::atoi(argv[1]));
  }
}

void model_test::check(const char* name, unsigned preemptions, std::function<void()> body) {
  const model_limits limits = limits_for(preemptions);
  if (breaks_code_) return to_break_.push_back({name, limits, std::move(body)});
  run(name, limits, std::move(body));
}

void model_test::outcomes(const char* name, const std::set<std::string>& wanted, std::function<void()> body) {
  const model_limits limits = limits_for(all);
  if (breaks_code_) return to_break_.push_back({name, limits, std::move(body), wanted});
  const model_result result = run(name, limits, std::move(body));
  if (result.outcomes == wanted) return;
  ++failed_;
  std::printf("  FAILED: the outcomes are");
  for (const std::string& each : result.outcomes) std::printf(" %s", each.c_str());
  std::printf("; wanted");
  for (const std::string& each : wanted) std::printf(" %s", each.c_str());
  std::printf("\n");
}

void model_test::finds(const char* name, const char* what, unsigned preemptions, std::function<void()> body) {
  if (breaks_code_) return;
  const model_result result = coracle::testing::model_check(limits_for(preemptions), std::move(body));
  const bool found = result.failure.find(what) != std::string::npos;
  std::printf("%-60s finds \"%s\" after %llu executions: %s\n", name, what,
              static_cast<unsigned long long>(result.executions), found ? "passed" : "FAILED");
  if (!found) report(result);
  executions_ += result.executions;
  failed_ += !found;
  ++cases_;
}

int model_test::finish() {
  if (breaks_code_) return run_mutants(std::move(to_break_), budget_, left_out_);
  std::printf("%d cases, %llu executions, %d failed\n", cases_, static_cast<unsigned long long>(executions_),
              failed_);
  return failed_ == 0 ? 0 : 1;
}

model_limits model_test::limits_for(unsigned preemptions) const {
  model_limits limits;
  limits.preemptions = preemptions == all ? all : preemptions + more_;
  limits.executions = 100'000'000;
  return limits;
}

model_result model_test::run(const char* name, const model_limits& limits, std::function<void()> body) {
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
}  // namespace coracle_test
