// coracle/testing/simulation/simulation.hpp -- an executor whose order and clock a seed determines.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/core/awaitable.hpp>
#include <coracle/core/detail/callback_frame.hpp>
#include <coracle/core/detail/nested_starts.hpp>
#include <coracle/core/environment.hpp>
#include <coracle/core/schedule.hpp>
#include <coracle/testing/simulation/detail/random_source.hpp>
#include <coracle/testing/simulation/detail/simulation_trace.hpp>
#include <functional>
#include <list>
#include <memory>
#include <source_location>
#include <stdexcept>

namespace coracle::detail {
class simulated_calls;
}  // namespace coracle::detail

namespace coracle::testing {
/// A failed expectation, a deadlock or a livelock in a simulation. The text contains the seed, the activities
/// still alive, and the end of the trace.
class simulation_failure : public std::runtime_error {
  using runtime_error::runtime_error;
};

class simulated_activity;

struct simulation_options {
  /// The clock also advances while something is runnable, as on a busy machine, to the next timer or by a
  /// second, whichever is less: a deadline may pass before a woken coroutine runs.
  bool stalls = false;
  std::uint64_t most_steps = 1'000'000;  ///< per run(); more are reported as a livelock
  std::size_t trace_lines = 40;          ///< kept for the report
};

/// The faults of a simulation: each the number of the event that fails, counted from 1; 0: none.
struct simulation_faults {
  std::uint64_t cancel = 0;     ///< before this step the awaitable of run() gets a stop request
  std::uint64_t operation = 0;  ///< this call of fails() returns true
};

/// Simulates a thread pool and a clock on one thread: runnable coroutines run in an order drawn from the
/// seed, each from one suspension to the next; when nothing is runnable, the clock jumps to the next timer.
/// The same seed gives the same steps, bit for bit, in every process.
///
///     coracle::testing::simulation sim{seed};
///     sim.run(serve_and_ask());  // throws simulation_failure on a deadlock
///
/// Prefer virtual_time_loop if one order is enough, and model_check() for threads that share atomics.
/// Order         unspecified, as on a static_thread_pool; timers by deadline, and coroutines may run between
///               two timers of the same time.
/// Resumes on    the thread that is inside run().
/// Cancellation  schedule(): as schedule_operation. On a deadlock, run() first requests a stop of what it
///               awaits, so that it ends, then throws; if it does not end, the report goes to stderr and the
///               program ends.
/// Exceptions    run(): those of the awaitable, simulation_failure.
/// Threads       one: everything must happen on the thread that created it. The seed determines the run only
///               if there is no other clock, no other source of random numbers and no dependence on
///               addresses.
/// Cost          no allocation from the global heap for posts, timers and the trace; about 40 ns per step.
class simulation final : public executor {
 public:
  using time_point = virtual_clock::time_point;
  using duration = virtual_clock::duration;

  explicit simulation(std::uint64_t seed, const simulation_options& options = {},
                      const simulation_faults& faults = {});
  simulation(const simulation&) = delete;
  simulation& operator=(const simulation&) = delete;
  /// Requires: nothing is queued, and no timer is armed except those of at().
  ~simulation();

  /// Awaits an awaitable from plain code, here, then runs what is still queued. Returns the result.
  template <awaitable Awaitable>
  detail::kept_result_t<Awaitable> run(Awaitable&& value);

  /// Awaitable of nothing: continues here, after a random number of other steps.
  schedule_operation<simulation> schedule() noexcept { return schedule_operation<simulation>{*this}; }
  void post(resumption& item) noexcept override;
  /// Removes a posted entry that has not started.
  void withdraw(const resumption& item) noexcept;
  [[nodiscard]] timer_service* timers() noexcept override { return &clock_; }
  /// A blocking() call takes up to a millisecond, and is then made in a step of its own.
  [[nodiscard]] blocking_service* blocking_calls() noexcept override;

  [[nodiscard]] std::uint64_t seed() const noexcept { return seed_; }
  [[nodiscard]] time_point now() noexcept { return clock_.now(); }
  /// Calls `what` at `when`, unless the simulation ends before; no coroutine runs inside the call, and its
  /// allocations are not made to fail. An exception that leaves it is kept and noted as a failed expectation.
  void at(time_point when, std::function<void()> what);
  /// For the simulated program and its surroundings. The order of the steps has another source.
  [[nodiscard]] random_source& random() noexcept { return random_; }
  /// Call in a simulated device for each operation that could fail: returns true if it shall fail.
  [[nodiscard]] bool fails(std::string_view what) noexcept;
  /// Returns the number of calls of fails().
  [[nodiscard]] std::uint64_t operations() const noexcept { return operations_; }

