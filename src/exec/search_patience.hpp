// src/exec/search_patience.hpp -- how long a thread without work looks for some before it sleeps.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/base/atomic.hpp>

namespace coracle::detail {
/// Looking costs processor time, and sleeping costs whoever has to wake the thread. So a thread whose searches have found
/// something goes on looking for some 50 us, and one whose searches were in vain for a few only. A long search now and then
/// notices when work comes more often.
class search_patience {
 public:
  static constexpr unsigned most = is_modelled ? 1 : 32, between_long_ones = 64;

  /// Of the search that begins: each is followed by a watch.
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
