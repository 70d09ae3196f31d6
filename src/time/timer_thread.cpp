// SPDX-License-Identifier: MIT
#include "timer_thread.hpp"

#include <sys/prctl.h>

#include <coracle/time/detail/timer_thread.hpp>
#include <cstddef>
#include <cstdlib>
#include <new>

#include "../inspect/metric_source.hpp"

namespace coracle::detail {
namespace {
timer_thread& the_timer_thread() noexcept;
void end_with_the_program() {
  std::atexit([] { the_timer_thread().end(); });
}

/// Outside the timer_thread, in whose place a child process makes another.
class timer_thread_metrics final : public metric_source {
  void add_to(runtime_metrics& to) override { to.timers = the_timer_thread().metrics(); }
};

timer_thread& the_timer_thread() noexcept {
  alignas(timer_thread) static std::byte memory[sizeof(timer_thread)];
  // A child process of fork() has no such thread, and must not resume its coroutines.
  static timer_thread& only = []() -> timer_thread& {
    ::pthread_atfork(nullptr, nullptr, [] { ::new (memory) timer_thread{&end_with_the_program}; });
    static constinit timer_thread_metrics metrics;
    metrics.show();
    return *::new (memory) timer_thread{&end_with_the_program};
  }();
  return only;
}
}  // namespace

bool timer_thread::add(timer& each, time_point deadline) noexcept {
  bool runs = false, wakes = false;
  {
    const small_mutex_lock lock{mutex_};
    if (!queue_.add(each, deadline)) return false;
    runs = running_;
    wakes = deadline < sleeps_until_;
    if (wakes) {
      sleeps_until_ = deadline;
      wakes_.store(wakes_.load(memory_order_relaxed) + 1, memory_order_relaxed); /*W1*/
    }
  }
  if (!runs) start();
  if (wakes) unpark(&wakes_, 1);
  return true;
}

void timer_thread::start() noexcept {
  const small_mutex_lock alone{life_};
  {
    const small_mutex_lock lock{mutex_};
    if (std::exchange(running_, true)) return;
  }
  create_thread();
  when_started_();
}

void* timer_thread::enter(void* self) noexcept {
  static_cast<timer_thread*>(self)->run();
  return nullptr;
}
void timer_thread::create_thread() noexcept {
  thread_handle started{};
  if (start_quiet_thread(started, &enter, this) != 0) fail("the timer thread cannot be started");
  thread_ = started;
}

void timer_thread::end() noexcept {
  const small_mutex_lock alone{life_};
  if (thread_ == this_thread_handle()) return;
  {
    const small_mutex_lock lock{mutex_};
    if (!running_ || !queue_.empty()) return;
    ending_ = true;
    wakes_.store(wakes_.load(memory_order_relaxed) + 1, memory_order_relaxed); /*W1*/
  }
  unpark(&wakes_, 1);
  join_thread(thread_);
  {
    const small_mutex_lock lock{mutex_};
    ending_ = false;
    running_ = !queue_.empty();
    if (!running_) return;
  }
  create_thread();
}

void timer_thread::run() noexcept {
  name_this_thread("coracle-timer");
  ::prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
  for (;;) {
    timer_batch due;
    bool some;
    time_point next;
    std::uint32_t seen;
    {
      const small_mutex_lock lock{mutex_};
      if (ending_) return;
      some = due.take(queue_, now());
      sleeps_until_ = some ? time_point::min() : queue_.next();
      next = sleeps_until_;
      seen = wakes_.load(memory_order_relaxed); /*W2*/
    }
    if (some) {
      due.fire();
    } else {
      park_until(wakes_, seen, next);
    }
  }
}

timer_service& program_timers() noexcept { return the_timer_thread(); }
}  // namespace coracle::detail
