// coracle/io/io_service.hpp -- the event loop: files, sockets, timers and scheduled coroutines.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/base/chrono.hpp>
#include <coracle/base/exchange.hpp>
#include <coracle/core/awaitable.hpp>
#include <coracle/core/detail/callback_frame.hpp>
#include <coracle/core/detail/nested_starts.hpp>
#include <coracle/core/schedule.hpp>
#include <coracle/core/stop.hpp>
#include <coracle/core/timer_service.hpp>
#include <coracle/io/detail/event_wait.hpp>
#include <coracle/io/detail/io_request.hpp>
#include <cstdint>
#include <utility>

namespace coracle {
struct io_engine;

namespace detail {
class io_descriptor;
class io_loop;
class io_system;

/// Represents a thread inside io_service::run(): the awaitable's continuation, which ends the run.
struct io_run : callback_frame {
  explicit io_run(io_loop& its_loop) noexcept : callback_frame(&ended, nullptr), loop(its_loop) {}
  static void ended(callback_frame* self) noexcept;

  io_loop& loop;
  // Both belong to the loop's lock.
  plain<bool> over = false;
  plain<bool> asleep = false;
};
}  // namespace detail

/// Carries out I/O operations and timers, and resumes the coroutines that await them on the threads that call
/// run() or process_events().
///
///     coracle::io_service io;
///     io.run(serve(io));                                 // on this thread, until serve() has ended
///     std::thread runner{[&] { io.process_events(); }};  // or on another, until io.stop()
///
/// An *event* is what the process_ members count: a scheduled coroutine, an expired timer or a completed
/// operation, each delivered to its coroutine.
///
/// Order         scheduled coroutines first come, first served; timers by deadline. Operations and scheduled
///               coroutines alternate. A timer that is due, or a socket that is ready, waits for about 25 us
///               (200 us while no coroutine is scheduled), the turn under way and what was ready before it:
///               docs/scheduling.md.
/// Resumes on    schedule() and the timers: a thread that runs the io_service. Operations: see io_operation.
/// Cancellation  a stop request ends timers and operations; schedule(): as schedule_operation.
/// Exceptions    the constructors throw std::bad_alloc, and std::system_error if the environment variable
///               CORACLE_IO names an engine that is not available. The process_ members throw only what
///               leaves the promise of a coroutine that they resume. The service opens its three descriptors
///               with its first file, socket or signal_set, whose constructor throws std::system_error if the
///               process has none left, or when a thread first has nothing to do; if there are none left
///               then, that thread polls every millisecond.
/// Threads       all members but the destructor are thread-safe, and any number of threads may process events
///               concurrently. Beside a thread that was alone, a second one waits for the operations that the
///               first has already found completed, until its turn ends: docs/scheduling.md. A child process
///               made by fork() must not use the service.
/// Cost          no allocation after construction except a record for each open file or socket. With epoll,
///               files use up to four threads of the service, started when first needed; with io_uring,
///               threads of the kernel.
class io_service final : public executor {
 public:
  io_service();
  /// The hint, the number of threads that will process events, is ignored: any number may.
  explicit io_service(std::uint32_t concurrency_hint);
  /// Runs on another system than that of the process: for tests, see testing/simulation/simulated_host.hpp.
  explicit io_service(detail::io_system& system);
  io_service(const io_service&) = delete;
  io_service& operator=(const io_service&) = delete;
  /// Requires: nothing is scheduled or pending on it, and its files and sockets are closed.
  ~io_service();

  using schedule_operation = coracle::schedule_operation<io_service>;
  class timed_schedule_operation;

