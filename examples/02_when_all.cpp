// examples/02_when_all.cpp -- several tasks on a thread pool, and their results in order.
// SPDX-License-Identifier: MIT
#include <coracle/coracle.hpp>
#include <cstdint>
#include <cstdio>
#include <vector>

coracle::task<std::uint64_t> sum_of(std::uint64_t first, std::uint64_t last) {
  std::uint64_t sum = 0;
  for (std::uint64_t i = first; i != last; ++i) sum += i;
  co_return sum;
}

coracle::task<std::uint64_t> parallel_sum(coracle::static_thread_pool& pool, std::uint64_t parts) {
  std::vector<coracle::task<std::uint64_t>> tasks;
  for (std::uint64_t i = 0; i != parts; ++i) {
    tasks.push_back(coracle::schedule_on(sum_of(i * 1000, (i + 1) * 1000), pool));
  }
  std::uint64_t sum = 0;
  for (const std::uint64_t part : co_await coracle::when_all(std::move(tasks))) sum += part;
  co_return sum;
}

int main() {
  coracle::static_thread_pool pool{4};
  std::printf("%ju\n", static_cast<std::uintmax_t>(coracle::sync_wait(parallel_sum(pool, 100))));
}

// Output:
//   4999950000
