// tests/stress/small_mutex.cpp -- a plain counter behind a lock that is held for longer than threads spin.
// SPDX-License-Identifier: MIT
#include <coracle/base/small_mutex.hpp>
#include <thread>
#include <vector>

#include "../support/stress.hpp"

namespace {
/// Each thread takes the lock `turns` times and holds it for up to `longest` iterations of a loop. A lost
/// wake-up is a deadlock.
long long count_under_lock(int threads, int turns, int longest) {
  coracle::detail::small_mutex mutex;
  long long counter = 0;
  const auto count = [&](int thread) {
    for (int i = 0; i != turns; ++i) {
      {
        const coracle::detail::small_mutex_lock locked{mutex};
        const long long before = counter;
        coracle_test::hold_up(static_cast<int>(7919LL * (i + thread) % longest));
        counter = before + 1;
      }
      coracle_test::hold_up(static_cast<int>(104729LL * (i + thread) % longest));
    }
  };
  std::vector<std::thread> all;
  for (int t = 0; t != threads; ++t) all.emplace_back(count, t);
  for (std::thread& each : all) each.join();
  return counter;
}
}  // namespace

int main(int argc, char** argv) {
  coracle_test::stress run("small_mutex", argc, argv, 20'000);
  run.expect("short turns", count_under_lock(3, run.int_count(), 50), 3LL * run.count());
  run.expect("long turns", count_under_lock(3, run.int_count() / 10, 20'000), 3LL * (run.count() / 10));
  return run.finish();
}
