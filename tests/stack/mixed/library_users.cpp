// SPDX-License-Identifier: MIT
#include <coracle/compose/as_outcome.hpp>
#include <coracle/compose/when_all.hpp>
#include <coracle/core/stop.hpp>
#include <coracle/core/sync_wait.hpp>
#include <coracle/core/with_environment.hpp>
#include <cstdlib>
#include <new>

#include "library_bodies.hpp"

namespace {
int blocks = 0;  // from operator new, and not freed
}  // namespace

void* operator new(std::size_t size) {
  void* const block = std::malloc(size);
  if (!block) throw std::bad_alloc();
  ++blocks;
  return block;
}
void operator delete(void* block) noexcept {
  if (block) --blocks;
  std::free(block);
}
void operator delete(void* block, std::size_t) noexcept { operator delete(block); }

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
coracle::task<int> wait_above(const coracle::async_manual_reset_event& event) {
  const local_of_wait local;
  co_return co_await wait_below(3, event);
}
coracle::task<> stop(coracle::stop_source& source) {
  source.request_stop();
  co_return;
}
/// A stop request ends tasks of both compilers where they are suspended.
bool is_ended() {
  const coracle::async_manual_reset_event never;
  coracle::stop_source source;
  const auto [end, stopped] = coracle::sync_wait(coracle::when_all(
      coracle::with_stop(coracle::as_outcome(wait_above(never)), source.get_token()), stop(source)));
  static_cast<void>(stopped);
  return end.is_cancelled() && local_of_wait::alive == 0;
}
/// The memory of the frames is used again, and so needs no more blocks.
bool are_frames_freed() {
  const int before = blocks;
  for (int i = 0; i != 1000; ++i) {
    if (!is_ended()) return false;
  }
  return blocks == before;
}
}  // namespace

int main() {
  constexpr int count = 100'000;
  if (coracle::sync_wait(sum(count)) != (count - 1) * (count / 2L)) return 1;
  if (!coracle::sync_wait(fails()) || odd_number::alive != 0) return 2;
  if (!coracle::sync_wait(fails_unseen()) || odd_number::alive != 0) return 3;
  if (!coracle::sync_wait(never_starts())) return 4;
  if (!is_ended()) return 5;
  if (!are_frames_freed()) return 6;
}
