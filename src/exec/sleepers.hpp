// src/exec/sleepers.hpp -- how a pool's threads go to sleep without missing work, and who wakes them.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/base/asymmetric_fence.hpp>
#include <coracle/base/atomic.hpp>
#include <coracle/base/park.hpp>
#include <coracle/core/frame_memory.hpp>
#include <cstdint>

namespace coracle::detail {
/// Knows of each thread of a pool whether it runs something, searches the queues for work, or sleeps.
//
// counts_ holds how many sleep and nobody has claimed yet (15 bits), whether one of them only naps (a bit), and how many
// search (16 bits). permits_ is a semaphore: whoever claims a sleeper (one less sleeping, one more searching) adds a
// permit, and each sleeper consumes one.
//   - Who queues work passes a light fence, and then reads counts_ (S1); if nobody searches and somebody sleeps, it
//     claims one (S2).
//   - Who searches in vain becomes a sleeper (S3), passes a heavy fence, and then looks at all queues once more (S4).
//     So of a poster and a worker that is about to sleep at least one sees the other.
//   - The last who finds something while searching claims a sleeper in its place (S2), because those who queued work
//     meanwhile relied on it; but for where all others sleep, and it finds nothing more.
//   - A permit is for whoever takes it. So one who begins to nap behind stop() may take that of another, who then sleeps
//     on and is not claimed any more. Who ends wakes all who sleep.
//   - One at most naps: it sleeps for a while only, and then searches again. So who may leave its entry to a napper relies
//     on it as on one who searches, and it needs no heavy fence before. In the same word as the rest, so that who sees
//     a later sleeper does not take a nap that is over for one.
//   [S1] read counts             relaxed  after a light fence; in wake_all() a guess, S2 decides
//   [S2] claim sleepers          relaxed  only counts; P1 follows
//   [S3] change one's own part   relaxed  only counts; a sleeper's heavy fence follows
//   [S4] look at all             relaxed  after the heavy fence
//   [S5] -> stopping             relaxed  a light fence follows, then S2
//   [P1] permits + n             release  what the sleeper wakes for          pairs with P2
//   [P2] permits - 1             acquire  find it at the first look           pairs with P1
class sleepers {
 public:
  static constexpr std::uint32_t one_sleeping = 1, napping = 1u << 15, one_searching = 1u << 16;
  static constexpr std::uint32_t most_threads = napping - 1;

  /// For a fork_queue, which calls for help where somebody sleeps and nobody searches.
  [[nodiscard]] const atomic<std::uint32_t>& counts() const noexcept { return counts_; }

  // ---- who has queued something ----

  /// Somebody sleeps, and nobody searches.
  [[nodiscard]] bool should_wake_one() const noexcept {
    fence_.light();
    return should_wake_one(counts_.load(memory_order_relaxed)); /*S1*/
  }
  /// The same. Requires: light fences take no instruction.
  [[nodiscard]] bool should_wake_one_at_once() const noexcept {
    asymmetric_fence::light_where_free();
    return should_wake_one(counts_.load(memory_order_relaxed)); /*S1*/
  }
  /// Wakes somebody, if that is needed; not where one naps, if `may_wait`.
  void wake_one(bool may_wait = false) noexcept {
    if (atomic<std::uint32_t>* const claimed = claim(may_wait)) unpark(claimed, 1);
  }
  /// As wake_one(), but leaves it to the caller to unpark the one who has got a permit, there; this may be gone then. Null:
  /// nobody.
  [[nodiscard]] atomic<std::uint32_t>* claim(bool may_wait = false) noexcept {
    fence_.light();
    std::uint32_t counts = counts_.load(memory_order_relaxed); /*S1*/
    do {
      if (!should_wake_one(counts) || (may_wait && (counts & napping) != 0)) return nullptr;
    } while (!counts_.compare_exchange_weak(counts, counts - one_sleeping + one_searching,
                                            memory_order_relaxed)); /*S2*/
    permits_.fetch_add(1, memory_order_release); /*P1*/
    return &permits_;
  }
  /// From now on who finds nothing ends. Wakes all.
  void stop() noexcept {
    stopping_.store(true, memory_order_relaxed); /*S5*/
    fence_.light();
    wake_all(0);
  }

  // ---- who has nothing to do ----

