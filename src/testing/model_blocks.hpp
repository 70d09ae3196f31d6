// src/testing/model_blocks.hpp -- what an execution has allocated and not freed.
// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>

namespace coracle::testing::model {
/// Replaces the global operator new and delete. What the threads of an execution allocate is listed: what is left at its
/// end is a leak, and what an execution holds that is given up half-way is freed without running a destructor.
class model_blocks {
 public:
  /// Blocks that are made from here on belong to the execution.
  void begin_execution() noexcept;
  /// How many are left. `give_up`: frees them.
  std::size_t end_execution(bool give_up) noexcept;
};

/// While it lives the checker works for itself: what it allocates is no part of the execution.
class model_own_work {
 public:
  model_own_work() noexcept;
  model_own_work(const model_own_work&) = delete;
  model_own_work& operator=(const model_own_work&) = delete;
  ~model_own_work();

 private:
  bool outer_;
};
}  // namespace coracle::testing::model
