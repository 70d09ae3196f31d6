// SPDX-License-Identifier: MIT
#include <coracle/core/sync_wait.hpp>

#include "library_bodies.hpp"

namespace {
coracle::task<long> sum(int n) {
  long total = 0;
  for (int i = 0; i != n; ++i) total += co_await half(2 * i);
  co_return total;
}
coracle::task<bool> fails() {
  try {
    co_return co_await half(1) < 0;
  } catch (const odd_number&) {
    co_return odd_number::alive == 1;
  }
}
coracle::task<bool> fails_unseen() {
  const coracle::task<int> work = half(1);
  co_await work.when_ready();
  co_return odd_number::alive == 1;
}
coracle::task<bool> never_starts() {
  const coracle::task<int> work = half(1);
  co_return !work.is_ready();
}
}  // namespace

int main() {
  constexpr int count = 100'000;
  if (coracle::sync_wait(sum(count)) != (count - 1) * (count / 2L)) return 1;
  if (!coracle::sync_wait(fails()) || odd_number::alive != 0) return 2;
  if (!coracle::sync_wait(fails_unseen()) || odd_number::alive != 0) return 3;
  if (!coracle::sync_wait(never_starts())) return 4;
}
