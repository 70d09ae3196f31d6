// coracle/testing/simulation/simulation.hpp -- run coroutines in an order and with a clock that one seed decides.
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
#include <source_location>
#include <stdexcept>

namespace coracle::testing {
/// A failed expectation, a deadlock or a livelock in a simulation. The text has the seed, the activities that are still
/// alive, and the end of the trace.
class simulation_failure : public std::runtime_error {
  using runtime_error::runtime_error;
};

class simulated_activity;

struct simulation_options {
  /// The clock also moves while something can run, as on a busy machine: a coroutine that has been woken may find that
  /// its time is over.
  bool stalls = false;
  std::uint64_t most_steps = 1'000'000;  ///< of one run(); more are reported as a livelock
  std::size_t trace_lines = 40;          ///< that are remembered
};

/// What is to fail in a simulation. The k-th, counted from 1; 0: none.
struct simulation_faults {
  std::uint64_t cancel = 0;     ///< before this step, what run() awaits is asked to stop
  std::uint64_t operation = 0;  ///< this call of fails() gives true
};

/// A pool of threads, a clock and dice in one thread: whatever can run is run in an order drawn from the seed, each
/// from one suspension to the next, and when nothing can, the clock jumps to the next timer. The same seed gives the
/// same steps, bit for bit, in each process.
///
///     coracle::testing::simulation sim{seed};
///     sim.run(serve_and_ask());  // throws simulation_failure on a deadlock
///
/// Prefer virtual_time_loop where one order is enough, and model_check() for threads that share atomics.
/// Order         none is promised, as by a static_thread_pool; timers by deadline, and others may run between two of
///               the same moment.
/// Resumes on    the thread that is inside run().
/// Cancellation  schedule(): as schedule_operation. Where nothing can go on, run() first asks what it awaits to stop, so
///               that it ends, then throws; where it does not end, the report goes to stderr and ends the program.
/// Exceptions    run(): those of the awaitable, simulation_failure.
/// Threads       one: all must happen on the thread that made it. No other clock, no other source of random numbers,
///               no order by address, or the seed does not decide.
/// Cost          no allocation from the global heap for posts, timers and the trace; about 40 ns a step.
class simulation final : public executor {
 public:
  using time_point = virtual_clock::time_point;
  using duration = virtual_clock::duration;

  explicit simulation(std::uint64_t seed, const simulation_options& options = {},
                      const simulation_faults& faults = {});
  simulation(const simulation&) = delete;
  simulation& operator=(const simulation&) = delete;
  /// Requires: nothing is queued, and no timer is set but those of at().
  ~simulation();

  /// Awaits on behalf of plain code, here, and then runs what is still queued. Returns the result.
  template <awaitable Awaitable>
  await_result_t<Awaitable> run(Awaitable&& value);

  /// Awaitable of nothing: continues here, sooner or later.
  schedule_operation<simulation> schedule() noexcept { return schedule_operation<simulation>{*this}; }
  void post(resumption& item) noexcept override;
  /// Takes back what was posted, if it has not begun to run.
  void withdraw(const resumption& item) noexcept;
  [[nodiscard]] timer_service* timers() noexcept override { return &clock_; }

  [[nodiscard]] std::uint64_t seed() const noexcept { return seed_; }
  [[nodiscard]] time_point now() noexcept { return clock_.now(); }
  /// Calls `what` at `when`, unless the simulation ends before; no coroutine runs inside the call, and no
  /// allocation in it is made to fail.
  void at(time_point when, std::function<void()> what);
  /// For the program that is simulated, and for what surrounds it. The order of the steps has another.
  [[nodiscard]] random_source& random() noexcept { return random_; }
  /// For a simulated device, at each thing that could fail: true where it is to.
  [[nodiscard]] bool fails(std::string_view what) noexcept;
  /// So often fails() was called.
  [[nodiscard]] std::uint64_t operations() const noexcept { return operations_; }

  /// Adds a line of its own to the trace, and to its hash.
  void note(std::string_view line) noexcept { trace_.add(simulation_trace::event::note, now(), step_, line); }
  [[nodiscard]] const simulation_trace& trace() const noexcept { return trace_; }
  /// What must be true. The first that is not is kept, and noted in the trace; nothing is thrown.
  void expect(bool condition, std::string_view what,
              std::source_location where = std::source_location::current());
  /// The first expectation that failed; empty if none did.
  [[nodiscard]] const std::string& unmet() const noexcept { return unmet_; }

  /// For what runs a simulation in another way than run(), as an io_service does: runs one coroutine, or fires one
  /// timer, or moves the clock. False: there is nothing of all that.
  bool step();
  /// What the text of a simulation_failure is.
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
  void unwind(const end_of_run& end, const char* why);
  bool resume_one();
  bool fire_one() noexcept;
  ready take_ready() noexcept;
  void check_thread() const noexcept {
    CORACLE_REQUIRE(owner_ == &detail::this_thread(), "a simulation was used by a thread other than its own");
  }

  const std::uint64_t seed_;
  const simulation_options options_;
  simulation_faults faults_;
  random_source order_, random_;
  std::uint64_t
      late_one_in_;  // one in so many that are posted is kept back until nothing else is ready; 0: none
  virtual_clock clock_;
  detail::uncounted_vector<ready> ready_, late_;
  std::list<call> calls_;
  simulation_trace trace_;
  environment environment_;
  stop_source stop_;
  std::string unmet_;
  simulated_activity* activities_ = nullptr;
  std::uint64_t step_ = 0, first_step_ = 0, operations_ = 0;
  [[maybe_unused]] const detail::thread_state* const owner_ = &detail::this_thread();
};

/// Gives what runs in a block a name. The report of a simulation in which nothing can go on lists those that have not
/// ended.
///
///     const coracle::testing::simulated_activity here{sim, "a client waits for its answer"};
///
/// Threads  that of the simulation.
class [[nodiscard]] simulated_activity {
 public:
  /// `name` outlives it.
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
await_result_t<Awaitable> simulation::run(Awaitable&& value) {
  end_of_run end{begin_run()};
  auto&& a = get_awaiter(static_cast<Awaitable&&>(value));
  {
    const detail::executor_scope here{this};
    const detail::starts_before_blocking nothing_put_off;
    if (a.await_ready() || !detail::suspend_into(a, end.handle())) end.reached = true;
  }
  run_until(end);
  return a.await_resume();
}
}  // namespace coracle::testing
