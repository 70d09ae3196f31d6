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

#include "../inspect/metric_source.hpp"
#include "io_backend.hpp"

namespace coracle::detail {
/// The core of an io_service: the events and coroutines that are ready, the threads that sleep, and the
/// timers.
class io_loop final : public timer_service {
 public:
  io_loop(executor& service, io_system& system);
  ~io_loop();

  [[nodiscard]] io_system& system() noexcept { return system_; }
  [[nodiscard]] io_backend& backend() noexcept { return *backend_; }

  /// Counts an external driver, such as a simulation, as a sleeping run(io_run&): io_backend::wake() reaches
  /// it, and it then runs what is ready. Called by the constructor of such a driver's backend, before any
  /// other thread uses the loop.
  void count_external_driver() noexcept;

  void post(resumption& item) noexcept;
  /// Has the loop deliver a completed operation or an expired timer. Called with the lock of the queue that
  /// the event was in.
  void finish(io_event& event) noexcept;
  /// The same for those that a poll() outside of the loop has completed.
  void finish(io_backend::completions& completed) noexcept;
  /// The same for an operation that did not have to wait: it goes behind all scheduled coroutines.
  void finish_behind_others(io_event& event) noexcept;
  /// Removes a finished event from its list. Returns false if it has been delivered.
  bool unlist(io_event& event) noexcept;

  /// Called when an operation need not wait. Returns true if this thread runs a loop and the current turn has
  /// lasted so long that the loop must poll. Operations `of_file` end a turn sooner after a poll that has
  /// found events. Those of a socket do not: a send may itself be what the next poll would report.
  [[nodiscard]] static bool turn_is_over(bool of_file) noexcept;
  /// Returns true if this thread runs the loop, and so polls soon.
  [[nodiscard]] bool runs_here() const noexcept;
  /// Returns true if nothing is ready to run: the loop would poll next.
  [[nodiscard]] bool has_nothing_ready() noexcept;
  /// Called before a send by a thread that runs the loop. Returns true if it is this thread's first since its
  /// last poll(), and no other event of that poll waits, whose coroutine is likely to send, too.
  [[nodiscard]] static bool sends_first() noexcept;
  /// Called by a thread that does not run the loop, when the backend has something to flush(): has a thread
  /// that does run it poll().
  void flush_soon() noexcept;
  /// Counts the descriptors that poll() watches: without any, and without timers, the system has nothing to
  /// report.
  void count_watched(bool one_more) noexcept {
    watched_.fetch_add(one_more ? 1 : -1, memory_order_relaxed); /*D1*/
  }

  [[nodiscard]] time_point now() noexcept override { return system_.now(); }
  bool add(timer& each, time_point deadline) noexcept override;
  bool remove(timer& each) noexcept override;
  /// As add(), but delivers the timer immediately if its deadline has passed.
  bool start(io_timer& each, time_point deadline) noexcept;

  struct run_mode {
    bool wait;      ///< sleep until there are events
    bool only_one;  ///< return after the first event
  };
  /// Delivers events and returns their number.
  std::uint64_t run(run_mode how);
  /// Delivers events until end() is called with the same argument: its awaitable has completed.
  void run(io_run& caller) noexcept;
  void end(io_run& caller) noexcept;
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

  class metrics final : public metric_source {
   public:
    explicit metrics(io_loop& loop) noexcept : loop_(loop) {}
    void add_to(runtime_metrics& to) override;

   private:
    io_loop& loop_;
  };
  class running;
  static running* on_this_thread() noexcept;
  ready next(running& here, bool wait, io_run* caller = nullptr) noexcept;
  ready next_of_its_own(running& here) noexcept;
  /// Not inlined, so that what next_of_its_own() finds costs few instructions.
  CORACLE_NOINLINE() ready next_of_all(running& here, bool wait, io_run* caller) noexcept;
  [[nodiscard]] bool poll_is_due(const running& here) noexcept;
  ready take(running& here) noexcept;
  static ready take_event(intrusive_list<io_event>& from) noexcept;
  void poll(running& here, bool wait, io_run* caller) noexcept;
  [[nodiscard]] bool several_run() const noexcept;
  void keep_or_share(running& here) noexcept;
  void favour(running& here) noexcept;
  void share(running& here) noexcept;
  [[nodiscard]] std::size_t count_ready() const noexcept;
  void sleep_begins(io_run* caller) noexcept;
  void sleep_ends(io_run* caller) noexcept;
  void list(io_event& event) noexcept;
  void fire_timers() noexcept;
  void set_timer() noexcept;
  [[nodiscard]] bool timer_is_due() noexcept;
  void changed() noexcept;
  void wake_sleeper_if_needed() noexcept;
  [[nodiscard]] bool sleeper_must_leave() const noexcept {
    return runs_over_ != 0 || (stopped_ && sleeping_ != runs_sleeping_);
  }
  [[nodiscard]] bool has_work() const noexcept { return has_ready() || flushes_; }
  [[nodiscard]] bool has_ready() const noexcept { return !finished_.empty() || !scheduled_.empty(); }
  void deliver(ready item);

