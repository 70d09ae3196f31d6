// coracle/base/small_mutex.hpp -- a lock of four bytes, held for a moment.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/base/park.hpp>

namespace coracle::detail {
/// A lock for critical sections of a few instructions, or one non-blocking system call. Never held across the
/// wake-up of a coroutine. Only single_flight holds it across user code and an allocation, for its map. The
/// three-state lock of U. Drepper, "Futexes are tricky", section 7.
class small_mutex {
 public:
  small_mutex() noexcept = default;
  small_mutex(const small_mutex&) = delete;
  small_mutex& operator=(const small_mutex&) = delete;

  void lock() noexcept {
    std::uint32_t seen = free;
    if (state_.compare_exchange_strong(seen, held, memory_order_acquire, memory_order_relaxed)) return; /*L1*/
    lock_contended(seen);
  }
  void unlock() noexcept {
    if (state_.exchange(free, memory_order_release) == contended) unpark(&state_, 1); /*L3*/
  }

 private:
  void lock_contended(std::uint32_t seen) noexcept {
    for (int spins = is_modelled ? 99 : 0; spins < 100 && seen != contended; ++spins) {
      spin_pause();
      seen = free;
      if (state_.compare_exchange_weak(seen, held, memory_order_acquire, memory_order_relaxed)) return; /*L1*/
    }
    while (state_.exchange(contended, memory_order_acquire) != free) park(state_, contended); /*L2*/
  }

  // free; held: no thread sleeps; contended: a thread may sleep.
  //   [L1] free -> held       acquire  sees what the last holder wrote  pairs with L3
  //   [L2] any -> contended   acquire  held if it was free              pairs with L3
  //   [L3] any -> free        release  publishes this holder's writes   pairs with L1, L2
  static constexpr std::uint32_t free = 0, held = 1, contended = 2;
  atomic<std::uint32_t> state_{free};
};

/// std::lock_guard without <mutex>, which takes twice as long to parse as all of core/task.hpp.
class small_mutex_lock {
 public:
  explicit small_mutex_lock(small_mutex& mutex) noexcept : mutex_(mutex) { mutex_.lock(); }
  small_mutex_lock(const small_mutex_lock&) = delete;
  small_mutex_lock& operator=(const small_mutex_lock&) = delete;
  ~small_mutex_lock() { mutex_.unlock(); }

 private:
  small_mutex& mutex_;
};
}  // namespace coracle::detail
