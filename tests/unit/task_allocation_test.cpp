// tests/unit/task_allocation_test.cpp -- where the frame of a task is allocated, and what a failure does.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <algorithm>
#include <coracle/core/sync_wait.hpp>
#include <coracle/core/task.hpp>
#include <coracle/testing/allocations.hpp>
#include <coracle/testing/failing_allocator.hpp>
#include <coracle/testing/lifetime_probe.hpp>
#include <memory_resource>
#include <thread>

#include "../support/test_coroutine.hpp"

namespace {
using coracle::sync_wait;
using coracle::task;
using coracle::testing::allocator_log;
using coracle::testing::failing_allocator;
using bytes = failing_allocator<std::byte>;

// Where a test counts allocations, the coroutine is out of line, so that clang does not elide its frame.
[[gnu::noinline]] task<int> add(std::allocator_arg_t, bytes, int a, int b) { co_return a + b; }

TEST_CASE(
    "task allocator: a free function takes its frame from the allocator it is given, and no other memory" *
    doctest::skip(!coracle::testing::allocations_are_counted)) {
  allocator_log log;
  const std::size_t before = coracle::testing::allocations();
  const std::size_t own_before = log.bytes;
  int sum = 0;
  {
    task<int> one = add(std::allocator_arg, bytes(log), 40, 2);
    CHECK(log.allocated == 1);
    CHECK(log.bytes > own_before);
    sum = sync_wait(std::move(one));
  }
  const std::size_t after = coracle::testing::allocations();
  CHECK(sum == 42);
  CHECK(log.allocated == 1);
  CHECK(log.freed == 1);
  CHECK(log.bytes == 0);
  CHECK(after - before == 1);  // what the allocator itself took from the heap
}

struct counter {
  task<int> next(std::allocator_arg_t, bytes) { co_return ++value; }
  task<int> peek(std::allocator_arg_t, const bytes&) const { co_return value; }
  int value = 0;
};

TEST_CASE("task allocator: a member function, const or not, takes it after the object") {
  allocator_log log;
  counter object;
  CHECK(sync_wait(object.next(std::allocator_arg, bytes(log))) == 1);
  const bytes lvalue(log);
  CHECK(sync_wait(std::as_const(object).peek(std::allocator_arg, lvalue)) == 1);
  CHECK(log.allocated == 2);
  CHECK(log.freed == 2);
}

TEST_CASE("task allocator: a lambda takes it, with and without captures") {
  allocator_log log;
  auto plain = [](std::allocator_arg_t, bytes, int n) -> task<int> { co_return n; };
  CHECK(sync_wait(plain(std::allocator_arg, bytes(log), 7)) == 7);
  const int captured = 8;
  auto capturing = [captured](std::allocator_arg_t, bytes) -> task<int> { co_return captured; };
  CHECK(sync_wait(capturing(std::allocator_arg, bytes(log))) == 8);
  CHECK(log.allocated == 2);
  CHECK(log.freed == 2);
}

TEST_CASE("task allocator: an empty allocator and the default one work, for void too") {
  auto body = [](std::allocator_arg_t, std::allocator<int>, int& out) -> task<> {
    out = 5;
    co_return;
  };
  int out = 0;
  sync_wait(body(std::allocator_arg, std::allocator<int>(), out));
  CHECK(out == 5);
}

/// Counts allocations, and makes them from the default resource.
class counting_resource final : public std::pmr::memory_resource {
 public:
  int allocated = 0, freed = 0;
  std::size_t largest_alignment = 0;

 private:
  void* do_allocate(std::size_t size, std::size_t alignment) override {
    ++allocated;
    largest_alignment = std::max(largest_alignment, alignment);
    return std::pmr::new_delete_resource()->allocate(size, alignment);
  }
  void do_deallocate(void* memory, std::size_t size, std::size_t alignment) override {
    ++freed;
    std::pmr::new_delete_resource()->deallocate(memory, size, alignment);
  }
  bool do_is_equal(const memory_resource& other) const noexcept override { return this == &other; }
};

TEST_CASE("task allocator: a pmr resource serves a frame and gets it back") {
  counting_resource memory;
  auto body = [](std::allocator_arg_t, std::pmr::polymorphic_allocator<>, int n) -> task<int> {
    co_return n;
  };
  CHECK(sync_wait(body(std::allocator_arg, &memory, 6)) == 6);
  CHECK(memory.allocated == 1);
  CHECK(memory.freed == 1);
  CHECK(memory.largest_alignment == alignof(std::max_align_t));
}

TEST_CASE("task allocator: a frame freed on another thread goes back to the same allocator") {
  allocator_log log;
  task<int> one = add(std::allocator_arg, bytes(log), 1, 2);
  std::thread([&one] { one = task<int>(); }).join();
  CHECK(log.allocated == 1);
  CHECK(log.freed == 1);
  CHECK(log.bytes == 0);
}

[[gnu::noinline]] task<> take(std::allocator_arg_t, bytes, coracle::testing::lifetime_probe) { co_return; }

TEST_CASE("task allocator: one that fails throws from the call, and no parameter leaks") {
  allocator_log log;
  coracle::testing::lifetimes probes;
  log.until_failure = 1;
  CHECK_THROWS_AS(
      static_cast<void>(take(std::allocator_arg, bytes(log), coracle::testing::lifetime_probe(probes, 1))),
      std::bad_alloc);
  CHECK(probes.alive == 0);
  CHECK(log.allocated == 0);
}

task<int> three_levels(int level) {
  int below = 0;
  if (level != 0) below = co_await three_levels(level - 1);
  co_return below + level;
}

TEST_CASE("task: where the k-th allocation fails the exception comes out of the root, and nothing leaks" *
          doctest::skip(!coracle::testing::allocations_are_counted)) {
  int caught = 0, finished = 0;
  const int failed = coracle::testing::fail_each_allocation([&] {
    try {
      finished += sync_wait(three_levels(3)) == 6;
    } catch (const std::bad_alloc&) {
      ++caught;
    }
  });
  CHECK(failed == caught);
  CHECK(failed >= 1);  // 4, unless the compiler puts frames into one another
  CHECK(finished == 1);
}

[[gnu::noinline]] task<> count_end(int& ended) {
  ++ended;
  co_return;
}
TEST_CASE("task: a child whose frame cannot be allocated throws inside its awaiter, which can go on" *
          doctest::skip(!coracle::testing::allocations_are_counted)) {
  auto body = [](int& ended) -> task<bool> {
    bool caught = false;
    coracle::trim_frame_memory();
    {
      const coracle::testing::failing_allocation failing(1);
      try {
        task<> child = count_end(ended);
        co_await std::move(child);
      } catch (const std::bad_alloc&) {
        caught = true;
      }
    }
    co_await count_end(ended);
    co_return caught;
  };
  int ended = 0;
  CHECK(sync_wait(body(ended)));
  CHECK(ended == 1);
}

TEST_CASE("task: after a first round, awaiting the same tree again allocates nothing") {
  CHECK(sync_wait(three_levels(3)) == 6);
  const std::size_t before = coracle::testing::allocations();
  int sum = 0;
  for (int i = 0; i != 100; ++i) sum += sync_wait(three_levels(3));
  const std::size_t after = coracle::testing::allocations();
  CHECK(sum == 600);
  CHECK(after == before);
}
}  // namespace
