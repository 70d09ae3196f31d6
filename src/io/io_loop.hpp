// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/base/atomic.hpp>
#include <coracle/base/intrusive_queue.hpp>
#include <coracle/base/small_mutex.hpp>
#include <coracle/core/executor.hpp>
#include <coracle/io/io_service.hpp>
#include <coracle/time/detail/timer_queue.hpp>
#include <cstdint>
#include <memory>

#include "io_backend.hpp"

namespace coracle::detail {
/// What is ready to run, who sleeps, and the timers.
class io_loop final : public timer_service {
 public:
  io_loop(executor& service, io_system& system);
  ~io_loop();

  [[nodiscard]] io_system& system() noexcept { return system_; }
  [[nodiscard]] io_backend& backend() noexcept { return *backend_; }

  /// Somebody else runs what is ready, as a thread inside run(io_run&) would: wake() reaches it. Called by the
  /// constructor of a backend that does so, before any other thread uses the loop.
  void others_run() noexcept;

  void post(resumption& item) noexcept;
  /// An operation or a timer is over: the loop delivers it. Called with the lock of the queue that it was in.
  void finish(io_event& event) noexcept;
  /// The same inside io_backend::poll(), whose thread will look at the list itself.
  void finish_in_poll(io_event& event) noexcept;
  /// The same for an operation that did not have to wait: behind all that is scheduled.
  void finish_behind_others(io_event& event) noexcept;
  /// Takes back a finished event. Returns false if it has been delivered.
  bool unlist(io_event& event) noexcept;

  /// Called where an operation need not wait. True: a loop runs on this thread, and what it runs has lasted as long as it
  /// may until the loop looks at the system.
  [[nodiscard]] static bool turn_is_over() noexcept;
  /// Returns true if this thread runs the loop, and so polls soon.
  [[nodiscard]] bool runs_here() const noexcept;
  /// Returns true if nothing is ready to run: the loop would poll next.
  [[nodiscard]] bool has_nothing_ready() noexcept;
  /// The backend has something to flush(), though this thread does not run the loop: one that does will poll().
  void flush_soon() noexcept;
  /// Descriptors that poll() watches: while there are none, and no timers, the system has nothing to tell.
  void watched(bool one_more) noexcept { watched_.fetch_add(one_more ? 1 : -1, memory_order_relaxed); } /*D1*/

  [[nodiscard]] time_point now() noexcept override { return system_.now(); }
  bool add(timer& each, time_point deadline) noexcept override;
  bool remove(timer& each) noexcept override;
  /// As add(), but one that is past is delivered at once.
  bool start(io_timer& each, time_point deadline) noexcept;

  /// Delivers events: one, or all that come; waiting for them, or not. Returns how many.
  std::uint64_t run(bool wait, bool only_one);
  /// Delivers events until `its` awaitable has ended.
  void run(io_run& its) noexcept;
  /// Ends that.
  void end(io_run& its) noexcept;
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

  class running;
  static running*& on_this_thread() noexcept;
  ready next(running& here, bool wait, io_run* its = nullptr) noexcept;
  [[nodiscard]] bool has_to_look() noexcept;
  ready take() noexcept;
  void poll(bool wait, io_run* its) noexcept;
  void sleep_begins(io_run* its) noexcept;
  void sleep_ends(io_run* its) noexcept;
  void list(io_event& event) noexcept;
  void fire_timers() noexcept;
  void set_timer() noexcept;
  void balance() noexcept;
  [[nodiscard]] bool sleeper_is_to_leave() const noexcept {
    return runs_over_ != 0 || (stopped_ && sleeping_ != runs_sleeping_);
  }
  [[nodiscard]] bool has_work() const noexcept { return has_ready() || flushes_; }
  [[nodiscard]] bool has_ready() const noexcept { return !finished_.empty() || !scheduled_.empty(); }
  void deliver(ready item);

  // One lock, mutex_, guards all below. Locks are taken in one order: a backend's (of a descriptor, of the
  // file threads), then mutex_. Under it are made at most one system call to wake a thread, and one to set
  // the timer: after it is released, the io_service may be gone.
  //
  // How a thread goes to sleep without missing an event. sleeping_ counts the threads that are inside, or
  // about to enter, a poll() that waits; it changes under the lock at which the thread also sees that nothing
  // is ready. Whoever leaves the lock while something is ready or to be flushed, and sees sleepers, wakes one (balance()), unless a
  // wake() is under way already (waking_). The poll() that the wake() reaches says so, and its thread clears
  // waking_, and balances in turn when it leaves the lock. So while something is ready and somebody sleeps, a
  // wake() is under way or a thread is in the loop that will look.
  // It is the same where a sleeper is to leave, after a stop() or because the awaitable of its run() has ended;
  // but a wake() reaches any one. So until those have woken nobody goes to sleep, and each wakes the next.
  executor& service_;
  io_system& system_;
  small_mutex mutex_;
  intrusive_list<io_event> finished_;      // operations and timers to be delivered
  intrusive_queue<resumption> scheduled_;  // coroutines to be resumed here
  plain<bool> scheduled_next_ = false;     // whose turn it is, if both have some
  plain<bool> stopped_ = false;
  plain<bool> waking_ = false;
  plain<bool> flushes_ = false;  // some poll() is to flush what was submitted elsewhere
  plain<std::uint32_t> sleeping_ = 0;
  plain<std::uint32_t> runs_sleeping_ =
      0;  // of those, the ones inside run(io_run&), whom a stop() does not concern
  plain<std::uint32_t> runs_over_ = 0;  // of those, the ones whose awaitable has ended meanwhile
  plain<std::uint64_t>
      looks_at_;  // in ticks of the system: when to ask it for more, though something is ready
  plain<std::uint64_t> work_ = 0;
  timer_queue timers_;
  // What the backend's timer is set to: not after the first deadline, but while fire_timers() is due.
  time_point timer_set_ = time_point::max();
  //   [D1] one more, one less  relaxed  orders nothing: the thread that adds one goes on to wait for it, or it is late once
  //   [D2] load                relaxed  orders nothing
  atomic<std::int32_t> watched_{0};
  std::unique_ptr<io_backend> backend_;
};
}  // namespace coracle::detail
