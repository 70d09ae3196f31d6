// src/testing/simulation/simulated_calls.hpp -- the blocking() calls of a simulation.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/core/detail/callback_frame.hpp>
#include <coracle/core/detail/wait_queue.hpp>
#include <coracle/exec/blocking.hpp>
#include <cstddef>

namespace coracle::testing {
class simulation;
}  // namespace coracle::testing

namespace coracle::detail {
/// Makes each call in a step of its own, as on a thread of its own: outside any executor.
class simulated_calls final : public blocking_service {
 public:
  explicit simulated_calls(testing::simulation& sim) noexcept : sim_(sim) {}

  bool enqueue(blocking_call& call) noexcept override;
  bool withdraw(blocking_call& call) noexcept override { return waiting_.withdraw(node_of(call)); }

 private:
  /// Posted to the simulation while calls are due.
  struct turn : resumption, callback_frame {
    explicit turn(simulated_calls& its_owner) noexcept : callback_frame(&run, nullptr), owner(its_owner) {
      resumption::handle = callback_frame::handle();
    }
    static void run(callback_frame* self) { static_cast<turn*>(self)->owner.make_first(); }
    simulated_calls& owner;
  };
  void make_first();

  testing::simulation& sim_;
  wait_queue waiting_;
  std::size_t due_ = 0;
  turn turn_{*this};
};
}  // namespace coracle::detail
