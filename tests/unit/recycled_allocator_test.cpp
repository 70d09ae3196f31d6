// tests/unit/recycled_allocator_test.cpp -- containers whose memory comes from the recycler of frames.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <coracle/compose/when_all.hpp>
#include <coracle/compose/when_any.hpp>
#include <coracle/core/recycled_allocator.hpp>
#include <coracle/core/sync_wait.hpp>
#include <coracle/testing/allocations.hpp>
#include <cstdint>
#include <limits>
#include <memory_resource>
#include <string>
#include <thread>
#include <vector>

#include "child_tasks.hpp"

namespace {
using coracle::recycled_allocator;
using coracle::task;
using coracle_test::give;

template <class T>
using recycled_vector = std::vector<T, recycled_allocator<T>>;

struct empty_cache {
  empty_cache() { coracle::trim_frame_memory(); }
  ~empty_cache() { coracle::trim_frame_memory(); }
};

TEST_CASE("recycled_allocator: a container takes the block that another has left, without the heap" *
          doctest::skip(!coracle::testing::allocations_are_counted)) {
  const empty_cache clean;
  const void* first = nullptr;
  {
    recycled_vector<long> one(12, 7);
    first = one.data();
  }
  const std::size_t before = coracle::testing::allocations();
  const recycled_vector<long> other(12, 8);
  const std::size_t after = coracle::testing::allocations();
  CHECK(other.data() == first);
  CHECK(other.back() == 8);
  CHECK(after == before);
}

TEST_CASE("recycled_allocator: containers of any size, also those too large to be kept") {
  const empty_cache clean;
  for (std::size_t size = 0; size != 300; ++size) {
    recycled_vector<std::uint32_t> numbers;
    for (std::size_t i = 0; i != size; ++i) numbers.push_back(static_cast<std::uint32_t>(i));
    bool kept = true;
    for (std::size_t i = 0; i != size; ++i) kept = kept && numbers[i] == i;
    CHECK(kept);
  }
}

TEST_CASE("recycled_allocator: a block may be given back on another thread") {
  const empty_cache clean;
  auto* numbers = new recycled_vector<int>(20, 1);
  std::thread([numbers] { delete numbers; }).join();
  const recycled_vector<int> others(20, 2);
  CHECK(others.back() == 2);
}

TEST_CASE("recycled_allocator: throws std::bad_alloc for more than there can be") {
  recycled_allocator<long> memory;
  const std::size_t too_many = std::numeric_limits<std::size_t>::max() / sizeof(long);
  CHECK_THROWS_AS(static_cast<void>(memory.allocate(too_many)), std::bad_alloc);
  CHECK_THROWS_AS(static_cast<void>(memory.allocate(too_many + 2)), std::bad_alloc);
}

TEST_CASE("recycled_allocator: all of them are equal, whatever they allocate") {
  const recycled_allocator<int> ints;
  const recycled_allocator<long> longs{ints};
  CHECK(ints == longs);
}

TEST_CASE("when_all: the results come from the allocator of the vector of tasks" *
          doctest::skip(!coracle::testing::allocations_are_counted)) {
  const empty_cache clean;
  const auto work = []() -> task<int> {
    recycled_vector<task<int>> tasks;
    tasks.reserve(10);
    for (int i = 0; i != 10; ++i) tasks.push_back(give(i));
    int sum = 0;
    const recycled_vector<int> results = co_await coracle::when_all(std::move(tasks));
    for (const int each : results) sum += each;
    co_return sum;
  };
  CHECK(coracle::sync_wait(work()) == 45);
  auto again = work();
  const std::size_t before = coracle::testing::allocations();
  const int sum = coracle::sync_wait(std::move(again));
  const std::size_t after = coracle::testing::allocations();
  CHECK(sum == 45);
  CHECK(after == before);
}

TEST_CASE("when_all: results and children use the memory resource of a polymorphic vector") {
  std::pmr::monotonic_buffer_resource arena;
  std::pmr::vector<task<std::string>> tasks{&arena};
  const auto text = [](int i) -> task<std::string> { co_return std::to_string(i); };
  for (int i = 0; i != 5; ++i) tasks.push_back(text(i));
  const std::pmr::vector<std::string> results = coracle::sync_wait(coracle::when_all(std::move(tasks)));
  CHECK(results.get_allocator().resource() == &arena);
  CHECK(results.back() == "4");
}

TEST_CASE("when_all_ready: outcomes come from the allocator of the vector, too") {
  recycled_vector<task<int>> tasks;
  for (int i = 0; i != 3; ++i) tasks.push_back(give(i));
  recycled_vector<coracle::outcome<int>> results =
      coracle::sync_wait(coracle::when_all_ready(std::move(tasks)));
  CHECK(std::move(results[2]).get() == 2);
}

TEST_CASE("when_any: takes a vector with an allocator of its own") {
  recycled_vector<task<int>> tasks;
  for (int i = 0; i != 3; ++i) tasks.push_back(give(i));
  const auto first = coracle::sync_wait(coracle::when_any(std::move(tasks)));
  CHECK(first.index == 0);
  CHECK(first.value == 0);
}
}  // namespace
