// examples/26_fork_join.cpp -- a loop on all threads of a pool, and a sort divided among them.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <coracle/coracle.hpp>
#include <cstdio>
#include <span>
#include <vector>

coracle::task<> sort(std::span<int> all) {
  if (all.size() <= 1000) {
    std::sort(all.begin(), all.end());
    co_return;
  }
  const std::size_t half = all.size() / 2;
  std::nth_element(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(half), all.end());
  // The first runs here at once; an idle thread takes the second.
  co_await coracle::fork_join(sort(all.first(half)), sort(all.subspan(half)));
}

int main() {
  coracle::static_thread_pool pool{4};
  std::vector<int> numbers(200'000);
  const auto scatter = [&](std::size_t i) { numbers[i] = static_cast<int>(i * 2654435761 % 1'000'003); };
  coracle::sync_wait(coracle::parallel_for(pool, 0, numbers.size(), scatter));
  coracle::sync_wait(coracle::schedule_on(sort(numbers), pool));
  std::printf("%zu numbers, %s\n", numbers.size(),
              std::is_sorted(numbers.begin(), numbers.end()) ? "sorted" : "NOT sorted");
}

// Output:
//   200000 numbers, sorted
