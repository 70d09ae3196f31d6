// src/exec/sleepers.hpp -- puts a pool's threads to sleep without lost wake-ups.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/base/asymmetric_fence.hpp>
#include <coracle/base/atomic.hpp>
#include <coracle/base/park.hpp>
#include <coracle/core/frame_memory.hpp>
#include <cstddef>
#include <cstdint>

namespace coracle::detail {
/// Tracks how many threads of a pool search the queues for work and how many sleep.
//
// counts_ holds the number of unclaimed sleepers (15 bits), whether one of them only naps (1 bit), and the
// number of searchers (16 bits). permits_ is a semaphore: claiming a sleeper (one sleeper less, one searcher
// more) adds a permit, and each sleeper consumes one.
//   - A poster queues work, executes a light fence and reads counts_ (S1); if nobody searches and a thread
//     sleeps, it claims one (S2).
//   - A worker whose search fails becomes a sleeper (S3), executes a heavy fence and checks all queues once
//     more (S4). So at least one of a poster and a worker about to sleep sees the other.
//   - If all other workers sleep by then, only threads outside the pool can post, and they do so and read
//     counts_ while they hold a lock. So the worker takes that lock to check for their posts, and needs no
//     fence: another worker that wakes up changes counts_ later, and so sees that this one sleeps.
//   - The last searcher to find work claims a sleeper in its place (S2), because posters have relied on it in
//     the meantime; except if all others sleep and it finds no further work.
//   - Any sleeper may take a permit. So a worker that begins to nap after stop() may take another's, which
//     then stays asleep unclaimed. Therefore a worker that ends wakes all sleepers.
//   - At most one worker naps: it sleeps for a limited time and then searches again. So a poster that may
//     leave its entry to a napper relies on it as on a searcher, and the napper needs no heavy fence. The bit
//     is in the same word as the counts, so that a poster that sees a later sleeper does not mistake a
//     finished nap for a current one.
//   - A thread that looks for a permit, or wakes all sleepers, reads the newest value by adding 0. A plain
//     load might return an older one: a napper that was unparked in place of another sleeper would miss that
//     one's permit, and other threads would make a system call in vain.
//   [S1] read counts             relaxed  after a light fence; in count() a guess
//   [S2] claim sleepers          relaxed  only counts; P1 follows
//   [S3] count this thread       relaxed  only counts
//   [S4] read stopping           relaxed  after the heavy fence, or S6
//   [S5] -> stopping             relaxed  a light fence follows, then S7
//   [S6] count a sleeper         acquire  sees stopping; else S7 sees the sleeper   pairs with S7
//   [S7] claim all sleepers      release  publishes stopping                        pairs with S6
//   [S8] counts + 0              relaxed  reads the newest value; S7 follows
//   [P1] permits + n             release  publishes the work queued before it  pairs with P2
//   [P2] permits - 1             acquire  the first search finds that work     pairs with P1
//   [P3] permits + 0             relaxed  reads the newest value; P2 follows
class sleepers {
 public:
  static constexpr std::uint32_t one_sleeping = 1, napping = 1u << 15, one_searching = 1u << 16;
  static constexpr std::uint32_t max_threads = napping - 1;

  /// For a fork_queue, which calls for help if a thread sleeps and none searches.
  [[nodiscard]] const atomic<std::uint32_t>& counts() const noexcept { return counts_; }

  struct totals {
    std::size_t sleeping, searching;
  };
  /// A guess, for metrics.
  [[nodiscard]] totals count() const noexcept {
    const std::uint32_t counts = counts_.load(memory_order_relaxed); /*S1*/
    return {sleeping_in(counts), searching_in(counts)};
  }

  // ---- for a thread that has queued work ----

  /// Returns true if a thread sleeps and none searches.
  [[nodiscard]] bool should_wake_one() const noexcept {
    fence_.light();
    return should_wake_one(counts_.load(memory_order_relaxed)); /*S1*/
  }
  /// The same. Requires: light fences emit no instruction.
  [[nodiscard]] bool should_wake_one_at_once() const noexcept {
    asymmetric_fence::light_where_free();
    return should_wake_one(counts_.load(memory_order_relaxed)); /*S1*/
  }
  /// Wakes a thread if needed; if `may_wait`, not while one naps.
  void wake_one(bool may_wait = false) noexcept {
    if (atomic<std::uint32_t>* const claimed = claim(may_wait)) unpark(claimed, 1);
  }
  /// As wake_one(), but the caller unparks the thread, at the address returned; this object may be destroyed
  /// by then. Returns null if no thread was claimed.
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
  /// Makes workers that find no work end, and wakes all sleepers.
  void stop() noexcept {
    stopping_.store(true, memory_order_relaxed); /*S5*/
    fence_.light();
    wake_all(0);
  }

