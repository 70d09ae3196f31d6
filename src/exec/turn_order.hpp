// src/exec/turn_order.hpp -- which kind of work a pool's thread takes next where several wait, and for how long.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/base/atomic.hpp>
#include <cstdint>

#if defined(__x86_64__)
#include <x86intrin.h>
#else
#include <chrono>
#endif

namespace coracle::detail {
/// Ticks since some moment: on x86-64 of the time stamp counter, 2 to 5 a nanosecond; elsewhere nanoseconds.
inline std::uint64_t turn_clock() noexcept {
#if defined(CORACLE_MODEL)
  return 0;
#elif defined(__x86_64__)
  return __rdtsc();
#else
  return static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
#endif
}

/// Decides the turns of one thread. A kind of work that waits beside others gets its turn within a slice of each of
/// those, or after one turn of theirs that lasts longer.
class turn_order {
 public:
  /// In the order in which they get their turns.
  enum class kind : std::uint8_t {
    stack,   ///< what the thread's own coroutines have forked or scheduled, newest first
    queue,   ///< what has been woken on the thread, or has yielded there, oldest first
    normal,  ///< what comes from outside, one at a time
    low,     ///< one turn where nothing else waits, and one in 32 rounds
    high     ///< before all others, but for one turn in 20
  };
  /// About 20 us: how long `stack` and `queue` keep the thread while others wait. In a model, one turn.
  static constexpr std::uint64_t slice = is_modelled ? 0 : 1u << 16;
  static constexpr std::uint8_t most_high_in_a_row = 19, rounds_for_low = 32;

  struct sight {
    std::uint64_t now;  ///< by turn_clock()
    bool high_waits;    ///< these two may be wrong
    bool low_waits;
    kind ended;      ///< what the turn was that has just ended
    bool continues;  ///< the turn that has just ended has left something on the stack: it goes on with that
  };
  /// What `take(kind)` gives for the kind whose turn it is, or for the next that has anything; empty: none of them has,
  /// besides perhaps `low`.
  template <class Take>
  auto next(sight seen, Take take) noexcept {
    const std::uint64_t now = seen.now;
    if (seen.high_waits && high_in_a_row_ != most_high_in_a_row) {
      ++high_in_a_row_;
      if (const auto found = take(kind::high)) return found;
    }
    high_in_a_row_ = 0;
    if (now < slice_ends_) {
      if (seen.continues) {
        if (const auto found = take(kind::stack)) return found;
      }
      if (const auto found = take(serves_)) return found;
    }
    // While the thread had only one kind of its own it took its turns without this order.
    if (seen.ended == kind::queue || (seen.ended == kind::stack && serves_ == kind::normal))
      serves_ = seen.ended;
    if (seen.low_waits && ++rounds_ == rounds_for_low) {
      rounds_ = 0;
      if (const auto found = take(kind::low)) return found;
    }
    for (unsigned i = 0; i != in_turn; ++i) {
      serves_ = static_cast<kind>((static_cast<unsigned>(serves_) + 1) % in_turn);
      if (const auto found = take(serves_)) {
        slice_ends_ = serves_ == kind::normal ? now : now + slice;
        return found;
      }
    }
    return take(kind::high);
  }

 private:
  static constexpr unsigned in_turn = 3;
  kind serves_ = kind::stack;
  std::uint8_t high_in_a_row_ = 0;
  std::uint8_t rounds_ = 0;
  std::uint64_t slice_ends_ = 0;
};

/// The oldest entry of a stack would wait until all newer ones have ended. This says when it goes to the queue instead: one
/// in some 10 ms, while the thread takes turns from the stack.
class stack_aging {
 public:
  static constexpr unsigned turns_between_looks = 256;  // the clock is not read in each
  static constexpr std::uint64_t interval = 512 * turn_order::slice;

  /// Counts a turn from the stack. Returns true if is_due() is to be asked.
  [[nodiscard]] bool count_turn() noexcept { return --turns_left_ == 0; }
  [[nodiscard]] bool is_due(std::uint64_t now) noexcept {
    turns_left_ = turns_between_looks;
    if (now - last_ < interval) return false;
    last_ = now;
    return true;
  }

 private:
  unsigned turns_left_ = turns_between_looks;
  std::uint64_t last_ = 0;
};
}  // namespace coracle::detail
