// SPDX-License-Identifier: MIT
#include <coracle/compose/as_outcome.hpp>
#include <coracle/core/sync_wait.hpp>
#include <coracle/sync/async_manual_reset_event.hpp>

#include "library_bodies.hpp"

namespace {
/// Awaits a task of the library below `levels` of its own.
coracle::task<int> half_below(int levels, int n) {
  const local_of_wait local;
  if (levels != 0) co_return co_await half_below(levels - 1, n) + 1;
  co_return co_await half(n);
}
bool gives_a_value() {
  const coracle::outcome<int> end = coracle::sync_wait(coracle::as_outcome(half_below(3, 4)));
  return end.has_value() && local_of_wait::alive == 0;
}
bool ends_with_an_error() {
  const coracle::outcome<int> end = coracle::sync_wait(coracle::as_outcome(half_below(3, 5)));
  return end.has_error() && local_of_wait::alive == 0 && odd_number::alive == 1;
}
}  // namespace

int main() {
  for (int i = 0; i != 1000; ++i) {
    if (!gives_a_value()) return 1;
    if (!ends_with_an_error()) return 2;
    if (odd_number::alive != 0) return 3;
  }
}
