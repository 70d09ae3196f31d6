// src/exec/search_patience.hpp -- how long an idle thread searches before it sleeps.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/base/atomic.hpp>

namespace coracle::detail {
/// Searching costs processor time; sleeping costs the thread that performs the wake-up. So a thread whose
/// searches have succeeded searches for about 50 us, and one whose searches have failed for only a few. An
/// occasional long search detects that work has become more frequent.
class search_patience {
 public:
  static constexpr unsigned max_rounds = is_modelled ? 1 : 32, searches_per_long_one = 64;

  /// Returns the number of rounds of the next search; in each, the thread checks all queues and watches the
  /// letterbox.
  [[nodiscard]] unsigned rounds() const noexcept {
    return failures_ % searches_per_long_one == 0 ? max_rounds : rounds_;
  }
  void failed() noexcept {
    ++failures_;
    if (rounds_ != 1) rounds_ /= 2;
  }
  void succeeded() noexcept { rounds_ = max_rounds; }

 private:
  unsigned rounds_ = max_rounds;
  unsigned failures_ = 1;
};
}  // namespace coracle::detail
