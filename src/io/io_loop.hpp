// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/core/executor.hpp>
#include <coracle/detail/intrusive_queue.hpp>
#include <coracle/detail/small_mutex.hpp>
#include <coracle/exec/timer_wheel.hpp>
#include <coracle/io/io_service.hpp>
#include <cstdint>
#include <memory>

#include "io_backend.hpp"

namespace coracle::detail {
/// What is ready to run, who sleeps, and the timers.
class io_loop {
 public:
  explicit io_loop(executor& service);
  ~io_loop();

  [[nodiscard]] io_backend& backend() noexcept { return *backend_; }

  void post(resumption& item) noexcept;
  /// An operation or a timer is over: the loop delivers it. Called with the lock of the queue that it was in.
  void finish(io_event& event) noexcept;
  /// The same inside io_backend::poll(), whose thread will look at the list itself.
  void finish_in_poll(io_event& event) noexcept;
  /// Takes back what is finished. False: it has been delivered.
  bool unlist(io_event& event) noexcept;

  /// False: stop was requested before, and it is not started.
  bool start(io_timer& timer, std::uint64_t deadline) noexcept;
  void cancel(io_timer& timer) noexcept;
  /// False: it has been delivered.
  bool withdraw(io_timer& timer) noexcept;

  /// Delivers events: one, or all that come; waiting for them, or not. Returns how many.
  std::uint64_t run(bool wait, bool only_one);
  void stop() noexcept;
  void reset() noexcept;
  [[nodiscard]] bool stopped() noexcept;
  void work_started() noexcept;
  void work_finished() noexcept;

 private:
  struct ready {
    io_event* event = nullptr;
    resumption* scheduled = nullptr;
    explicit operator bool() const noexcept { return event || scheduled; }
  };

  ready next(bool wait) noexcept;
  ready take() noexcept;
  void poll(bool wait) noexcept;
  void list(io_event& event) noexcept;
  void fire_timers() noexcept;
  void set_timer() noexcept;
  void balance() noexcept;
  [[nodiscard]] bool has_ready() const noexcept { return !finished_.empty() || !scheduled_.empty(); }
  void deliver(ready item);

  // One lock, mutex_, guards all below. Locks are taken in one order: a backend's (of a descriptor, of the
  // file threads), then mutex_. Under it are made at most one system call to wake a thread, and one to set
  // the timer: after it is released, the io_service may be gone.
  //
  // How a thread goes to sleep without missing an event. sleeping_ counts the threads that are inside, or
  // about to enter, a poll() that waits; it changes under the lock at which the thread also sees that nothing
  // is ready. Whoever leaves the lock while something is ready, or after a stop, and sees sleepers, wakes one
  // (balance()), unless a wake() is under way already (waking_). The poll() that the wake() reaches says so,
  // and its thread clears waking_, and balances in turn when it leaves the lock. So while something is ready
  // and somebody sleeps, a wake() is under way or a thread is in the loop that will look.
  executor& service_;
  small_mutex mutex_;
  io_event_list finished_;                 // operations and timers to be delivered
  intrusive_queue<resumption> scheduled_;  // coroutines to be resumed here
  bool scheduled_next_ = false;            // whose turn it is, if both have some
  bool stopped_ = false;
  bool waking_ = false;
  std::uint32_t sleeping_ = 0;
  std::uint32_t since_poll_ = 0;  // events since somebody asked the system for more
  std::uint64_t work_ = 0;
  timer_wheel timers_;
  // What the backend's timer is set to: not after the first deadline, but while fire_timers() is due.
  std::uint64_t timer_set_ = timer_wheel::never;
  std::unique_ptr<io_backend> backend_;
};
}  // namespace coracle::detail