  void begin_search() noexcept { counts_.fetch_add(one_searching, memory_order_relaxed); } /*S3*/
  /// It has found something. Where all the `others` sleep, only those can have relied on it who are no threads of the pool;
  /// they looked at the counts while they held a lock. `is_needed()` takes that lock, and sees what they queued.
  template <class Look>
  void end_search(std::uint32_t others, Look is_needed) noexcept {
    const std::uint32_t counts = counts_.fetch_sub(one_searching, memory_order_relaxed); /*S3*/
    if (searching_in(counts) != 1 || sleeping_in(counts) == 0) return;
    if (sleeping_in(counts) != others || is_needed()) wake_one();
  }
  [[nodiscard]] bool are_to_stop() const noexcept { return stopping_.load(memory_order_relaxed); } /*S4*/
  /// Sleeps until there may be work. The caller searches, before and after. False: it is to stop, and nothing is
  /// queued. `work_is_queued()` looks at all queues.
  template <class Look>
  [[nodiscard]] bool sleep(Look work_is_queued) noexcept {
    counts_.fetch_add(one_sleeping - one_searching, memory_order_relaxed); /*S3*/
    fence_.heavy();
    const bool stopping = are_to_stop();
    const bool queued = work_is_queued();
    if (stopping || queued) {
      if (wake_up_unclaimed()) {
        if (queued) return true;
        wake_all(one_searching);
        return false;
      }
      // Somebody has claimed every sleeper, this one too: its permit is there or about to be.
    }
    wait_for_permit();
    return true;
  }
  /// Sleeps for a while, less if it is woken. The caller searches, before and after. False: somebody else naps.
  [[nodiscard]] bool nap() noexcept {
    constexpr timespec length{0, 100'000};
    std::uint32_t counts = counts_.load(memory_order_relaxed);
    do {
      if ((counts & napping) != 0) return false;
    } while (!counts_.compare_exchange_weak(counts, counts + napping + one_sleeping - one_searching,
                                            memory_order_relaxed)); /*S3*/
    const bool woken = park(permits_, 0, &length);
    const bool claimed = take_permit();
    if (!claimed && wake_up_unclaimed(napping)) {
      // Perhaps there is a permit for another who sleeps, and this one was unparked in its place.
      if (woken) unpark(&permits_, 1);
      return true;
    }
    counts_.fetch_sub(napping, memory_order_relaxed); /*S3*/
    if (!claimed) wait_for_permit();
    return true;
  }

 private:
  static constexpr std::uint32_t sleeping_in(std::uint32_t counts) noexcept { return counts & most_threads; }
  static constexpr std::uint32_t searching_in(std::uint32_t counts) noexcept { return counts >> 16; }
  static constexpr bool should_wake_one(std::uint32_t counts) noexcept {
    return counts - 1 < one_searching - 1;  // who naps counts as one who sleeps or, once claimed, searches
  }
  /// Wakes all who sleep, and takes `leaving` away from the counts.
  void wake_all(std::uint32_t leaving) noexcept {
    std::uint32_t counts = counts_.load(memory_order_relaxed); /*S1*/
    while (!counts_.compare_exchange_weak(
        counts, counts - leaving - sleeping_in(counts) + sleeping_in(counts) * one_searching,
        memory_order_relaxed)) { /*S2*/
    }
    if (sleeping_in(counts) == 0) return;
    permits_.fetch_add(sleeping_in(counts), memory_order_release); /*P1*/
    unpark(&permits_, static_cast<int>(sleeping_in(counts)));
  }
  /// True: the caller, who counts as a sleeper, searches from here on. False: all sleepers are claimed.
  bool wake_up_unclaimed(std::uint32_t napped = 0) noexcept {
    std::uint32_t counts = counts_.load(memory_order_relaxed);
    while (sleeping_in(counts) != 0) {
      if (counts_.compare_exchange_weak(counts, counts - napped - one_sleeping + one_searching,
                                        memory_order_relaxed)) /*S2*/
        return true;
    }
    return false;
  }
  bool take_permit() noexcept {
    std::uint32_t permits = permits_.load(memory_order_relaxed);
    while (permits != 0) {
      if (permits_.compare_exchange_weak(permits, permits - 1, memory_order_acquire, /*P2*/
                                         memory_order_relaxed))
        return true;
    }
    return false;
  }
  void wait_for_permit() noexcept {
    constexpr timespec idle{1, 0};
    // A timer that does not end the sleep is taken back before the thread goes on: not for a few frames.
    const timespec* timeout = !is_modelled && caches_many_frames(this_thread_frames()) ? &idle : nullptr;
    while (!take_permit()) {
      if (!park(permits_, 0, timeout)) {
        trim_frame_memory();
        timeout = nullptr;
      }
    }
  }

  atomic<std::uint32_t> counts_{0};
  atomic<std::uint32_t> permits_{0};
  atomic<bool> stopping_{false};
  const asymmetric_fence fence_;
};
}  // namespace coracle::detail
