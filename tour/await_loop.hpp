// tour/await_loop.hpp -- one loop over children that complete at once, for any kind of task, with a probe
// that watches the stack.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/core/sync_wait.hpp>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "clock.hpp"
#include "stack.hpp"

namespace tour {
/// Where the stack was in each child.
class stack_probe {
 public:
  /// `limit`: the loop ends before the stack grows below it.
  explicit stack_probe(std::uintptr_t limit) : limit_(limit) { samples_.reserve(64); }

  void look(std::uintptr_t position) {
    if (iterations_ == 0) first_ = lowest_ = highest_ = position;
    if (position < lowest_) lowest_ = position;
    if (position > highest_) highest_ = position;
    ++iterations_;
    if ((iterations_ & (iterations_ - 1)) == 0) take_sample();
  }
  [[nodiscard]] bool exhausted() const { return lowest_ < limit_; }
  void take_sample() {
    samples_.emplace_back(static_cast<double>(iterations_), static_cast<double>(spread()));
  }

  [[nodiscard]] std::uint64_t iterations() const { return iterations_; }
  /// Between the highest and the lowest position.
  [[nodiscard]] std::size_t spread() const { return highest_ - lowest_; }
  [[nodiscard]] std::uintptr_t first() const { return first_; }
  [[nodiscard]] const std::vector<std::pair<double, double>>& samples() const { return samples_; }

 private:
  std::uintptr_t limit_;
  std::uintptr_t first_ = 0, lowest_ = UINTPTR_MAX, highest_ = 0;
  std::uint64_t iterations_ = 0;
  std::vector<std::pair<double, double>> samples_;
};

// Out of line, so that each kind of task pays for a frame.
template <class Task>
[[gnu::noinline]] Task one_child(stack_probe& probe) {
  probe.look(frame_position());
  co_return std::uint64_t{1};
}

template <class Task>
Task sum_of_children(stack_probe& probe, std::uint64_t count) {
  std::uint64_t sum = 0;
  for (std::uint64_t i = 0; i != count; ++i) {
    sum += co_await one_child<Task>(probe);
    if (probe.exhausted()) break;
  }
  co_return sum;
}

struct loop_result {
  std::uint64_t iterations = 0;
  std::size_t stack_spread = 0;
  double nanoseconds = 0;    ///< of one await
  bool stack_ended = false;  ///< stopped before the guard page
  bool sum_is_right = false;
  std::size_t stack_left = 0;  ///< below the deepest child, to the end of the stack
  std::vector<std::pair<double, double>> samples;
};

/// Runs the loop on the calling thread, whose stack has these bounds; keeps `reserve` bytes of it free.
template <class Task>
loop_result run_loop_of(std::uint64_t count, stack_bounds bounds, std::size_t reserve) {
  stack_probe probe(bounds.lowest + reserve);
  const stopwatch watch;
  const std::uint64_t sum = coracle::sync_wait(sum_of_children<Task>(probe, count));
  loop_result result;
  result.nanoseconds = watch.nanoseconds() / static_cast<double>(probe.iterations());
  result.iterations = probe.iterations();
  result.stack_spread = probe.spread();
  result.stack_ended = probe.exhausted();
  result.sum_is_right = sum == probe.iterations();
  result.stack_left = probe.first() - probe.spread() - bounds.lowest;
  probe.take_sample();
  result.samples = probe.samples();
  return result;
}
}  // namespace tour
