// bench/scenario/batcher.hpp -- items in small groups, to be written in batches; shared with the rivals.
// SPDX-License-Identifier: MIT
#pragma once
#include <chrono>
#include <vector>

#include "scenario.hpp"
#include "work.hpp"

namespace coracle_bench {
constexpr long item_groups = 5000;
constexpr int items_of_group = 8;
constexpr std::chrono::microseconds between_groups{100};
constexpr std::size_t items_of_batch = 100;  // or fewer, when the first has waited this long:
constexpr std::chrono::milliseconds longest_wait{1};
constexpr std::size_t item_places = 1024;

using clock = std::chrono::steady_clock;
using item = clock::time_point;  // the time of its arrival

class batch_writer {
 public:
  void write(const std::vector<item>& batch) {
    static_cast<void>(spend(batch.size(), 10'000));
    const auto now = clock::now();
    for (const item& came : batch) waits_.push_back(now - came);
    ++batches_;
  }
  void finish(scenario& run) const {
    run.waited(waits_);
    run.expect(waits_.size() == item_groups * items_of_group, "each item is written once");
    run.expect(batches_ >= waits_.size() / items_of_batch, "no batch is too large");
  }

 private:
  std::vector<std::chrono::nanoseconds> waits_;
  std::size_t batches_ = 0;
};
}  // namespace coracle_bench
