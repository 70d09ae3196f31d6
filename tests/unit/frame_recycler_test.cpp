// tests/unit/frame_recycler_test.cpp -- a thread's lists of small coroutine frames.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <algorithm>
#include <coracle/core/frame_memory.hpp>
#include <coracle/testing/allocations.hpp>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <latch>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "cached_frames.hpp"

#if CORACLE_ADDRESS_SANITIZER()
#include <sanitizer/asan_interface.h>
#include <sanitizer/lsan_interface.h>
#endif

namespace {
using coracle::testing::live_allocations;
using coracle_test::cached_frames::empty_cache;
using coracle_test::cached_frames::fill_depot;
using coracle_test::cached_frames::give;
using coracle_test::cached_frames::give_all;
using coracle_test::cached_frames::kept_of;
using coracle_test::cached_frames::take;
using coracle_test::cached_frames::take_all;

TEST_CASE("recycler: a freed frame is handed out again, the last one first, without the heap" *
          doctest::skip(!coracle::testing::allocations_are_counted)) {
  const empty_cache clean;
  void *const one = take(100), *const two = take(100);
  give(one, 100);
  give(two, 100);
  const std::size_t before = coracle::testing::allocations();
  void *const three = take(100), *const four = take(100);
  const std::size_t after = coracle::testing::allocations();
  CHECK(three == two);
  CHECK(four == one);
  CHECK(after == before);
  give(three, 100);
  give(four, 100);
}

TEST_CASE("recycler: a frame of more than 184 bytes shares no cache line with its neighbours") {
  const empty_cache clean;
  const auto line_of = [](const std::byte* at) { return reinterpret_cast<std::uintptr_t>(at) / 64; };
  for (const std::size_t size : {185u, 216u, 232u, 248u, 632u, 1032u, 1033u, 5000u}) {
    std::vector<std::byte*> frames(16);
    for (std::byte*& frame : frames) frame = static_cast<std::byte*>(take(size));
    std::sort(frames.begin(), frames.end());
    int shared = 0;
    for (std::size_t i = 1; i != frames.size(); ++i) {
      shared += line_of(frames[i - 1] + size - 1) == line_of(frames[i]);
    }
    CHECK_MESSAGE(shared == 0, size);
    for (std::byte* const frame : frames) give(frame, size);
    coracle::trim_frame_memory();
  }
}

TEST_CASE("recycler: sizes that round up to the same 16 bytes share frames, others do not") {
  const empty_cache clean;
  void* const frame = take(89);
  give(frame, 89);
  void* const other = take(88);
  void* const larger = take(105);
  void* const same = take(104);
  CHECK(other != frame);
  CHECK(larger != frame);
  CHECK(same == frame);
  std::memset(same, 1, 104);
  give(other, 88);
  give(larger, 105);
  give(same, 104);
}

TEST_CASE(
    "recycler: frames of every size are aligned as operator new aligns, and usable to their last byte") {
  const empty_cache clean;
  bool aligned = true;
  for (int round = 0; round != 2; ++round) {
    for (std::size_t size = 1; size != 4200; ++size) {
      void* const frame = take(size);
      aligned = aligned && reinterpret_cast<std::uintptr_t>(frame) % __STDCPP_DEFAULT_NEW_ALIGNMENT__ == 0;
      std::memset(frame, 0x5a, size);
      give(frame, size);
    }
  }
  CHECK(aligned);
}

TEST_CASE("recycler: keeps 256 KiB and 16 MiB of one small size, the rest goes back to the heap" *
          doctest::skip(!coracle::testing::allocations_are_counted)) {
  const empty_cache clean;
  for (const std::size_t size : {24u, 104u, 1032u}) {
    fill_depot();
    std::vector<void*> frames(kept_of(size) + 10);
    const long long live = live_allocations();
    for (int round = 0; round != 2; ++round) {
      take_all(frames, size);
      give_all(frames, size);
      const long long kept = live_allocations() - live;
      CHECK(kept == static_cast<long long>(kept_of(size)));
    }
    coracle::trim_frame_memory();
  }
}

TEST_CASE("recycler: each frame that is taken makes room for one" *
          doctest::skip(!coracle::testing::allocations_are_counted)) {
  const empty_cache clean;
  fill_depot();
  constexpr std::size_t full = kept_of(1032);
  std::vector<void*> frames(full);
  take_all(frames, 1032);
  void *const one_more = take(1032), *const another = take(1032);
  give_all(frames, 1032);
  for (const std::size_t out : {std::size_t{1}, std::size_t{7}, full}) {
    const std::size_t made = coracle::testing::allocations();
    const long long live = live_allocations();
    for (int round = 0; round != 3; ++round) {
      for (std::size_t i = 0; i != out; ++i) frames[i] = take(1032);
      for (std::size_t i = 0; i != out; ++i) give(frames[i], 1032);
    }
    const std::size_t made_after = coracle::testing::allocations();
    const long long live_after = live_allocations();
    CHECK(made_after == made);
    CHECK(live_after == live);
  }
  const long long live = live_allocations();
  give(one_more, 1032);
  const long long live_when_full = live_allocations();
  void* const kept = take(1032);
  give(another, 1032);
  const long long live_after = live_allocations();
  CHECK(live_when_full == live - 1);
  CHECK(live_after == live - 1);
  give(kept, 1032);
}

TEST_CASE("recycler: a link gives back the frame and the room that it was made of") {
  using coracle::detail::frame_link;
  alignas(8) std::byte here[sizeof(frame_link)];
  auto* const frame = reinterpret_cast<frame_link*>(here);
  for (const std::size_t room : {std::size_t{0}, std::size_t{1}, coracle::detail::class_capacity(0)}) {
    CHECK(frame_link(frame, room).below() == frame);
    CHECK(frame_link(frame, room).room() == room);
    CHECK(frame_link(nullptr, room).below() == nullptr);
    CHECK(frame_link(nullptr, room).room() == room);
  }
  CHECK(frame_link().below() == nullptr);
  CHECK(frame_link().room() == 0);
  CHECK(frame_link::can_refer_to(nullptr));
  CHECK(frame_link::can_refer_to(frame));
}

#if CORACLE_ADDRESSES_LEAVE_BITS()
TEST_CASE("recycler: a link of one word has room for the last address of 48 bits, not for the next") {
  using coracle::detail::frame_link;
  auto* const last = reinterpret_cast<frame_link*>((std::uintptr_t{1} << 48) - 8);
  auto* const next = reinterpret_cast<frame_link*>(std::uintptr_t{1} << 48);
  CHECK(frame_link::can_refer_to(last));
  CHECK(frame_link(last, 1).below() == last);
  CHECK_FALSE(frame_link::can_refer_to(next));
}
#endif

TEST_CASE("recycler: 32 frames are many, of whatever sizes") {
  const empty_cache clean;
  const auto has_many = [] {
    return coracle::detail::caches_many_frames(coracle::detail::this_thread_frames());
  };
  CHECK(!has_many());
  std::vector<void*> frames(31);
  for (std::size_t i = 0; i != frames.size(); ++i) frames[i] = take(1 + 33 * i);
  for (std::size_t i = 0; i != frames.size(); ++i) give(frames[i], 1 + 33 * i);
  CHECK(!has_many());
  void* const large = take(1032);
  give(large, 1032);
  CHECK(has_many());
  void* const again = take(1032);
  CHECK(!has_many());
  give(again, 1032);
  coracle::trim_frame_memory();
  CHECK(!has_many());
  take_all(frames, 1);
  void* const one_more = take(1);
  give_all(frames, 1);
  CHECK(!has_many());
  give(one_more, 1);
  CHECK(has_many());
}

TEST_CASE("recycler: a wave of as many frames as are kept comes back without the heap" *
          doctest::skip(!coracle::testing::allocations_are_counted)) {
  const empty_cache clean;
  fill_depot();
  std::vector<void*> frames(kept_of(104));
  std::size_t made = 0;
  for (int round = 0; round != 3; ++round) {
    const std::size_t before = coracle::testing::allocations();
    take_all(frames, 100);
    made = coracle::testing::allocations() - before;
    give_all(frames, 100);
  }
  CHECK(made == 0);
}

TEST_CASE("recycler: a frame freed on another thread joins that thread's cache, which empties when it ends") {
  const empty_cache clean;
  const long long live = live_allocations();
  void* const frame = take(200);
  void* reused = nullptr;
  std::thread([&] {
    give(frame, 200);
    reused = take(200);
    give(reused, 200);
  }).join();
  const long long live_after = live_allocations();
  CHECK(reused == frame);
  CHECK(live_after == live);
}

TEST_CASE("recycler: of a thread that only frees frames, none stays behind") {
  const empty_cache clean;
  const long long in_depot = fill_depot();
  std::vector<void*> frames(kept_of(1032) + 700);
  const long long live = live_allocations();
  take_all(frames, 1032);
  long long live_while_it_runs = 0;
  std::thread([&] {
    const long long live_before = live_allocations();
    give_all(frames, 1032);
    live_while_it_runs = live_allocations() - live_before;
  }).join();
  const long long live_after = live_allocations();
  if (!coracle::testing::allocations_are_counted) return;
  CHECK(live_after == live - in_depot);
  CHECK(live_while_it_runs == -700);
}

#if defined(__GLIBC__)
/// Returns the end of the mapping that holds `at`, as a number.
std::uintptr_t end_of_mapping(const void* at) {
  std::ifstream maps{"/proc/self/maps"};
  for (std::string line; std::getline(maps, line);) {
    char* rest = nullptr;
    const std::uintptr_t begin = std::strtoull(line.c_str(), &rest, 16);
    const std::uintptr_t end = std::strtoull(rest + 1, nullptr, 16);
    if (begin <= reinterpret_cast<std::uintptr_t>(at) && reinterpret_cast<std::uintptr_t>(at) < end)
      return end;
  }
  return 0;
}
TEST_CASE("recycler: the heap of a thread is extended for many frames at a time" *
          doctest::skip(CORACLE_ADDRESS_SANITIZER())) {
  const empty_cache clean;
  constexpr std::size_t size = 1000, count = 3000;
  std::size_t extended = 0;
  std::thread([&] {
    std::vector<void*> frames(count);
    std::uintptr_t end = 0;
    for (std::size_t i = 0; i != count; ++i) {
      frames[i] = take(size);
      if (i % 4 != 0) continue;
      extended += end != std::exchange(end, end_of_mapping(frames[i]));
    }
    give_all(frames, size);
  }).join();
  CHECK(extended < count * size / (20 * 1024));
}
#endif

#if CORACLE_ADDRESS_SANITIZER()
TEST_CASE("recycler: under AddressSanitizer a cached frame is poisoned, a frame in use is not") {
  const empty_cache clean;
  auto* const frame = static_cast<char*>(take(100));
  CHECK_FALSE(__asan_region_is_poisoned(frame, 100));
  give(frame, 100);
  CHECK(__asan_address_is_poisoned(frame));
  CHECK(__asan_address_is_poisoned(frame + 87));
  auto* const again = static_cast<char*>(take(100));
  CHECK(again == frame);
  CHECK_FALSE(__asan_region_is_poisoned(again, 100));
  give(again, 100);
}

TEST_CASE("recycler: what a living thread has cached is no leak to LeakSanitizer") {
  const empty_cache clean;
  std::latch filled{2}, checked{2};
  std::thread other([&] {
    void* frames[4];
    for (void*& each : frames) each = take(100);
    for (void* each : frames) give(each, 100);
    std::memset(frames, 0, sizeof frames);
    filled.arrive_and_wait();
    checked.arrive_and_wait();
  });
  filled.arrive_and_wait();
  const int leaks = __lsan_do_recoverable_leak_check();
  checked.arrive_and_wait();
  other.join();
  CHECK(leaks == 0);
}
#endif
}  // namespace
