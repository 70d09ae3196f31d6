// src/exec/elastic_threads.hpp -- threads that start on demand and end when idle.
// SPDX-License-Identifier: MIT
#pragma once
#include <algorithm>
#include <chrono>
#include <coracle/base/thread.hpp>
#include <cstddef>
#include <mutex>

namespace coracle::detail {
/// Threads for blocking calls. The derived class keeps the queue; its destructor begins with retire().
class elastic_threads {
 public:
  /// `name`: of each thread.
  elastic_threads(const char* name, std::size_t max_threads, std::chrono::milliseconds idle_time) noexcept
      : name_(name),
        max_threads_(max_threads),
        idle_time_(std::clamp(idle_time, idle_time.zero(), max_idle_time)) {}
  elastic_threads(const elastic_threads&) = delete;
  elastic_threads& operator=(const elastic_threads&) = delete;
  [[nodiscard]] std::size_t thread_count() noexcept {
    const std::lock_guard lock{mutex_};
    return threads_;
  }

 protected:
  ~elastic_threads() = default;

  /// Runs the first queued call, without the lock. Returns false if nothing is queued.
  virtual bool run_one(std::unique_lock<mutex>& lock) noexcept = 0;
  /// Under the lock: provides a thread for the call queued last, which `queued` includes. Returns false if
  /// there is no thread and none can be started. This must be the caller's last access: the object may be
  /// destroyed once the lock is free.
  bool call_thread(std::size_t queued) noexcept;
  /// Ends the threads and joins them. Requires: nothing is queued; not called on one of them.
  void retire() noexcept;

  mutex mutex_;

 private:
  static void* enter(void* self) noexcept;
  void run() noexcept;
  bool start_thread() noexcept;

  // mutex_ guards everything below.
  /// Longer times could overflow the clock.
  static constexpr std::chrono::milliseconds max_idle_time = std::chrono::hours{24 * 365};
  const char* const name_;
  const std::size_t max_threads_;
  const std::chrono::milliseconds idle_time_;
  condition_variable work_;   // something is queued, or stopping_
  condition_variable ended_;  // threads_ is 0
  plain<std::size_t> threads_ = 0;
  plain<std::size_t> idle_ = 0;
  plain<bool> stopping_ = false;
  // On retirement each thread joins the one that ended before it, and retire() joins the last.
  plain<bool> has_ended_ = false;
  plain<thread_handle> last_ended_{};
};
}  // namespace coracle::detail
