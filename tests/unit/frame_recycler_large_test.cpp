// tests/unit/frame_recycler_large_test.cpp -- large coroutine frames, and the budget of a thread's lists.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <coracle/core/frame_memory.hpp>
#include <coracle/testing/allocations.hpp>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <thread>
#include <vector>

#include "cached_frames.hpp"

namespace {
using coracle::detail::class_size;
using coracle::detail::frame_classes;
using coracle::detail::large_class;
using coracle::detail::largest_kept;
using coracle::detail::shared_budget;
using coracle::detail::small_classes;
using coracle::testing::live_allocations;
using coracle_test::cached_frames::empty_cache;
using coracle_test::cached_frames::fill_depot;
using coracle_test::cached_frames::give;
using coracle_test::cached_frames::give_all;
using coracle_test::cached_frames::kept_of;
using coracle_test::cached_frames::take;
using coracle_test::cached_frames::take_all;

TEST_CASE("recycler: a large frame takes at most an eighth more than was asked for") {
  std::size_t last = small_classes;
  bool fits = true, in_order = true, is_close = true;
  for (std::size_t size = 1033; size <= largest_kept; ++size) {
    const std::size_t index = large_class(size);
    fits = fits && index < frame_classes && class_size(index) >= size;
    in_order = in_order && (index == last || index == last + 1);
    is_close = is_close && class_size(index) - size < size / 8;
    last = index;
  }
  CHECK(fits);
  CHECK(in_order);
  CHECK(is_close);
  CHECK(last == frame_classes - 1);
  CHECK(largest_kept == 256 * 1024 + 8);
}

TEST_CASE("recycler: a large frame is handed out again for its size, aligned and usable to its last byte") {
  const empty_cache clean;
  for (const std::size_t size : {std::size_t{1033}, std::size_t{10'300}, largest_kept}) {
    void* const frame = take(size);
    CHECK(reinterpret_cast<std::uintptr_t>(frame) % __STDCPP_DEFAULT_NEW_ALIGNMENT__ == 0);
    std::memset(frame, 0x5a, size);
    give(frame, size);
    void* const smaller = take(size - size / 4);
    const std::size_t made = coracle::testing::allocations();
    void* const again = take(size);
    const std::size_t made_after = coracle::testing::allocations();
    CHECK(smaller != frame);
    CHECK(again == frame);
    CHECK(made_after == made);
    std::memset(again, 0x5a, size);
    give(again, size);
    give(smaller, size - size / 4);
  }
}

TEST_CASE("recycler: frames of more than 256 KiB come from the heap and go back at once" *
          doctest::skip(!coracle::testing::allocations_are_counted)) {
  const empty_cache clean;
  const std::size_t made = coracle::testing::allocations();
  const long long live = live_allocations();
  for (int i = 0; i != 3; ++i) give(take(largest_kept + 1), largest_kept + 1);
  const std::size_t made_after = coracle::testing::allocations();
  const long long live_after = live_allocations();
  CHECK(made_after - made == 3);
  CHECK(live_after == live);
}

/// The number of frames of a large size that fill the budget.
std::size_t full_of(std::size_t size) { return shared_budget / class_size(large_class(size)); }

TEST_CASE("recycler: of one large size a thread keeps 16 MiB, the rest goes back to the heap" *
          doctest::skip(!coracle::testing::allocations_are_counted)) {
  const empty_cache clean;
  for (const std::size_t size : {std::size_t{10'300}, largest_kept}) {
    const long long in_depot = fill_depot();
    std::vector<void*> frames(full_of(size) + 10);
    const long long live = live_allocations();
    for (int round = 0; round != 2; ++round) {
      take_all(frames, size);
      give_all(frames, size);
      CHECK(live_allocations() - live == static_cast<long long>(full_of(size)));
    }
    coracle::trim_frame_memory();
    CHECK(live_allocations() == live - in_depot);
  }
}

TEST_CASE("recycler: 16 MiB are the bound for all large sizes together, and the newest frames stay" *
          doctest::skip(!coracle::testing::allocations_are_counted)) {
  const empty_cache clean;
  const long long in_depot = fill_depot();
  std::vector<void*> middle(full_of(65'000)), small(full_of(1100) / 2), large(2);
  const long long live = live_allocations();
  take_all(middle, 65'000);
  take_all(small, 1100);
  take_all(large, 200'000);
  give_all(middle, 65'000);
  give_all(small, 1100);
  give_all(large, 200'000);
  std::size_t kept = 0;
  for (std::size_t index = small_classes; index != coracle::detail::frame_lists; ++index) {
    for (auto list = coracle::detail::this_thread_frames().lists[index]; list.below(); list = *list.below())
      kept += class_size(index);
  }
  CHECK(kept == coracle::detail::this_thread_frames().shared_bytes);
  CHECK(kept <= shared_budget);
  CHECK(kept > shared_budget - class_size(large_class(65'000)));
  const std::size_t made = coracle::testing::allocations();
  take_all(small, 1100);
  take_all(large, 200'000);
  CHECK(coracle::testing::allocations() == made);
  give_all(small, 1100);
  give_all(large, 200'000);
  coracle::trim_frame_memory();
  const long long live_after = live_allocations();
  CHECK(live_after == live - in_depot);
  CHECK(coracle::detail::this_thread_frames().shared_bytes == 0);
}

TEST_CASE("recycler: small frames whose list is full share the budget of large ones" *
          doctest::skip(!coracle::testing::allocations_are_counted)) {
  const empty_cache clean;
  fill_depot();
  std::vector<void*> large(full_of(100'000)), small(kept_of(1032));
  take_all(large, 100'000);
  take_all(small, 1032);
  const long long live = live_allocations();
  give_all(large, 100'000);
  const long long live_large = live_allocations();
  give_all(small, 1032);
  const long long live_small = live_allocations();
  CHECK(live_large == live);
  CHECK(live_small == live - static_cast<long long>(large.size()));
  take_all(small, 1032);
  const long long live_again = live_allocations();
  CHECK(live_again == live_small);
  CHECK(coracle::detail::this_thread_frames().shared_bytes == 0);
  give_all(small, 1032);
}

TEST_CASE("recycler: large frames displace small ones that share their budget" *
          doctest::skip(!coracle::testing::allocations_are_counted)) {
  const empty_cache clean;
  fill_depot();
  std::vector<void*> small(kept_of(104)), large(full_of(100'000));
  take_all(small, 104);
  take_all(large, 100'000);
  give_all(small, 104);
  const long long live = live_allocations();
  give_all(large, 100'000);
  CHECK(live_allocations() < live);
  const std::size_t made = coracle::testing::allocations();
  take_all(large, 100'000);
  CHECK(coracle::testing::allocations() == made);
  give_all(large, 100'000);
}

TEST_CASE("recycler: 1,000 tasks of 10 KiB each come again without the heap" *
          doctest::skip(!coracle::testing::allocations_are_counted)) {
  const empty_cache clean;
  std::vector<void*> frames(1000);
  std::size_t made = 0;
  for (int round = 0; round != 3; ++round) {
    const std::size_t before = coracle::testing::allocations();
    take_all(frames, 10 * 1024 + 100);
    made = coracle::testing::allocations() - before;
    give_all(frames, 10 * 1024 + 100);
  }
  CHECK(made == 0);
}

TEST_CASE("recycler: a large frame freed on another thread is that thread's, until it ends") {
  const empty_cache clean;
  const long long live = live_allocations();
  void* const frame = take(20'000);
  void* reused = nullptr;
  std::thread([&] {
    give(frame, 20'000);
    reused = take(20'000);
    give(reused, 20'000);
  }).join();
  const long long live_after = live_allocations();
  CHECK(reused == frame);
  CHECK(live_after == live);
}

TEST_CASE("recycler: 32 KiB of large frames are many") {
  const empty_cache clean;
  const auto has_many = [] {
    return coracle::detail::caches_many_frames(coracle::detail::this_thread_frames());
  };
  std::vector<void*> frames(4);
  take_all(frames, 8 * 1024);
  for (std::size_t i = 0; i != 3; ++i) give(frames[i], 8 * 1024);
  CHECK(!has_many());
  give(frames[3], 8 * 1024);
  CHECK(has_many());
  coracle::trim_frame_memory();
  CHECK(!has_many());
}
}  // namespace
