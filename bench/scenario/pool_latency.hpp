// bench/scenario/pool_latency.hpp -- the load on the pools of pool_latency.cpp and its rivals.
// SPDX-License-Identifier: MIT
#pragma once
#include <atomic>
#include <chrono>
#include <mutex>
#include <thread>
#include <vector>

#include "scenario.hpp"

namespace coracle_bench {
using wait_clock = std::chrono::steady_clock;

struct busy_pool {
  std::size_t threads;
  int coroutines;                  // that keep the pool busy
  std::chrono::microseconds turn;  // how long each computes before it yields; if zero, it never yields
};
inline constexpr busy_pool short_turns{2, 6, std::chrono::microseconds{130}};
inline constexpr busy_pool short_turns_4_threads{4, 12, std::chrono::microseconds{130}};
inline constexpr busy_pool long_turns{2, 6, std::chrono::microseconds{1300}};
inline constexpr busy_pool no_yields{4, 3, std::chrono::microseconds{0}};

inline void compute_for(std::chrono::microseconds time) {
  for (const auto end = wait_clock::now() + time; wait_clock::now() < end;) continue;
}
/// The latency of each post. Thread-safe.
class waits {
 public:
  void note_since(wait_clock::time_point sent) {
    const std::lock_guard lock{mutex_};
    all_.push_back(wait_clock::now() - sent);
  }
  void pass_to(scenario& run) const {
    run.expect(all_.size() == posts, "each post runs once");
    run.waited(all_);
  }
  static constexpr std::size_t posts = 400;

 private:
  std::mutex mutex_;
  std::vector<std::chrono::nanoseconds> all_;
};
/// Calls post(), which does not wait, from outside every 3 ms.
template <class Post>
void post_now_and_then(Post post) {
  std::this_thread::sleep_for(std::chrono::milliseconds{50});
  for (std::size_t i = 0; i != waits::posts; ++i) {
    post();
    std::this_thread::sleep_for(std::chrono::milliseconds{3});
  }
}

inline constexpr long ring_places = 100;  // ten times as many in the growing run
inline constexpr long ring_hops = 20'000;
}  // namespace coracle_bench
