// src/exec/elastic_threads.hpp -- threads that come when there is work for them, and go when there is none.
// SPDX-License-Identifier: MIT
#pragma once
#include <algorithm>
#include <chrono>
#include <coracle/base/thread.hpp>
#include <cstddef>
#include <mutex>

namespace coracle::detail {
/// Threads for calls that block. What derives from it keeps the queue, and its destructor begins with retire().
class elastic_threads {
 public:
  elastic_threads(std::size_t most, std::chrono::milliseconds idle_time) noexcept
      : most_(most), idle_time_(std::clamp(idle_time, idle_time.zero(), longest_idle_time)) {}
  elastic_threads(const elastic_threads&) = delete;
  elastic_threads& operator=(const elastic_threads&) = delete;
  [[nodiscard]] std::size_t thread_count() noexcept {
    const std::lock_guard lock{mutex_};
    return threads_;
  }

 protected:
  ~elastic_threads() = default;

  /// Carries out what is queued first, without the lock. False: nothing is queued.
  virtual bool run_one(std::unique_lock<mutex>& lock) noexcept = 0;
  /// Under the lock: sees to a thread for what was queued last; `queued` counts that too. False: there is no thread,
  /// and none to be had. The last thing that the caller does to all this, which may be gone once the lock is free.
  bool call_thread(std::size_t queued) noexcept;
  /// Ends the threads and joins them. Requires: nothing is queued; not called on one of them.
  void retire() noexcept;

  mutex mutex_;

 private:
  static void* enter(void* self) noexcept;
  void run() noexcept;
  bool start_thread() noexcept;

  // mutex_ owns all below.
  static constexpr std::chrono::milliseconds longest_idle_time =
      std::chrono::hours{24 * 365};  // the clock reaches it
  const std::size_t most_;
  const std::chrono::milliseconds idle_time_;
  condition_variable work_;   // something is queued, or stopping_
  condition_variable ended_;  // threads_ is 0
  plain<std::size_t> threads_ = 0;
  plain<std::size_t> idle_ = 0;
  plain<bool> stopping_ = false;
  // When they retire, each joins the one that ended before it, and retire() the last.
  plain<bool> has_ended_ = false;
  plain<thread_handle> last_ended_{};
};
}  // namespace coracle::detail
