// tests/stress/async_generator.cpp -- bodies and consumers that meet on changing threads.
// SPDX-License-Identifier: MIT
#include <atomic>
#include <coracle/compose/when_all.hpp>
#include <coracle/core/sync_wait.hpp>
#include <coracle/core/task.hpp>
#include <coracle/exec/static_thread_pool.hpp>
#include <coracle/generators/async_generator.hpp>
#include <coracle/sync/async_auto_reset_event.hpp>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include "../support/stress.hpp"

namespace {
using coracle::async_generator;
using coracle::static_thread_pool;
using coracle::task;

// Elements and sums are plain, so that TSan detects missing synchronisation between body and consumer.

/// Each element is computed on the other pool.
async_generator<long long> numbers(static_thread_pool& first, static_thread_pool& second, long long count) {
  for (long long i = 0; i != count; ++i) {
    if (i % 3 != 0) co_await (i % 2 == 0 ? first : second).schedule();
    co_yield i;
  }
}
task<long long> add_up(async_generator<long long> source, static_thread_pool* home) {
  long long sum = 0;
  while (const long long* each = co_await source.next()) {
    sum += *each;
    if (home && sum % 5 == 0) co_await home->schedule();
  }
  co_return sum;
}
long long sum_on_pools(int count) {
  static_thread_pool first{1}, second{1}, home{1};
  auto twice = [](long long x) { return 2 * x; };
  std::vector<task<long long>> sums;
  for (int i = 0; i != 4; ++i) {
    auto source = coracle::fmap(numbers(first, second, count), twice);
    sums.push_back(add_up(std::move(source), i % 2 == 0 ? &home : nullptr));
  }
  long long sum = 0;
  for (const long long each : coracle::sync_wait(coracle::when_all(std::move(sums)))) sum += each;
  return sum;
}

/// The body waits for another thread at each element, and the consumer runs on that thread after it.
struct feed {
  coracle::async_auto_reset_event filled;
  int value = 0;
};
async_generator<int> each_of(feed& from, int count) {
  for (int i = 0; i != count; ++i) {
    co_await from.filled;
    co_yield from.value;
  }
}
task<> take_all(async_generator<int> source, std::atomic<int>& taken, long long& sum) {
  while (const int* each = co_await source.next()) {
    sum += *each;
    taken.fetch_add(1, std::memory_order_release);
  }
}
long long fed_by_a_thread(int count) {
  feed from;
  std::atomic<int> taken{0};
  long long sum = 0;
  std::thread feeder([&] {
    coracle_test::post_one_by_one(count, 100, taken, [&](int i) {
      from.value = i;
      from.filled.set();
    });
  });
  coracle::sync_wait(take_all(each_of(from, count), taken, sum));
  feeder.join();
  return sum;
}

/// Abandoned at every element, by a consumer on any thread: its locals are destroyed there.
struct counted {
  explicit counted(long long& count) : alive(count) { ++alive; }
  counted(const counted&) = delete;
  counted& operator=(const counted&) = delete;
  ~counted() { --alive; }
  long long& alive;
};
async_generator<int> hopping(static_thread_pool& pool, long long& alive, int fail_at) {
  const counted local(alive);
  for (int i = 0; i != fail_at; ++i) {
    co_await pool.schedule();
    co_yield i;
  }
  throw std::runtime_error("at its end");
}
task<int> leave_early(static_thread_pool& pool, long long& alive, int after) {
  auto source = hopping(pool, alive, 3);
  int seen = 0;
  try {
    while (seen != after) {
      const int* const each = co_await source.next();
      seen += each != nullptr;
    }
  } catch (const std::runtime_error&) {
    seen += 10;
  }
  co_return seen;
}
long long left_early(int rounds) {
  static_thread_pool pool{2};
  std::vector<long long> alive(5);
  long long wrong = 0;
  for (int i = 0; i != rounds; ++i) {
    std::vector<task<int>> consumers;
    for (int after = 0; after != 5; ++after) {
      consumers.push_back(leave_early(pool, alive[static_cast<std::size_t>(after)], after));
    }
    const std::vector<int> seen = coracle::sync_wait(coracle::when_all(std::move(consumers)));
    wrong += seen != std::vector{0, 1, 2, 3, 13};
  }
  for (const long long each : alive) wrong += each;
  return wrong;
}
}  // namespace

int main(int argc, char** argv) {
  coracle_test::stress run("async_generator", argc, argv, 20'000);
  const long long n = run.int_count();
  run.expect("summed on pools", sum_on_pools(run.int_count()), 4 * n * (n - 1));
  run.expect("summed from a thread", fed_by_a_thread(run.int_count()), n * (n - 1) / 2);
  run.expect("left early wrong", left_early(run.int_count() / 10), 0);
  return run.finish();
}