  // One lock, mutex_, guards everything below except has_changed_. Lock order: a lock of the backend (of a
  // descriptor, of the file threads), then mutex_. The system calls that wake a thread and set the timer, at
  // most one of each, are made under the lock, because the io_service may be destroyed as soon as it is
  // released.
  //
  // How a thread goes to sleep without losing a wake-up. sleeping_ counts the threads that are inside, or
  // about to enter, a poll() that waits; a thread increments it under the hold of the lock under which it
  // finds nothing ready. Before a thread releases the lock while something is ready or must be flushed, it
  // wakes one sleeper, unless a wake() is already under way (waking_): wake_sleeper_if_needed(). The thread
  // whose poll() receives the wake() clears waking_, and in turn wakes a sleeper if needed before it releases
  // the lock. So while something is ready and a thread sleeps, a wake() is under way or another thread is in
  // the loop and will find it.
  //
  // The same holds where a sleeper must leave, after a stop() or because the awaitable of its run() has
  // completed. But a wake() may reach any sleeper. So until every thread that must leave has woken, no thread
  // goes to sleep, and each one that wakes up wakes the next.
  //
  // A thread that is alone in the loop delivers what its poll() has completed from a list of its own, without
  // the lock. It looks at has_changed_ before each event, and takes the lock when that is set: something was
  // posted, finished elsewhere or stopped, or another thread has entered the loop. The rest of the list is
  // then shared with that thread, which is woken if it sleeps. Several threads share all events, so that none
  // waits behind a coroutine that blocks its thread.
  executor& service_;
  io_system& system_;
  small_mutex mutex_;
  plain<running*> polled_by_ = nullptr;    // whose `polled` may contain events that are not shared
  intrusive_list<io_event> finished_;      // operations and timers to be delivered
  intrusive_queue<resumption> scheduled_;  // coroutines to be resumed here
  plain<bool> scheduled_next_ = false;     // whether scheduled_ is served next, if neither is empty
  plain<bool> stopped_ = false;
  plain<bool> waking_ = false;
  plain<bool> flushes_ = false;  // requests submitted on other threads wait for a poll() to flush them
  plain<std::uint32_t> sleeping_ = 0;
  // Of the sleeping threads, those inside run(io_run&), which ignore a stop().
  plain<std::uint32_t> runs_sleeping_ = 0;
  // Of the threads counted in runs_sleeping_, those whose awaitable has completed.
  plain<std::uint32_t> runs_over_ = 0;
  //   [C1] any -> true  relaxed  by a thread that holds mutex_ and has changed what it guards
  //   [C2] load         relaxed  by polled_by_; stale at worst until it has delivered what it has polled
  //   [C3] any -> bool  relaxed  by next(), which holds mutex_: whether more is ready
  atomic<bool> has_changed_{true};
  // The last poll, and how long after it the loop polls again while coroutines are scheduled and no events
  // wait. In ticks of the system.
  plain<std::uint64_t> polled_at_;
  plain<std::uint64_t> interval_;
  plain<std::uint64_t> work_ = 0;
  timer_queue timers_;
  // What the backend's timer is set to. While a thread sleeps, never later than the first deadline, except
  // while fire_timers() is due.
  time_point timer_set_ = time_point::max();
  //   [D1] one more, one less  relaxed  orders nothing: at worst the loop polls once too late
  //   [D2] load                relaxed  orders nothing
  atomic<std::int32_t> watched_{0};
  running* first_running_ = nullptr;  // the threads that run the loop
  std::unique_ptr<io_backend> backend_;
  metrics metrics_{*this};
};
}  // namespace coracle::detail
