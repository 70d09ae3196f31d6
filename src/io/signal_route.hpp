// src/io/signal_route.hpp -- leads from a signal's handler to the pipe of the signal_set that catches it.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/base/atomic.hpp>
#include <coracle/base/park.hpp>
#include <cstdint>

namespace coracle::detail {
/// A handler may run on any thread while another thread closes the pipe. The handler must not then write to
/// the closed descriptor, because the next file to be opened reuses its number.
class signal_route {
 public:
  /// Returns false if the route already leads to the pipe of another set.
  bool open(int pipe) noexcept {
    std::uint64_t seen = state_.load(memory_order_relaxed);
    do {
      if (pipe_in(seen) != none) return false;
    } while (!state_.compare_exchange_weak(seen, seen + static_cast<std::uint64_t>(pipe - none),
                                           memory_order_release, memory_order_relaxed)); /*G1*/
    return true;
  }
  /// Called by the handler, on any thread: calls `write(pipe)` if there is a pipe. Async-signal-safe if
  /// `write` is.
  template <class Write>
  void pass(Write write) noexcept {
    const int pipe = pipe_in(state_.fetch_add(one_inside, memory_order_acquire)); /*G2*/
    if (pipe != none) write(pipe);
    state_.fetch_sub(one_inside, memory_order_release); /*G3*/
  }
  /// When it returns, no handler uses the pipe.
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

  // The low half holds the descriptor minus `none`, so that 0 means no pipe; the high half counts the
  // handlers inside pass(). Only read-modify-write operations change the state. So when close() removes the
  // pipe, a handler either is counted, and close() waits for it, or finds no pipe.
  //   [G1] none -> a pipe  release  publishes the pipe                        pairs with G2
  //   [G2] enter           acquire  sees the pipe                             pairs with G1
  //   [G3] leave           release  this handler no longer uses the pipe      pairs with G4, G5
  //   [G4] a pipe -> none  acquire  if no handler is inside: as G5            pairs with G3
  //   [G5] none inside     acquire  the pipe may be closed                    pairs with G3
  atomic<std::uint64_t> state_{0};
};
}  // namespace coracle::detail
