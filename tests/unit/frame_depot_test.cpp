// tests/unit/frame_depot_test.cpp -- coroutine frames that one thread frees and another takes.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <algorithm>
#include <coracle/core/frame_memory.hpp>
#include <coracle/testing/allocations.hpp>
#include <cstddef>
#include <latch>
#include <thread>
#include <vector>

#include "cached_frames.hpp"

namespace {
using coracle::detail::depot_budget;
using coracle::detail::frames_for_others;
using coracle::detail::shared_budget;
using coracle::testing::live_allocations;
using coracle_test::cached_frames::empty_cache;
using coracle_test::cached_frames::give_all;
using coracle_test::cached_frames::take_all;

/// Allocates frames here and frees them on another thread, which still runs while `then` does.
template <class Then>
void free_elsewhere(std::vector<void*>& frames, std::size_t size, Then then) {
  take_all(frames, size);
  std::latch freed{1}, over{1};
  std::thread other([&] {
    give_all(frames, size);
    freed.count_down();
    over.wait();
  });
  freed.wait();
  then();
  over.count_down();
  other.join();
}

TEST_CASE("depot: a thread that makes frames takes those that another has freed" *
          doctest::skip(!coracle::testing::allocations_are_counted)) {
  const empty_cache clean;
  for (const std::size_t size : {104u, 1032u, 10'300u}) {
    const std::size_t bytes = 8 * 1024 * 1024;
    std::vector<void*> frames(bytes / size);
    std::size_t made = 0;
    free_elsewhere(frames, size, [&] {
      const std::size_t before = coracle::testing::allocations();
      take_all(frames, size);
      made = coracle::testing::allocations() - before;
      give_all(frames, size);
    });
    CHECK(made < frames.size() * 2 / 3);
    coracle::trim_frame_memory();
  }
}

TEST_CASE("depot: 16 MiB are left at most, and trim_frame_memory() gives them back") {
  const empty_cache clean;
  coracle::trim_frame_memory();  // what threads of other tests have left
  const long long live = live_allocations();
  std::size_t most = 0, left = 0;
  for (const std::size_t size : {1032u, 10'300u, 104u, 100'000u}) {
    std::vector<void*> frames(3 * shared_budget / size);
    free_elsewhere(frames, size, [&] { most = std::max(most, frames_for_others.bytes()); });
  }
  CHECK(most > depot_budget / 4);
  CHECK(most <= depot_budget);
  {
    std::vector<void*> frames(shared_budget / 1032);
    free_elsewhere(frames, 1032, [&] {
      left = frames_for_others.bytes();
      coracle::trim_frame_memory();
      most = frames_for_others.bytes();
    });
  }
  CHECK(left != 0);
  CHECK(most == 0);
  CHECK(live_allocations() <= live);  // idle threads of other tests may give back frames, too
}

TEST_CASE("depot: less than 256 KiB stays with its thread") {
  const empty_cache clean;
  for (const std::size_t size : {10'300u, 200'000u}) {
    std::size_t enough = 1;
    while (enough * coracle::detail::class_size(coracle::detail::large_class(size)) < 256 * 1024) ++enough;
    std::vector<void*> frames(enough - 1);
    free_elsewhere(frames, size, [&] { CHECK(frames_for_others.bytes() == 0); });
    frames.resize(enough);
    free_elsewhere(frames, size, [&] { CHECK(frames_for_others.bytes() != 0); });
    coracle::trim_frame_memory();
  }
}
}  // namespace