  // ---- for a worker without work ----

  void begin_search() noexcept { counts_.fetch_add(one_searching, memory_order_relaxed); } /*S3*/
  /// The caller has found work. If all the `others` sleep, only threads outside the pool can have relied on
  /// the caller; they read the counts while they held a lock. `is_needed()` takes that lock and sees what
  /// they queued.
  template <class Look>
  void end_search(std::uint32_t others, Look is_needed) noexcept {
    const std::uint32_t counts = counts_.fetch_sub(one_searching, memory_order_relaxed); /*S3*/
    if (searching_in(counts) != 1 || sleeping_in(counts) == 0) return;
    if (sleeping_in(counts) != others || is_needed()) wake_one();
  }
  [[nodiscard]] bool must_stop() const noexcept { return stopping_.load(memory_order_relaxed); } /*S4*/
  /// Sleeps until there may be work. The caller counts as a searcher before and after. Returns false if the
  /// pool stops and nothing is queued. `work_is_queued()` checks all queues; `is_needed()` is that of
  /// end_search(), and enough if all the `others` sleep.
  template <class Look, class LookOutside>
  [[nodiscard]] bool sleep(std::uint32_t others, Look work_is_queued, LookOutside is_needed) noexcept {
    const std::uint32_t counts = counts_.fetch_add(one_sleeping - one_searching, memory_order_acquire); /*S6*/
    const bool is_last = sleeping_in(counts) == others;
    if (!is_last) fence_.heavy();
    const bool stopping = must_stop();
    const bool queued = is_last ? is_needed() : work_is_queued();
    if (stopping || queued) {
      if (wake_up_unclaimed()) {
        if (queued) return true;
        wake_all(one_searching);
        return false;
      }
      // Every sleeper has been claimed, this one included: its permit exists or is about to.
    }
    wait_for_permit();
    return true;
  }
  /// Sleeps for a limited time, less if woken. The caller counts as a searcher before and after. Returns
  /// false if another worker naps.
  [[nodiscard]] bool nap() noexcept {
    constexpr timespec length{0, 100'000};
    std::uint32_t counts = counts_.load(memory_order_relaxed);
    do {
      if ((counts & napping) != 0) return false;
    } while (!counts_.compare_exchange_weak(counts, counts + napping + one_sleeping - one_searching,
                                            memory_order_relaxed)); /*S3*/
    park(permits_, 0, &length);
    // If this thread was unparked in place of another sleeper, it takes that one's permit.
    const bool claimed = take_permit();
    if (!claimed && wake_up_unclaimed(napping)) return true;
    counts_.fetch_sub(napping, memory_order_relaxed); /*S3*/
    if (!claimed) wait_for_permit();
    return true;
  }

 private:
  static constexpr std::uint32_t sleeping_in(std::uint32_t counts) noexcept { return counts & max_threads; }
  static constexpr std::uint32_t searching_in(std::uint32_t counts) noexcept { return counts >> 16; }
  static constexpr bool should_wake_one(std::uint32_t counts) noexcept {
    return counts - 1 < one_searching - 1;  // a napper counts as a sleeper or, once claimed, as a searcher
  }
  /// Wakes all sleepers, and subtracts `leaving` from the counts.
  void wake_all(std::uint32_t leaving) noexcept {
    std::uint32_t counts = counts_.fetch_add(0, memory_order_relaxed); /*S8*/
    while (!counts_.compare_exchange_weak(
        counts, counts - leaving - sleeping_in(counts) + sleeping_in(counts) * one_searching,
        memory_order_release, memory_order_relaxed)) { /*S7*/
    }
    if (sleeping_in(counts) == 0) return;
    permits_.fetch_add(sleeping_in(counts), memory_order_release); /*P1*/
    unpark(&permits_, static_cast<int>(sleeping_in(counts)));
  }
  /// Returns true if the caller, which counts as a sleeper, counts as a searcher from now on; false if all
  /// sleepers are claimed.
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
    std::uint32_t permits = permits_.fetch_add(0, memory_order_relaxed); /*P3*/
    while (permits != 0) {
      if (permits_.compare_exchange_weak(permits, permits - 1, memory_order_acquire, /*P2*/
                                         memory_order_relaxed))
        return true;
    }
    return false;
  }
  void wait_for_permit() noexcept {
    constexpr timespec idle{1, 0};
    // A timer that does not expire must be cancelled before the thread continues: too expensive for a few
    // frames.
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
