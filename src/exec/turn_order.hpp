// src/exec/turn_order.hpp -- the kind of work that a pool's thread runs next.
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
/// Returns ticks since an arbitrary time: of the time-stamp counter on x86-64, 2 to 5 per nanosecond;
/// elsewhere nanoseconds.
inline std::uint64_t turn_clock() noexcept {
#if defined(CORACLE_MODEL)
  return 0;
#elif defined(__x86_64__)
  return __rdtsc();
#else
  return static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
#endif
}

/// Decides the turns of one thread. A waiting kind of work gets its turn after at most one slice of each
/// other kind, or one turn of theirs that lasts longer.
class turn_order {
 public:
  /// In the order in which they are served.
  enum class kind : std::uint8_t {
    stack,   ///< forked or scheduled by the thread's own coroutines, newest first
    queue,   ///< woken on the thread, or yielded there, oldest first
    normal,  ///< posted from outside, one at a time
    low,     ///< a turn if nothing else waits, and one in 32 rounds
    high     ///< before all others, except for one turn in 20
  };
  /// About 20 us: how long `stack` and `queue` keep the thread while other kinds wait. In a model, one turn.
  static constexpr std::uint64_t slice = is_modelled ? 0 : 1u << 16;
  static constexpr std::uint8_t max_high_in_a_row = 19, rounds_for_low = 32;

  struct observation {
    std::uint64_t now;  ///< by turn_clock()
    bool high_waits;    ///< a hint, like low_waits
    bool low_waits;
    kind ended;      ///< the kind of the turn that has just ended
    bool continues;  ///< that turn has left an entry on the stack, which runs next
  };
  /// Returns the result of `take(kind)` for the kind whose turn it is, or for the next that has work; empty
  /// if none has, except perhaps `low`.
  template <class Take>
  auto next(observation seen, Take take) noexcept {
    const std::uint64_t now = seen.now;
    if (seen.high_waits && high_in_a_row_ != max_high_in_a_row) {
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
    // While the thread had only one kind of its own, its turns bypassed this order.
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

/// The oldest entry of a stack would wait until all newer ones have ended. This class decides when it moves
/// to the queue instead: one entry in about 10 ms, while the thread takes turns from the stack.
class stack_aging {
 public:
  static constexpr unsigned turns_between_checks = 256;  // saves reading the clock in each turn
  static constexpr std::uint64_t interval = 512 * turn_order::slice;

  /// Counts a turn from the stack. Returns true if the caller must call is_due().
  [[nodiscard]] bool count_turn() noexcept { return --turns_left_ == 0; }
  [[nodiscard]] bool is_due(std::uint64_t now) noexcept {
    turns_left_ = turns_between_checks;
    if (now - last_ < interval) return false;
    last_ = now;
    return true;
  }

 private:
  unsigned turns_left_ = turns_between_checks;
  std::uint64_t last_ = 0;
};
}  // namespace coracle::detail
