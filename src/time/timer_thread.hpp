// src/time/timer_thread.hpp -- a thread that sleeps until the next deadline.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/base/small_mutex.hpp>
#include <coracle/base/thread.hpp>
#include <coracle/time/detail/timer_queue.hpp>

#include "timer_metrics.hpp"

namespace coracle::detail {
/// Timers on the steady clock, fired on a dedicated thread, which starts with the first timer.
class timer_thread final : public timer_service {
 public:
  /// `when_started` is called each time that add() has started the thread.
  explicit timer_thread(void (*when_started)()) noexcept : when_started_(when_started) {}
  time_point now() noexcept override { return real_now(); }
  bool add(timer& each, time_point deadline) noexcept override;
  bool remove(timer& each) noexcept override {
    const small_mutex_lock lock{mutex_};
    return queue_.remove(each);
  }
  /// Called at the end of the program. The thread stays if coroutines still sleep, because a static
  /// destructor may wait for them.
  void end() noexcept;
  [[nodiscard]] timer_metrics metrics() noexcept { return metrics_of(queue_, mutex_, now()); }

 private:
  void start() noexcept;
  void create_thread() noexcept;
  static void* enter(void* self) noexcept;
  void run() noexcept;

  // mutex_ guards everything below, except the last members, which life_ guards. The thread sleeps while
  // wakes_ has the value that it had when the thread released mutex_. After adding a timer and waking the
  // thread, the caller no longer touches the timer. This object is never destroyed: coroutines and static
  // destructors may use it at any time.
  //   [W1] one more   relaxed  under mutex_, which the thread takes next
  //   [W2] load       relaxed  under mutex_
  void (*const when_started_)();
  small_mutex mutex_;
  atomic<std::uint32_t> wakes_{0};
  plain<time_point> sleeps_until_ = time_point::min();  // min(): it is awake, and will look
  plain<bool> running_ = false, ending_ = false;
  timer_queue queue_{real_now()};

  small_mutex life_;  // held while the thread is started, or ends
  plain<thread_handle> thread_{};
};
}  // namespace coracle::detail
