// src/testing/model/trace.hpp -- a readable trace of an execution.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/testing/model/detail/memory.hpp>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace coracle::testing::model {
/// As "relaxed".
const char* name_of(std::memory_order order);
/// As "thread 1", or "body".
std::string name_of_thread(unsigned index);
/// As "async_mutex.hpp:120".
std::string text_of(const site& where);

/// Returns the object of a call, such as `state_` of `state_.load(order)`, read from the source file; `where`
/// is the location of the order or of the call. Returns an empty string if it cannot be read.
std::string object_at(const site& where);

/// A step of a thread: `what`, the name of the atomic, `rest`.
struct model_step {
  unsigned thread;
  std::string what;
  std::uint32_t atomic = 0;  ///< its number in order of creation; 0: none
  std::string rest{};
  bool is_call_of_it = true;    ///< as `state_.load(order)`
  const void* about = nullptr;  ///< a field or memory: shown only if the failure concerns it
};

/// One line per step, one column per thread.
class model_trace {
 public:
  void add(model_step made, const site& where);
  /// Returns a number, or for example "address 2" for the second address seen, because addresses differ from
  /// run to run.
  std::string text_of(std::uint64_t value);
  /// Adds the last line: the failure.
  void end(unsigned thread, const std::string& what, const void* about);
  /// Returns the name of the atomic with that number.
  [[nodiscard]] std::string name_of(std::uint32_t atomic) const;
  /// Omits what came long before the end.
  [[nodiscard]] std::string text(unsigned threads) const;
  void clear() {
    lines_.clear();
    addresses_.clear();
    end_.clear();
  }

 private:
  static constexpr std::size_t most_lines = 200;
  struct line {
    model_step what;
    site where;
  };
  [[nodiscard]] std::map<std::uint32_t, std::string> names() const;

  std::vector<line> lines_;
  std::map<std::uint64_t, std::size_t> addresses_;
  std::string end_;
  const void* about_ = nullptr;
};
}  // namespace coracle::testing::model
