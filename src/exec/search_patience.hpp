// src/exec/search_patience.hpp -- how long an idle thread searches before it sleeps.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/base/atomic.hpp>

namespace coracle::detail {
/// Searching costs processor time; sleeping costs the thread that performs the wake-up. So a thread whose
/// searches have succeeded searches for some 50 us, and one whose searches have failed for only a few. An
/// occasional long search detects that work has become more frequent.
class search_patience {
 public:
  static constexpr unsigned most = is_modelled ? 1 : 32, between_long_ones = 64;

  /// Returns the number of looks of the search that begins; each is followed by a watch of the letterbox.
  [[nodiscard]] unsigned looks() const noexcept { return in_vain_ % between_long_ones == 0 ? most : looks_; }
  void was_in_vain() noexcept {
    ++in_vain_;
    if (looks_ != 1) looks_ /= 2;
  }
  void paid_off() noexcept { looks_ = most; }

 private:
  unsigned looks_ = most;
  unsigned in_vain_ = 1;
};
}  // namespace coracle::detail
