// tests/unit/frame_memory_test.cpp -- the recycler of coroutine frames, and what replaces it.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <algorithm>
#include <coracle/core/frame_memory.hpp>
#include <coracle/core/sync_wait.hpp>
#include <coracle/core/task.hpp>
#include <coracle/testing/allocations.hpp>
#include <coracle/testing/lifetime_probe.hpp>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <latch>
#include <new>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#if CORACLE_ADDRESS_SANITIZER()
#include <sanitizer/asan_interface.h>
#include <sanitizer/lsan_interface.h>
#endif

namespace {
using coracle::recycled_frames;
using coracle::task;
using coracle::testing::live_allocations;

void* take(std::size_t size) { return recycled_frames::operator new(size); }
void give(void* frame, std::size_t size) { recycled_frames::operator delete(frame, size); }

/// Empties the cache before and after each test.
struct empty_cache {
  empty_cache() { coracle::trim_frame_memory(); }
  ~empty_cache() { coracle::trim_frame_memory(); }
};

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

using coracle::detail::depot_budget;
using coracle::detail::frames_for_others;
using coracle::detail::most_in_shared_list;
using coracle::detail::shared_budget;
/// The number of frames of a small size that a thread keeps: those of its list, and those that fill the
/// shared budget or one more list.
constexpr std::size_t kept_of(std::size_t size) {
  return 256 * 1024 / size + std::min(shared_budget / size, most_in_shared_list);
}
/// Fills the depot up to its budget with frames of a size that no test uses, and returns their number. Until
/// they are taken back, the depot has no room for a list of another size.
long long fill_depot() {
  constexpr std::size_t index = coracle::detail::frame_classes - 2, size = coracle::detail::class_size(index);
  coracle::detail::frame_link list;
  for (std::size_t i = 0; i != depot_budget / size; ++i) {
    list = {coracle::detail::as_free(take(size), index, list), list.room() + 1};
  }
  const auto kept = frames_for_others.leave(index - coracle::detail::first_shared, list, size);
  REQUIRE(kept.below() == nullptr);
  return static_cast<long long>(depot_budget / size);
}

TEST_CASE("recycler: keeps 256 KiB and 16 MiB of one small size, the rest goes back to the heap" *
          doctest::skip(!coracle::testing::allocations_are_counted)) {
  const empty_cache clean;
  for (const std::size_t size : {24u, 104u, 1032u}) {
    fill_depot();
    std::vector<void*> frames(kept_of(size) + 10);
    const long long live = live_allocations();
    for (int round = 0; round != 2; ++round) {
      for (void*& frame : frames) frame = take(size);
      for (void* frame : frames) give(frame, size);
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
  for (void*& frame : frames) frame = take(1032);
  void *const one_more = take(1032), *const another = take(1032);
  for (void* frame : frames) give(frame, 1032);
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
  for (void*& frame : frames) frame = take(1);
  void* const one_more = take(1);
  for (void* frame : frames) give(frame, 1);
  CHECK(!has_many());
  give(one_more, 1);
  CHECK(has_many());
}

TEST_CASE("recycler: reserve_frame_memory() fills it, and no further" *
          doctest::skip(!coracle::testing::allocations_are_counted)) {
  coracle::trim_frame_memory();
  for (const std::size_t size : {std::size_t{1}, std::size_t{152}, std::size_t{400}, std::size_t{5000}}) {
    const std::size_t before = coracle::testing::allocations();
    coracle::reserve_frame_memory(size, 10);
    const std::size_t reserved = coracle::testing::allocations();
    coracle::reserve_frame_memory(size, 10);
    std::vector<void*> frames(10);
    const std::size_t again = coracle::testing::allocations();
    for (void*& frame : frames) frame = coracle::detail::allocate_recycled(size);
    const std::size_t taken = coracle::testing::allocations();
    for (void* const frame : frames) coracle::detail::free_recycled(frame, size);
    CHECK(reserved - before == 10);
    CHECK(again - reserved == 1);  // the vector
    CHECK(taken == again);
  }
  coracle::trim_frame_memory();
}
TEST_CASE("recycler: trim_frame_memory() gives everything back, and the budget is whole again" *
          doctest::skip(!coracle::testing::allocations_are_counted)) {
  const empty_cache clean;
  std::vector<void*> frames(300);
  const long long live = live_allocations();
  for (const std::size_t size : {16u, 160u, 1024u}) {
    for (void*& frame : frames) frame = take(size);
    for (void* frame : frames) give(frame, size);
  }
  const long long cached = live_allocations() - live;
  coracle::trim_frame_memory();
  const long long trimmed = live_allocations() - live;
  CHECK(cached == 300 + 300 + 300);
  CHECK(trimmed == 0);
  for (void*& frame : frames) frame = take(1024);
  for (void* frame : frames) give(frame, 1024);
  const long long cached_again = live_allocations() - live;
  CHECK(cached_again == 300);
}

TEST_CASE("recycler: a wave of as many frames as are kept comes back without the heap" *
          doctest::skip(!coracle::testing::allocations_are_counted)) {
  const empty_cache clean;
  fill_depot();
  std::vector<void*> frames(kept_of(104));
  std::size_t made = 0;
  for (int round = 0; round != 3; ++round) {
    const std::size_t before = coracle::testing::allocations();
    for (void*& frame : frames) frame = take(100);
    made = coracle::testing::allocations() - before;
    for (void* frame : frames) give(frame, 100);
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
  for (void*& frame : frames) frame = take(1032);
  long long live_while_it_runs = 0;
  std::thread([&] {
    const long long live_before = live_allocations();
    for (void* frame : frames) give(frame, 1032);
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
    for (void* frame : frames) give(frame, size);
  }).join();
  CHECK(extended < count * size / (20 * 1024));
}
#endif

// ---- the depot ----

/// Allocates frames here and frees them on another thread, which still runs while `then` does.
template <class Then>
void free_elsewhere(std::vector<void*>& frames, std::size_t size, Then then) {
  for (void*& frame : frames) frame = take(size);
  std::latch freed{1}, over{1};
  std::thread other([&] {
    for (void* frame : frames) give(frame, size);
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
      for (void*& frame : frames) frame = take(size);
      made = coracle::testing::allocations() - before;
      for (void* frame : frames) give(frame, size);
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
  CHECK(live_allocations() == live);
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

// ---- large frames ----

using coracle::detail::class_size;
using coracle::detail::frame_classes;
using coracle::detail::large_class;
using coracle::detail::largest_kept;
using coracle::detail::small_classes;

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

void take_all(std::vector<void*>& frames, std::size_t size) {
  for (void*& frame : frames) frame = take(size);
}
void give_all(const std::vector<void*>& frames, std::size_t size) {
  for (void* const frame : frames) give(frame, size);
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

TEST_CASE("recycler: where there is no memory for a frame of any size, it throws std::bad_alloc" *
          doctest::skip(!coracle::testing::allocations_are_counted)) {
  const empty_cache clean;
  for (const std::size_t size :
       {std::size_t{100}, std::size_t{1000}, std::size_t{20'000}, largest_kept + 1}) {
    const coracle::testing::failing_allocation failing(1);
    CHECK_THROWS_AS(static_cast<void>(take(size)), std::bad_alloc);
  }
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

[[gnu::noinline]] task<int> number(int n) { co_return n; }

/// Constructed before the thread's first frame is freed, and therefore destroyed after the thread's cache has
/// closed.
struct outlives_cache {
  ~outlives_cache() {
    held = task<int>();
    *result = coracle::sync_wait(number(7));
    give(take(5000), 5000);
    give(large, 5000);
  }
  task<int> held;
  int* result = nullptr;
  void* large = nullptr;
};

TEST_CASE(
    "recycler: tasks that are destroyed, made and run after the thread's cache closed leave nothing behind") {
  const empty_cache clean;
  const long long live = live_allocations();
  int result = 0;
  std::thread([&result] {
    static thread_local outlives_cache late;
    late.result = &result;
    coracle::sync_wait(number(1));  // opens the cache
    late.held = number(2);
    late.large = take(5000);
  }).join();
  const long long live_after = live_allocations();
  CHECK(result == 7);
  CHECK(live_after == live);
}

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

struct on_heap {
  struct promise_type : coracle::part::starts_lazily,
                        coracle::part::returns<int>,
                        coracle::part::stays_at_end,
                        coracle::part::awaits_nothing,
                        coracle::heap_frames {
    on_heap get_return_object() noexcept {
      return {std::coroutine_handle<promise_type>::from_promise(*this)};
    }
  };
  std::coroutine_handle<promise_type> body;
};
[[gnu::noinline]] on_heap number_on_heap(int n) { co_return n; }

TEST_CASE("heap_frames: each frame comes from the global operator new and goes back at once" *
          doctest::skip(!coracle::testing::allocations_are_counted)) {
  const std::size_t made = coracle::testing::allocations();
  const long long live = live_allocations();
  for (int i = 0; i != 3; ++i) number_on_heap(i).body.destroy();
  const std::size_t made_after = coracle::testing::allocations();
  const long long live_after = live_allocations();
  CHECK(made_after - made == 3);
  CHECK(live_after == live);
}

struct fallible {
  struct promise_type : coracle::part::starts_lazily,
                        coracle::part::returns<int>,
                        coracle::part::stays_at_end,
                        coracle::part::awaits_anything,
                        coracle::reports_allocation_failure<fallible> {
    fallible get_return_object() noexcept {
      return {std::coroutine_handle<promise_type>::from_promise(*this)};
    }
  };
  static fallible on_allocation_failure() noexcept { return {nullptr}; }
  std::coroutine_handle<promise_type> body;
};
[[gnu::noinline]] fallible take_probe(coracle::testing::lifetime_probe probe) { co_return probe.id(); }

TEST_CASE("reports_allocation_failure: the call returns the type's own sign of failure, and throws nothing" *
          doctest::skip(!coracle::testing::allocations_are_counted)) {
  coracle::testing::lifetimes log;
  log.destroyed.reserve(8);
  const long long live = live_allocations();
  bool failed = false;
  {
    const coracle::testing::failing_allocation failing(1);
    const fallible none = take_probe(coracle::testing::lifetime_probe(log, 1));
    failed = failing.happened() && !none.body;
  }
  const long long live_after = live_allocations();
  CHECK(failed);
  CHECK(log.alive == 0);
  CHECK(live_after == live);
}

TEST_CASE(
    "reports_allocation_failure: where there is memory the coroutine runs, and its frame is freed once") {
  coracle::testing::lifetimes log;
  log.destroyed.reserve(8);
  const long long live = live_allocations();
  const fallible some = take_probe(coracle::testing::lifetime_probe(log, 5));
  REQUIRE(some.body);
  coracle::resume(some.body);
  CHECK(some.body.promise().take() == 5);
  some.body.destroy();
  const long long live_after = live_allocations();
  CHECK(log.alive == 0);
  CHECK(live_after == live);
}
}  // namespace
