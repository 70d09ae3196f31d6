// coracle/core/detail/turn_watch.hpp -- reports each turn and each post while a trace is recorded.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/base/builtin_atomic.hpp>
#include <coracle/core/transfer.hpp>

// An executor that takes a coroutine from its queue calls run_turn(), and one that queues a coroutine calls
// note_post() before that. Each costs a load of a word that does not change, and a branch, as long as nothing
// watches (ADR 45).
namespace coracle {
struct resumption;

namespace detail {
/// The functions that a trace installs. They are called on the thread that runs the turn, or posts.
struct turn_watch {
  /// `item` is about to be resumed. Returns what ends() gets.
  void* (*begins)(const resumption& item) noexcept;
  void (*ends)(void* turn) noexcept;
  /// `item` is about to be queued; `by_io` if a completed operation wakes it.
  void (*posted)(const resumption& item, bool by_io) noexcept;
};

#if !defined(CORACLE_MODEL)
//   [T1] load   relaxed  null, or a table that never changes
//   [T2] store  relaxed  the same
class turn_watch_word {
 public:
  constexpr explicit turn_watch_word(const turn_watch* watch) noexcept : word_(watch) {}
  [[nodiscard]] const turn_watch* get() const noexcept { return word_.load_relaxed(); /*T1*/ }
  /// Returns true unless get() is null.
  CORACLE_ALWAYS_INLINE() bool is_set() const noexcept {
#if CORACLE_COMPARES_BY_ASM()
    __asm__ goto("cmpq $0, %0\n\tjne %l1" : : "m"(word_) : "cc" : set);
    return false;
  set:
    return true;
#else
    return get() != nullptr;
#endif
  }
  void set(const turn_watch* watch) noexcept { word_.store_relaxed(watch); /*T2*/ }

 private:
  // Each turn of each thread reads it, so nothing that is written shares its cache line.
  alignas(64) builtin_atomic<const turn_watch*> word_;
};
CORACLE_VISIBLE() extern turn_watch_word watched_turns;
/// Null: nothing watches. A build with USDT probes then still comes to run_watched_turn(), where they are.
void watch_turns(const turn_watch* watch) noexcept;
#endif

/// Always false in a model: what watches is no part of the protocols.
CORACLE_ALWAYS_INLINE() bool are_turns_watched() noexcept {
#if defined(CORACLE_MODEL)
  return false;
#else
  return watched_turns.is_set();
#endif
}

CORACLE_COLD() void run_watched_turn(resumption& item);
CORACLE_COLD() void report_post(const resumption& item, bool by_io) noexcept;
}  // namespace detail
}  // namespace coracle
