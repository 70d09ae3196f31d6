// coracle/testing/simulation/simulated_loop.hpp -- a single-threaded scheduler inside a simulation.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/base/intrusive_queue.hpp>
#include <coracle/testing/simulation/simulation.hpp>

namespace coracle::testing {
/// An executor that preserves posting order, like run_loop, io_service and strand, while other coroutines of
/// the same simulation run in between.
///
///     coracle::testing::simulated_loop front{sim}, back{sim};
///     co_await coracle::schedule_on(query(), back);
///
/// Order         first posted, first run.
/// Resumes on    the simulation's thread; current_executor() is the loop.
/// Cancellation  schedule(): as schedule_operation.
/// Threads       the simulation's; the simulation outlives it.
/// Cost          no allocation.
class simulated_loop final : public executor {
 public:
  explicit simulated_loop(simulation& sim) noexcept : sim_(sim) {}
  simulated_loop(const simulated_loop&) = delete;
  simulated_loop& operator=(const simulated_loop&) = delete;
  /// Requires: nothing is queued.
  ~simulated_loop() {
    CORACLE_REQUIRE(queue_.empty(),
                    "a simulated_loop was destroyed with coroutines in its queue: join them first");
  }

  /// Awaitable of nothing: continues here, behind what is already queued.
  schedule_operation<simulated_loop> schedule() noexcept { return schedule_operation<simulated_loop>{*this}; }
  void post(resumption& item) noexcept override {
    if (queue_.empty()) sim_.post(turn_);
    queue_.push(item);
  }
  [[nodiscard]] timer_service* timers() noexcept override { return sim_.timers(); }
  [[nodiscard]] blocking_service* blocking_calls() noexcept override { return sim_.blocking_calls(); }

 private:
  /// Posted to the simulation while anything is queued here; runs the first entry.
  struct turn : resumption, detail::callback_frame {
    explicit turn(simulated_loop& its_loop) noexcept : detail::callback_frame(&run, nullptr), loop(its_loop) {
      resumption::handle = detail::callback_frame::handle();
    }
    static void run(detail::callback_frame* self) { static_cast<turn*>(self)->loop.run_first(); }
    simulated_loop& loop;
  };
  /// The coroutine that it resumes may destroy the loop.
  void run_first() {
    const detail::executor_scope here{this};
    const std::coroutine_handle<> first = queue_.pop().handle;
    if (!queue_.empty()) sim_.post(turn_);
    resume(first);
  }

  simulation& sim_;
  detail::intrusive_queue<resumption> queue_;
  turn turn_{*this};
};
}  // namespace coracle::testing
