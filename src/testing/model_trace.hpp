// src/testing/model_trace.hpp -- what an execution did, for a reader.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/testing/model_memory.hpp>
#include <string>
#include <vector>

namespace coracle::testing::model {
/// As "relaxed".
const char* name_of(std::memory_order order);
/// A number, or what else can be said of it: addresses differ from run to run.
std::string text_of(std::uint64_t value);
/// As "async_mutex.hpp:120".
std::string text_of(const site& where);

/// A line a step, a column a thread.
class model_trace {
 public:
  void add(unsigned thread, const std::string& what, const site& where);
  /// The last line: how it failed.
  void end(unsigned thread, const std::string& what);
  /// What came long before the end is left out.
  [[nodiscard]] std::string text(unsigned threads) const;
  void clear() {
    lines_.clear();
    end_.clear();
  }

 private:
  static constexpr std::size_t most_lines = 200;
  struct line {
    unsigned thread;
    std::string what, where;
  };
  std::vector<line> lines_;
  std::string end_;
};
}  // namespace coracle::testing::model