  /// Awaitable of nothing: resumes on a thread that processes events, after the coroutines already scheduled.
  schedule_operation schedule() noexcept { return schedule_operation{*this}; }
  /// Awaitable of nothing: resumes there when `delay`, counted from this call, has passed; never earlier.
  template <class Rep, class Period>
  timed_schedule_operation schedule_after(std::chrono::duration<Rep, Period> delay,
                                          stop_token token = {}) noexcept;
  template <class T>
    requires(!detail::is_delay<T>)
  auto schedule_after(T&&, stop_token = {}) noexcept {
    static_assert(detail::never<T>, "schedule_after() needs a duration, which has a unit, such as 10ms");
    return detail::any_awaiter{};
  }
  /// Awaitable of nothing: resumes there at `time` or a little later, immediately if `time` has passed.
  timed_schedule_operation schedule_at(std::chrono::steady_clock::time_point time,
                                       stop_token token = {}) noexcept;
  template <class T>
    requires(!std::is_convertible_v<T, std::chrono::steady_clock::time_point>)
  auto schedule_at(const T&, stop_token = {}) noexcept {
    static_assert(detail::never<T>,
                  "schedule_at() needs a time_point of std::chrono::steady_clock: for one of system_clock, "
                  "write schedule_after(time - std::chrono::system_clock::now())");
    return detail::any_awaiter{};
  }
  void post(resumption& item) noexcept override;
  /// The engine that carries out its operations, and why it was chosen: see io_engine.hpp.
  [[nodiscard]] const io_engine& engine() const noexcept;
  /// The service's own timers: sleep_for() and the like need no other thread here.
  [[nodiscard]] timer_service* timers() noexcept override;
  [[nodiscard]] blocking_service* blocking_calls() noexcept override;

  /// Awaits from code that is no coroutine: starts the awaitable on this io_service, processes events on this
  /// thread until the awaitable has completed, and returns its result. Other threads may process events
  /// meanwhile. Not affected by stop().
  ///
  ///     int main() {
  ///       coracle::io_service io;
  ///       io.run(serve(io));
  ///     }
  ///
  /// Resumes on    the awaitable starts on this io_service.
  /// Cancellation  the awaitable gets an empty environment, with no stop token.
  /// Exceptions    those of the awaitable. One that leaves the promise of another coroutine terminates the
  ///               program.
  template <awaitable Awaitable>
  detail::kept_result_t<Awaitable> run(Awaitable&& value);
  template <class T>
  auto run(T&&) {
    static_assert(detail::is_awaitable<T>,
                  "io_service::run needs an awaitable: a call that returns a task, or std::move of a task "
                  "that has a name");
    return detail::any_awaiter::anything{};
  }
  template <class First, class Second, class... More>
  auto run(First&&, Second&&, More&&...) {
    static_assert(detail::never<First>,
                  "io_service::run takes one awaitable: io.run(coracle::when_all(serve(io), watch(io)))");
    return detail::any_awaiter::anything{};
  }
  template <class Nothing = void>
  auto run() {
    static_assert(!std::is_void_v<Nothing>,
                  "io_service::run takes the work that it runs to its end: io.run(serve(io)); to process "
                  "events until stop(), call process_events()");
  }

  /// Processes events, and waits for more, until stop() is called. Returns their number. This and the next
  /// three return 0 immediately while the service is stopped.
  std::uint64_t process_events();
  /// Processes events until none is ready. Returns their number.
  std::uint64_t process_pending_events();
  /// Waits for one event and processes it. Returns 1, or 0 if the service was stopped.
  std::uint64_t process_one_event();
  /// Processes one event if one is ready. Returns the number processed.
  std::uint64_t process_one_pending_event();

  /// Makes the process_ members return after their current event. Pending events stay pending.
  void stop() noexcept;
  /// Lets events be processed again after a stop(). Requires: all process_ members have returned.
  void reset() noexcept;
  [[nodiscard]] bool is_stop_requested() const noexcept;

  /// Counts pieces of work; the last notify_work_finished() calls stop(). See io_work_scope.
  void notify_work_started() noexcept;
  void notify_work_finished() noexcept;

 private:
  friend class detail::io_descriptor;
  void process_until_over(detail::io_run& its) noexcept;

