// coracle/core/detail/choice.hpp -- several waits of one coroutine, exactly one of which takes effect.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/base/config.hpp>
#include <coracle/base/park.hpp>
#include <coracle/base/tagged_pointer.hpp>
#include <cstdint>

namespace coracle::detail {
class stop_state;

/// Shared by the branches of a when_any(): the first branch to claim it takes effect, the others never do. A
/// coroutine's promise passes it to the operation that it awaits: see offers_choice in
/// core/customisation.hpp.
//
// A claim is made under the lock of the queue in which the branch waits or arrives. If two branches meet that
// also wait in other queues, a select that sends and a select that receives, both choices must be claimed, or
// neither. The arriving one makes its own choice `busy` and then claims the other. hold() does the same but
// claims no other choice:
//   open -> taken          claimed
//   open -> busy -> taken  claimed, with the other choice, or with something that the lock does not guard
//   open -> busy -> open   the other was gone or has to go first, or there was nothing to give
// A thread that wants to claim a busy choice waits, while it holds a lock and perhaps a busy choice of its
// own. Of two coroutines that are busy with each other, the one at the greater address opens its own choice
// and starts again, so there is no cycle of waits; and no thread takes a lock while it holds a busy choice.
// Each wait is therefore for a thread that needs only a few more instructions.
//   [K] every access   relaxed   only decides; the lock and the wake-up order the data passed on
class choice {
 public:
  choice() noexcept = default;
  choice(const choice&) = delete;
  choice& operator=(const choice&) = delete;

  [[nodiscard]] bool is_claimed() const noexcept { return state_.load(memory_order_relaxed) == taken; } /*K*/
  /// Returns true if the caller's branch is the chosen one.
  [[nodiscard]] bool claim() noexcept { return take(taken); }

  /// claim() in two steps, for a caller that must first find out whether the branch can be carried out:
  /// hold(), and if that returns true, settle() a few instructions later, without a wait in between.
  [[nodiscard]] bool hold() noexcept { return take(busy); }
  void settle(bool carried_out) noexcept {
    state_.store(carried_out ? taken : open, memory_order_relaxed); /*K*/
  }

  /// The stop state of the branches, all of which must inherit the same; null if there is none.
  [[nodiscard]] stop_state* stops() const noexcept { return stops_; }
  void set_stops(stop_state& inherited) noexcept {
    if (stops_ != &inherited) stops_ = &inherited;
  }

  enum class meeting : std::uint8_t { both, mine_is_lost, other_is_lost };
  /// Claims both or neither; null stands for a choice that no other thread can claim. Requires: the caller is
  /// the coroutine whose branches share `mine`. Two branches of one coroutine do not meet.
  [[nodiscard]] static meeting claim_both(choice* mine, choice* other) noexcept {
    if (!other) return !mine || mine->claim() ? meeting::both : meeting::mine_is_lost;
    if (!mine) return other->claim() ? meeting::both : meeting::other_is_lost;
    return mine == other ? meeting::other_is_lost : claim_two(*mine, *other);
  }

 private:
  enum state : std::uint32_t { open, busy, taken };

  static bool stands_before(const choice& one, const choice& other) noexcept {
    return address_of(&one) < address_of(&other);
  }
  static meeting claim_two(choice& mine, choice& other) noexcept {
    for (unsigned tries = 0;; ++tries) {
      if (!mine.hold()) return meeting::mine_is_lost;
      state seen = other.open_to(taken);
      for (; seen == busy && stands_before(mine, other); ++tries) {
        wait_a_moment(tries);
        seen = other.open_to(taken);
      }
      mine.settle(seen == open);
      if (seen != busy) return seen == open ? meeting::both : meeting::other_is_lost;
      wait_a_moment(tries);
    }
  }
  /// Returns true if it was open, and is now `next`.
  bool take(state next) noexcept {
    const state seen = open_to(next);
    return seen == busy ? take_later(next) : seen == open;
  }
  CORACLE_SAVES_REGISTERS() bool take_later(state next) noexcept {
    for (unsigned tries = 0;; ++tries) {
      wait_a_moment(tries);
      const state seen = open_to(next);
      if (seen != busy) return seen == open;
    }
  }
  /// Returns the state that it found; if that is `open`, the state is now `next`.
  state open_to(state next) noexcept {
    state seen = open;
    state_.compare_exchange_strong(seen, next, memory_order_relaxed); /*K*/
    return seen;
  }

  atomic<state> state_{open};
  plain<stop_state*> stops_ = nullptr;  // written before the first branch is registered
};
}  // namespace coracle::detail
