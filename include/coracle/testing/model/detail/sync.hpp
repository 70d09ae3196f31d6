// coracle/testing/model/detail/sync.hpp -- threads, clock and condition variables for the model checker.
// SPDX-License-Identifier: MIT
#pragma once
#include <array>
#include <chrono>
#include <condition_variable>
#include <coracle/testing/model/detail/memory.hpp>
#include <cstdint>
#include <mutex>
#include <utility>

namespace coracle::testing::model {
unsigned model_start_thread(void* (*body)(void*), void* argument);
void model_join_thread(unsigned index);
unsigned model_this_thread();
/// Returns nanoseconds. Time stands still except for threads that sleep until a time: when such a thread runs
/// next, which may be at any point, its time has come.
std::int64_t model_now();
/// As model_set_timeout(), with an absolute time.
void model_set_deadline(std::int64_t nanoseconds);

/// std::condition_variable with `Mutex` in place of std::mutex. No spurious wake-ups.
template <class Mutex>
class model_condition_variable {
 public:
  model_condition_variable() = default;
  model_condition_variable(const model_condition_variable&) = delete;
  model_condition_variable& operator=(const model_condition_variable&) = delete;

  void wait(std::unique_lock<Mutex>& lock) { sleep(lock, false); }
  template <class Predicate>
  void wait(std::unique_lock<Mutex>& lock, Predicate holds) {
    while (!holds()) wait(lock);
  }
  std::cv_status wait_for(std::unique_lock<Mutex>& lock, std::chrono::nanoseconds time) {
    const std::int64_t end = model_now() + time.count();
    return sleep(lock, true, end) ? std::cv_status::no_timeout : std::cv_status::timeout;
  }
  void notify_one() {
    changes_.fetch_add(1, std::memory_order_relaxed);
    std::array<unsigned, model_threads> which{};
    unsigned count = 0;
    for (unsigned i = 0; i != model_threads; ++i) {
      if (waits_[i]) which[count++] = i;
    }
    if (count == 0) return;
    const unsigned chosen = which[model_choose(count)];
    waits_[chosen] = false;
    wake(chosen);
  }
  void notify_all() {
    changes_.fetch_add(1, std::memory_order_relaxed);
    const std::array<bool, model_threads> all = std::exchange(waits_, {});
    for (unsigned i = 0; i != model_threads; ++i) {
      if (all[i]) wake(i);
    }
  }

 private:
  /// Returns false if the time has expired.
  bool sleep(std::unique_lock<Mutex>& lock, bool has_timeout, std::int64_t end = 0) {
    const unsigned self = model_this_thread();
    model_atomic<std::uint32_t>& woken = woken_[self];
    woken.store(0, std::memory_order_relaxed);
    changes_.fetch_add(1, std::memory_order_relaxed);
    waits_[self] = true;
    lock.unlock();
    bool in_time = true;
    while (in_time && is_asleep(woken)) {
      if (has_timeout) model_set_deadline(end);
      in_time = model_park(woken, 0U, has_timeout, site::current());
    }
    if (!in_time) {
      changes_.fetch_add(1, std::memory_order_relaxed);
      in_time = !std::exchange(waits_[self], false);  // it has been notified after all
      while (in_time && is_asleep(woken)) {
        model_park(woken, 0U, false, site::current());
      }
    }
    lock.lock();
    return in_time;
  }
  /// Reads the newest value, which is what the system does: a plain load may return an older one.
  static bool is_asleep(model_atomic<std::uint32_t>& woken) {
    return woken.fetch_add(0, std::memory_order_relaxed) == 0;
  }
  void wake(unsigned index) {
    woken_[index].store(1, std::memory_order_relaxed);
    model_unpark(&woken_[index], 1, site::current());
  }

  // A thread reads and changes waits_ right after it has changed the counter, so that no other thread runs in
  // between, and the checker sees the two as one step.
  model_atomic<std::uint32_t> changes_{0};
  std::array<bool, model_threads> waits_{};
  std::array<model_atomic<std::uint32_t>, model_threads> woken_;
};
}  // namespace coracle::testing::model