  /// Adds a line to the trace and its hash.
  void note(std::string_view line) noexcept { trace_.add(simulation_trace::event::note, now(), step_, line); }
  [[nodiscard]] const simulation_trace& trace() const noexcept { return trace_; }
  /// States what must hold. The first failure is kept and noted in the trace; nothing is thrown.
  void expect(bool condition, std::string_view what,
              std::source_location where = std::source_location::current());
  /// Returns the first failed expectation; empty if there is none.
  [[nodiscard]] const std::string& unmet() const noexcept { return unmet_; }

  /// For code that drives a simulation otherwise than by run(), such as an io_service: runs one coroutine,
  /// fires one timer or advances the clock. Returns false if there is nothing to do.
  bool step();
  /// Returns the text of a simulation_failure.
  [[nodiscard]] std::string report(std::string_view why) const;

 private:
  friend simulated_activity;
  struct ready {
    resumption* item;
    std::uint64_t cause;  // the step in which it was posted
  };
  struct call : detail::timer {
    call(simulation& its_owner, std::function<void()> to_call)
        : detail::timer(&run), owner(its_owner), what(std::move(to_call)) {}
    static void run(detail::timer& due) noexcept;
    simulation& owner;
    std::function<void()> what;
    std::list<call>::iterator place;
  };
  struct end_of_run : detail::callback_frame {
    explicit end_of_run(const environment& given) noexcept : detail::callback_frame(&completed, &given) {}
    static void completed(detail::callback_frame* self) { static_cast<end_of_run*>(self)->reached = true; }
    bool reached = false;
  };

  const environment& begin_run();
  void run_until(const end_of_run& end);
  void unwind(const end_of_run& end, const char* why, const std::string& details = {});
  bool resume_one();
  bool fire_one() noexcept;
  void stall() noexcept;
  ready take_ready() noexcept;
  void check_thread() const noexcept {
    CORACLE_REQUIRE(owner_ == &detail::this_thread(), "a simulation was used by a thread other than its own");
  }

  const std::uint64_t seed_;
  const simulation_options options_;
  simulation_faults faults_;
  random_source order_, random_;
  std::uint64_t late_one_in_;  // one in n posts is held back until nothing else is ready; 0: none
  virtual_clock clock_;
  detail::uncounted_vector<ready> ready_, late_;
  std::list<call> calls_;
  const std::unique_ptr<detail::simulated_calls> blocking_calls_;
  simulation_trace trace_;
  environment environment_;
  stop_source stop_;
  std::string unmet_;
  simulated_activity* activities_ = nullptr;
  std::uint64_t step_ = 0, first_step_ = 0, operations_ = 0;
  [[maybe_unused]] const detail::thread_state* const owner_ = &detail::this_thread();
};

/// Names the activity of a block. The report of a deadlock lists the activities that have not ended.
///
///     const coracle::testing::simulated_activity here{sim, "a client waits for its answer"};
///
/// Threads  the simulation's.
class [[nodiscard]] simulated_activity {
 public:
  /// Requires: `name` outlives it.
  explicit simulated_activity(simulation& sim, std::string_view name,
                              std::source_location where = std::source_location::current()) noexcept
      : sim_(sim), name_(name), where_(where), next_(sim.activities_) {
    if (next_) next_->previous_ = this;
    sim.activities_ = this;
  }
  simulated_activity(const simulated_activity&) = delete;
  simulated_activity& operator=(const simulated_activity&) = delete;
  ~simulated_activity() {
    (previous_ ? previous_->next_ : sim_.activities_) = next_;
    if (next_) next_->previous_ = previous_;
  }

 private:
  friend simulation;
  simulation& sim_;
  const std::string_view name_;
  const std::source_location where_;
  simulated_activity* next_;
  simulated_activity* previous_ = nullptr;
};

template <awaitable Awaitable>
detail::kept_result_t<Awaitable> simulation::run(Awaitable&& value) {
  end_of_run end{begin_run()};
  auto&& a = get_awaiter(static_cast<Awaitable&&>(value));
  {
    const detail::executor_scope here{this};
    const detail::starts_before_blocking nothing_put_off;
    if (detail::is_ready_for_plain_code(a) || !detail::suspend_into(a, end.handle())) end.reached = true;
  }
  run_until(end);
  // The result is taken where a coroutine would take it: that may read the clock, as an interval does.
  const detail::executor_scope here{this};
  return detail::result_for_plain_code(a);
}
}  // namespace coracle::testing
