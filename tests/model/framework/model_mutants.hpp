// tests/model/framework/model_mutants.hpp -- breaks the shipped code in one place after another.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/testing/model/model_check.hpp>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace coracle_test {
/// A check that a program has registered.
struct model_case {
  std::string name;
  coracle::testing::model_limits limits;
  std::function<void()> body;
  std::optional<std::set<std::string>> outcomes{};  ///< exactly these; none: whatever they are
};

/// Runs every case once unchanged and notes the places in shipped code that it reaches. Then runs each mutant
/// of these places, in a process of its own, against the cases that reach it, the cheapest first, until one
/// fails. Prints a line for each: "killed" or "survived", the description of the mutant, the case that failed
/// and its message. tools/mutants.py and tools/statement_mutants.py, which know the other programs, draw the
/// conclusions.
/// `budget`: executions of one case, unchanged and with each mutant. `left_out`: a file that names the
/// mutants to skip, one per line; may be empty. Returns 1 if a case fails as it is, otherwise 0.
int run_mutants(std::vector<model_case> cases, std::uint64_t budget, const std::string& left_out);
}  // namespace coracle_test
