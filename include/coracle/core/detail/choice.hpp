// coracle/core/detail/choice.hpp -- several waits of one coroutine, exactly one of which takes effect.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/base/config.hpp>
#include <coracle/base/park.hpp>
#include <coracle/base/tagged_pointer.hpp>
#include <cstdint>

namespace coracle::detail {
class stop_state;

/// What the branches of a when_any() have in common: the first that claims it is carried out, the others
/// never are. A coroutine's promise gives it to the operation that it awaits: see offers_choice, in core/customisation.hpp.
//
// A claim is made under the lock of the queue in which the branch waits, or arrives. Where two meet that both
// wait in other queues too, a select that sends and a select that receives, both choices must fall, or
// neither. The one that arrives makes its own `busy` and then claims the other's. hold() does so too, and
// then claims no other:
//   open -> taken          claimed
//   open -> busy -> taken  claimed, together with that of the other, or with what is not under the lock
//   open -> busy -> open   the other was gone, or has to go first; or there was nothing to give
// Who wants to claim a busy one waits, holding a lock and perhaps a busy choice of its own. Of two coroutines
// that are busy with each other the one with the greater address opens its own and begins anew, so no cycle
// waits; and while busy nobody takes a lock. So each wait is for somebody who is a few instructions from its
// end.
//   [K] every access   relaxed   it only decides; the lock and the wake-up order what is handed over
class choice {
 public:
  choice() noexcept = default;
  choice(const choice&) = delete;
  choice& operator=(const choice&) = delete;

  [[nodiscard]] bool is_claimed() const noexcept { return state_.load(memory_order_relaxed) == taken; } /*K*/
  /// Returns true if the caller's branch is the chosen one.
  [[nodiscard]] bool claim() noexcept { return take(taken); }

  /// As claim() in two steps, for who has to find out whether it can carry the branch out: hold(), and if
  /// that is true, settle() a few instructions later, without a wait in between.
  [[nodiscard]] bool hold() noexcept { return take(busy); }
  void settle(bool carried_out) noexcept {
    state_.store(carried_out ? taken : open, memory_order_relaxed); /*K*/
  }

  /// What stops the branches, all of which must inherit the same; null: nothing.
  [[nodiscard]] stop_state* stops() const noexcept { return stops_; }
  void set_stops(stop_state& inherited) noexcept {
    if (stops_ != &inherited) stops_ = &inherited;
  }

  enum class meeting : std::uint8_t { both, mine_is_lost, other_is_lost };
  /// Claims both or none; null stands for one that nobody else can claim. Requires: the caller is the
  /// coroutine whose branches share `mine`. Two branches of one coroutine do not meet.
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
  /// The state that it found; `open`: it is `next` now.
  state open_to(state next) noexcept {
    state seen = open;
    state_.compare_exchange_strong(seen, next, memory_order_relaxed); /*K*/
    return seen;
  }

  atomic<state> state_{open};
  plain<stop_state*> stops_ = nullptr;  // written before the first branch is registered
};
}  // namespace coracle::detail
