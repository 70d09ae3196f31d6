// bench/scenario/work_queue.hpp -- jobs through a bounded queue; shared with the rivals.
// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <cstdint>

#include "work.hpp"

namespace coracle_bench {
using job = std::uint64_t;

constexpr long queued_jobs = 200'000;
constexpr std::size_t queue_places = 64;
constexpr int queue_workers = 2;

/// The results of one worker.
struct alignas(128) worked {
  long jobs = 0;
  std::uint64_t result = 0;

  void on(std::uint64_t number) noexcept {
    result ^= spend(number, 1000);
    ++jobs;
  }
};
}  // namespace coracle_bench
