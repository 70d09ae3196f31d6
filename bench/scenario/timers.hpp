// bench/scenario/timers.hpp -- programs that mostly wait for timers; shared with the rivals.
// SPDX-License-Identifier: MIT
#pragma once
#include <chrono>
#include <vector>

namespace coracle_bench {
using steady = std::chrono::steady_clock;
using lateness = std::vector<std::chrono::nanoseconds>;

constexpr auto tick_period = std::chrono::milliseconds{1};
constexpr long ticks = 1000;  // for a second
constexpr int tick_threads = 4;

constexpr long fast_rate = 10'000, slow_rate = 1000;  // a second, for a second
constexpr long burst = 10;                            // covers what comes due while a timer is late

constexpr int busy_threads = 2, busy_coroutines = 6;
constexpr auto busy_turn = std::chrono::microseconds{130};
constexpr auto busy_period = std::chrono::milliseconds{2};
constexpr long busy_sleeps = 500;

constexpr int crawl_threads = 2, crawlers = 100;
constexpr int pages = 5000;
/// 1 to 10 ms.
constexpr std::chrono::microseconds time_of_page(int page) noexcept {
  return std::chrono::microseconds{1000 + page * 7919LL % 9000};
}

constexpr long due_timers = 100'000;                 // ten times as many in the growing run
constexpr auto due_after = std::chrono::seconds{2};  // longer than it takes to set them
constexpr auto due_within = std::chrono::milliseconds{10};
/// In no order.
constexpr std::chrono::nanoseconds due_at(long timer) noexcept {
  return due_after + std::chrono::nanoseconds{timer * 7'368'787LL % 9'999'991};
}
static_assert(due_within > std::chrono::nanoseconds{9'999'991});

inline void keep_busy(steady::duration time) {
  const auto end = steady::now() + time;
  while (steady::now() < end) {
  }
}
}  // namespace coracle_bench
