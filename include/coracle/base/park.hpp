// coracle/base/park.hpp -- put a thread to sleep on a word, and wake it.
// SPDX-License-Identifier: MIT
#pragma once
#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <coracle/base/atomic.hpp>
#include <cstdint>

namespace coracle::detail {
#if defined(CORACLE_MODEL)
inline void spin_pause() { testing::model::model_pause(); }
inline void wait_a_moment(unsigned) { testing::model::model_pause(); }
inline bool park(atomic<std::uint32_t>& word, std::uint32_t expected, const timespec* timeout = nullptr,
                 std::source_location where = std::source_location::current()) {
  if (timeout) testing::model::model_set_timeout(timeout->tv_sec * 1'000'000'000 + timeout->tv_nsec);
  return model_park(word, expected, timeout != nullptr, where);
}
inline void unpark(atomic<std::uint32_t>* word, int count,
                   std::source_location where = std::source_location::current()) {
  model_unpark(word, static_cast<unsigned>(count), where);
}
#else
/// Hints to the processor that this thread is spinning.
inline void spin_pause() noexcept {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

/// For a loop that waits for a thread which holds a lock for a few instructions: pauses, or yields the
/// processor if that thread seems to be preempted.
inline void wait_a_moment(unsigned tries) noexcept {
  if (tries % 64 == 63) {
    ::sched_yield();
  } else {
    spin_pause();
  }
}

/// Sleeps while `word` holds `expected`; may return early. `timeout` is relative; null means none. Returns
/// false if it has expired.
inline bool park(atomic<std::uint32_t>& word, std::uint32_t expected,
                 const timespec* timeout = nullptr) noexcept {
  const auto woken = ::syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, expected, timeout, nullptr, 0);
  return woken == 0 || errno != ETIMEDOUT;
}
/// Wakes up to `count` threads that sleep on `word`. Only its address is used: the word may no longer exist.
inline void unpark(atomic<std::uint32_t>* word, int count) noexcept {
  ::syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, count, nullptr, nullptr, 0);
}
#endif

/// A one-shot event: one thread sets it once, one thread waits for it.
class one_shot {
 public:
  /// After the state has become `done` the waiter may destroy this object, so nothing is touched after it.
  void set() noexcept {
    if (state_.exchange(done, memory_order_release) == sleeping) unpark(&state_, 1); /*O1*/
  }
  /// Waits until it is set. Returns false if it was not set within `limit`.
  bool wait(const timespec* limit = nullptr) noexcept {
    std::uint32_t seen = pending;
    state_.compare_exchange_strong(seen, sleeping, memory_order_relaxed); /*O2*/
    while (state_.load(memory_order_acquire) == sleeping) {               /*O3*/
      if (!park(state_, sleeping, limit)) return false;
    }
    return true;
  }

 private:
  //   [O1] any -> done          release  publishes what the setter wrote   pairs with O3
  //   [O2] pending -> sleeping  relaxed  orders nothing
  //   [O3] done: return          acquire  sees the setter's writes
  static constexpr std::uint32_t pending = 0, sleeping = 1, done = 2;
  atomic<std::uint32_t> state_{pending};
};
}  // namespace coracle::detail
