// tests/unit/locked_word_test.cpp -- a word in which one bit is a lock.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <coracle/base/locked_word.hpp>
#include <thread>
#include <vector>

namespace {
using word = coracle::detail::locked_word<std::uint32_t>;
using exchanged_word = coracle::detail::exchanged_word<std::uint32_t>;
using coracle::detail::memory_order_acquire;
using coracle::detail::memory_order_relaxed;

TEST_CASE("locked_word: lock() gives the value, unlock() leaves another") {
  word state{6};
  CHECK(state.load(memory_order_relaxed) == 6);
  CHECK(state.lock() == 6);
  CHECK(state.load(memory_order_relaxed) == (6 | state.lock_bit));
  state.unlock(8);
  CHECK(state.load(memory_order_relaxed) == 8);
  CHECK(state.lock() == 8);
  state.unlock(8);
}

TEST_CASE("exchanged_word: lock() takes the value out of the word, unlock() leaves another") {
  exchanged_word state{6};
  CHECK(state.load_unlocked(memory_order_relaxed) == 6);
  CHECK(state.lock() == 6);
  CHECK(state.load(memory_order_relaxed) == state.lock_bit);
  state.unlock(8);
  CHECK(state.load_unlocked(memory_order_relaxed) == 8);
  CHECK(state.lock() == 8);
  state.unlock(8);
}

TEST_CASE("locked_word: a value changes in one step, unless it is another or the lock is held") {
  word state{2};
  const auto change = [&](std::uint32_t from, std::uint32_t to) {
    std::uint32_t seen = from;
    while (!state.change(seen, to, memory_order_acquire)) {
      if (seen != from) return seen;  // else it has failed for no reason
    }
    return from;
  };
  CHECK(change(2, 4) == 2);
  CHECK(change(2, 6) == 4);
  CHECK(state.lock() == 4);
  CHECK(change(4, 6) == (4 | state.lock_bit));
  state.unlock(4);
  CHECK(change(4, 6) == 4);
  CHECK(state.load(memory_order_relaxed) == 6);
}

TEST_CASE_TEMPLATE(
    "locked_word: excludes threads from one another, and keeps what they change beside the lock", word,
    coracle::detail::locked_word<std::uint32_t>, exchanged_word) {
  constexpr int threads = 4, turns = 2000;
  word state{0};
  long long counter = 0;  // plain: only the holder touches it
  std::vector<std::thread> all;
  for (int t = 0; t != threads; ++t) {
    all.emplace_back([&] {
      for (int i = 0; i != turns; ++i) {
        const std::uint32_t seen = state.lock();
        ++counter;
        state.unlock(seen + 2);
        std::uint32_t expected = state.load_unlocked(memory_order_relaxed);
        while (!state.change(expected, expected + 2, memory_order_acquire)) {
          expected = state.load_unlocked(memory_order_relaxed);
        }
      }
    });
  }
  for (std::thread& each : all) each.join();
  CHECK(counter == threads * turns);
  CHECK(state.load(memory_order_acquire) == 2 * 2 * threads * turns);
}
}  // namespace
