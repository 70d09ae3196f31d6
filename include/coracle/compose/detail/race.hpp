// coracle/compose/detail/race.hpp -- several children, one of which wins.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/base/plain.hpp>
#include <coracle/core/detail/choice.hpp>

namespace coracle::detail {
/// Decides which child wins. An operation that is itself a child shares the choice and claims it when it is
/// carried out, so that at most one of several takes effect.
class race {
 public:
  race() noexcept = default;
  race(const race&) = delete;
  race& operator=(const race&) = delete;

  [[nodiscard]] choice& shared_choice() noexcept { return choice_; }
  [[nodiscard]] bool is_decided() const noexcept { return choice_.is_claimed(); }
  /// Called at the end of `child`. Returns true if it wins. `has_claimed`: it is an operation that has
  /// already claimed the choice.
  [[nodiscard]] bool try_to_win(const void* child, bool has_claimed) noexcept {
    if (!has_claimed && !choice_.claim()) return false;
    winner_ = child;
    return true;
  }
  /// Returns the winner, or null if there is none. Requires: all have ended.
  [[nodiscard]] const void* winner() const noexcept { return winner_; }

 private:
  choice choice_;
  plain<const void*> winner_ = nullptr;  // belongs to the child that claims the choice
};
}  // namespace coracle::detail