  detail::io_loop* loop_;  // its own
};

template <awaitable Awaitable>
detail::kept_result_t<Awaitable> io_service::run(Awaitable&& value) {
  auto&& a = get_awaiter(static_cast<Awaitable&&>(value));
  detail::io_run end{*loop_};
  bool suspended;
  {
    const detail::executor_scope here{this};
    const detail::starts_before_blocking nothing_put_off;
    suspended = !detail::is_ready_for_plain_code(a) && detail::suspend_into(a, end.handle());
  }
  if (suspended) process_until_over(end);
  // The result is taken where a coroutine would take it: that may read the clock, as an interval does.
  const detail::executor_scope here{this};
  return detail::result_for_plain_code(a);
}

namespace detail {
/// A timer that the loop delivers as an event: the loop's part of a timed_schedule_operation.
struct io_timer : io_event, timer {
  using timer::progress;
  using timer::timer;
  /// As that of io_event.
  void renew() noexcept {
    io_event::renew();
    progress = timer::state::idle;
  }
};
}  // namespace detail

/// The awaiter that schedule_after() and schedule_at() return.
///
/// Order         by deadline; timers with equal deadlines in the order in which they were awaited.
/// Resumes on    the io_service, also when cancelled; if stop was requested before the await, where it was
///               awaited.
/// Cancellation  ends the wait immediately; has no effect once the timer has expired.
/// Exceptions    as io_operation, but no error of the system.
/// Threads       as io_operation: the waiting coroutine may be destroyed while no thread runs the io_service.
/// Cost          no allocation; O(1), with a system call only if no earlier timer is set.
class [[nodiscard("a timer does nothing until it is awaited")]] io_service::timed_schedule_operation
    : detail::io_timer,
      detail::event_wait {
 public:
  timed_schedule_operation(io_service& service, std::chrono::steady_clock::time_point time,
                           stop_token token) noexcept
      : io_timer(&due), event_wait(&stopped, std::move(token)), service_(service), time_(time) {}
  /// Requires: not awaited yet.
  timed_schedule_operation(timed_schedule_operation&& other) noexcept
      : io_timer(&due),
        event_wait(&stopped, std::move(other)),
        service_(other.service_),
        time_(other.time_) {}
  timed_schedule_operation& operator=(timed_schedule_operation&&) = delete;
  ~timed_schedule_operation() {
    if (is_suspended()) withdraw();
  }

  bool await_ready() const noexcept { return false; }
  template <class Promise>
  void await_suspend(std::coroutine_handle<Promise> self) noexcept {
    start(self, detail::environment_of(self), detail::end_of_parent<Promise>());
  }
  /// As that of io_operation.
  [[nodiscard]] stop_reason await_cancelled() noexcept;
  void await_resume();

 private:
  void start(std::coroutine_handle<> self, const environment* inherited, detail::end_of_task* end) noexcept;
  static void due(detail::timer& self) noexcept;
  static void stopped(detail::stop_listener& self) noexcept;
  static void is_over(detail::io_event& self) noexcept;
  CORACLE_COLD() void withdraw() noexcept;

  io_service& service_;
  std::chrono::steady_clock::time_point time_;
};

inline io_service::timed_schedule_operation io_service::schedule_at(
    std::chrono::steady_clock::time_point time, stop_token token) noexcept {
  return timed_schedule_operation{*this, time, std::move(token)};
}
template <class Rep, class Period>
io_service::timed_schedule_operation io_service::schedule_after(std::chrono::duration<Rep, Period> delay,
                                                                stop_token token) noexcept {
  const auto time = detail::later_by(timers()->now(), detail::clock_duration(delay));
  return schedule_at(time, std::move(token));
}

/// Keeps an io_service running: the end of its last io_work_scope stops it.
///
///     coracle::task<> serve(coracle::io_service& io) {
///       const coracle::io_work_scope scope{io};  // process_events() returns after the last scope has ended
///       co_await io.schedule();
///     }
class [[nodiscard("a scope that is dropped ends at once: give it a name")]] io_work_scope {
 public:
  explicit io_work_scope(io_service& service) noexcept : service_(&service) { service.notify_work_started(); }
  io_work_scope(const io_work_scope& other) noexcept : service_(other.service_) {
    if (service_) service_->notify_work_started();
  }
  io_work_scope(io_work_scope&& other) noexcept : service_(detail::exchange(other.service_, nullptr)) {}
  io_work_scope& operator=(io_work_scope other) noexcept {
    swap(other);
    return *this;
  }
  ~io_work_scope() {
    if (service_) service_->notify_work_finished();
  }

  /// Requires: not moved from.
  [[nodiscard]] io_service& service() const noexcept { return *service_; }
  void swap(io_work_scope& other) noexcept { detail::swap_values(service_, other.service_); }
  friend void swap(io_work_scope& a, io_work_scope& b) noexcept { a.swap(b); }

 private:
  io_service* service_;
};
}  // namespace coracle
