// src/testing/model/trace.hpp -- what an execution did, for a reader.
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

/// The object of a call, as `state_` of `state_.load(order)`, where `where` is that of the order or of the call, read from
/// the source file. Empty: there is none to be read.
std::string object_at(const site& where);

/// What a thread has done: the `what`, the name of the atomic, the `rest`.
struct model_step {
  unsigned thread;
  std::string what;
  std::uint32_t atomic = 0;  ///< its number, by the order in which they are made; 0: none
  std::string rest{};
  bool is_call_of_it = true;    ///< as `state_.load(order)`
  const void* about = nullptr;  ///< a field or memory: shown only if that is what the failure is about
};

/// A line a step, a column a thread.
class model_trace {
 public:
  void add(model_step made, const site& where);
  /// A number, or as "address 2", the second to be seen: addresses themselves differ from run to run.
  std::string text_of(std::uint64_t value);
  /// The last line: how it failed.
  void end(unsigned thread, const std::string& what, const void* about);
  /// That of the atomic of that number.
  [[nodiscard]] std::string name_of(std::uint32_t atomic) const;
  /// What came long before the end is left out.
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
