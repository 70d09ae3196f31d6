// tests/unit/frame_memory_test.cpp -- reserving and trimming frame memory; frames not from the recycler.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <coracle/core/frame_memory.hpp>
#include <coracle/core/promise_parts.hpp>
#include <coracle/core/sync_wait.hpp>
#include <coracle/core/task.hpp>
#include <coracle/testing/allocations.hpp>
#include <coracle/testing/lifetime_probe.hpp>
#include <coroutine>
#include <cstddef>
#include <new>
#include <thread>
#include <vector>

#include "cached_frames.hpp"

namespace {
using coracle::task;
using coracle::detail::largest_kept;
using coracle::testing::live_allocations;
using coracle_test::cached_frames::empty_cache;
using coracle_test::cached_frames::give;
using coracle_test::cached_frames::give_all;
using coracle_test::cached_frames::take;
using coracle_test::cached_frames::take_all;

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

TEST_CASE("recycler: reserve_frame_memory() allocates little more than is kept" *
          doctest::skip(!coracle::testing::allocations_are_counted)) {
  const empty_cache clean;
  const std::size_t before = coracle::testing::allocations();
  coracle::reserve_frame_memory(largest_kept + 1, 1000);
  CHECK(coracle::testing::allocations() == before);
  coracle::reserve_frame_memory(largest_kept, 1000);
  CHECK(coracle::testing::allocations() - before <= 130);  // of 256 KiB each
  coracle::trim_frame_memory();
}

TEST_CASE("recycler: trim_frame_memory() gives everything back, and the budget is whole again" *
          doctest::skip(!coracle::testing::allocations_are_counted)) {
  const empty_cache clean;
  std::vector<void*> frames(300);
  const long long live = live_allocations();
  for (const std::size_t size : {16u, 160u, 1024u}) {
    take_all(frames, size);
    give_all(frames, size);
  }
  const long long cached = live_allocations() - live;
  coracle::trim_frame_memory();
  const long long trimmed = live_allocations() - live;
  CHECK(cached == 300 + 300 + 300);
  CHECK(trimmed == 0);
  take_all(frames, 1024);
  give_all(frames, 1024);
  const long long cached_again = live_allocations() - live;
  CHECK(cached_again == 300);
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
