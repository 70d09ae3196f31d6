// src/io/signal_route.hpp -- the way from the handler of one signal to the pipe of the signal_set that has it.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/base/atomic.hpp>
#include <coracle/base/park.hpp>
#include <cstdint>

namespace coracle::detail {
/// A handler may run on any thread, while another closes the pipe; and whatever is opened next gets the same number.
class signal_route {
 public:
  /// Returns false if it leads to another set's pipe.
  bool open(int pipe) noexcept {
    std::uint64_t seen = state_.load(memory_order_relaxed);
    do {
      if (pipe_in(seen) != none) return false;
    } while (!state_.compare_exchange_weak(seen, seen + static_cast<std::uint64_t>(pipe - none),
                                           memory_order_release, memory_order_relaxed)); /*G1*/
    return true;
  }
  /// Called by the handler: gives the pipe, if there is one, to `write`, which may be called on any thread. Calls no
  /// function that a handler must not.
  template <class Write>
  void pass(Write write) noexcept {
    const int pipe = pipe_in(state_.fetch_add(one_inside, memory_order_acquire)); /*G2*/
    if (pipe != none) write(pipe);
    state_.fetch_sub(one_inside, memory_order_release); /*G3*/
  }
  /// Afterwards no handler uses the pipe.
  void close() noexcept {
    std::uint64_t seen = state_.fetch_and(~(one_inside - 1), memory_order_acquire); /*G4*/
    for (unsigned tries = 0; seen >= one_inside; ++tries) {
      wait_a_moment(tries);
      seen = state_.load(memory_order_acquire); /*G5*/
    }
  }

 private:
  static constexpr int none = -1;
  static constexpr std::uint64_t one_inside = std::uint64_t{1} << 32;
  static int pipe_in(std::uint64_t state) noexcept {
    return static_cast<int>(static_cast<std::uint32_t>(state)) + none;
  }

  // In the low half a descriptor less `none`, so 0 if there is none; above it, how many handlers are inside pass().
  // All that changes it are read-modify-write operations, so a handler either is counted when close() takes the pipe
  // away, and is waited for, or finds none.
  //   [G1] none -> a pipe  release  the pipe is there                     pairs with G2
  //   [G2] enter           acquire  see it                                pairs with G1
  //   [G3] leave           release  this handler has done with the pipe   pairs with G4, G5
  //   [G4] a pipe -> none  acquire  if nobody is inside: as G5            pairs with G3
  //   [G5] nobody inside   acquire  the pipe may be closed                pairs with G3
  atomic<std::uint64_t> state_{0};
};
}  // namespace coracle::detail
