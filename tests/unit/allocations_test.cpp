// tests/unit/allocations_test.cpp -- counted allocations, and injected allocation failures.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <coracle/core/sync_wait.hpp>
#include <coracle/core/task.hpp>
#include <coracle/testing/allocations.hpp>
#include <coracle/testing/failing_allocator.hpp>
#include <memory>
#include <new>
#include <thread>
#include <vector>

namespace {
using coracle::testing::allocations;
using coracle::testing::allocator_log;
using coracle::testing::fail_each_allocation;
using coracle::testing::failing_allocation;
using coracle::testing::failing_allocator;
using coracle::testing::live_allocations;
constexpr bool cannot_count = !coracle::testing::allocations_are_counted;

// Not inline: clang would elide the allocation of a frame whose end it sees.
[[gnu::noinline]] coracle::task<int> one() { co_return 1; }
[[gnu::noinline]] coracle::task<int> two() {
  auto first = one(), second = one();
  co_return co_await std::move(first) + co_await std::move(second);
}
[[gnu::noinline]] coracle::task<int> answer(std::allocator_arg_t, failing_allocator<int>) { co_return 42; }

TEST_CASE("allocations: each form of new counts once, and is live until its delete" *
          doctest::skip(cannot_count)) {
  const auto made = allocations();
  const auto live = live_allocations();
  // Direct calls: the compiler may omit those of new-expressions.
  void* const blocks[] = {::operator new(1), ::operator new[](0), ::operator new(8, std::nothrow),
                          ::operator new[](8, std::nothrow)};
  const auto made_then = allocations() - made;
  const auto live_then = live_allocations() - live;
  ::operator delete(blocks[0]);
  ::operator delete[](blocks[1]);
  ::operator delete(blocks[2], std::nothrow);
  ::operator delete[](blocks[3], std::nothrow);
  ::operator delete(nullptr);
  const auto live_now = live_allocations() - live;
  CHECK(made_then == 4);
  CHECK(live_then == 4);
  CHECK(live_now == 0);
}

TEST_CASE("allocations: those of another thread count there, and are live here" *
          doctest::skip(cannot_count)) {
  void* block = nullptr;
  std::size_t theirs = 0;
  std::thread other([&] {
    const auto before = allocations();
    block = ::operator new(1);
    theirs = allocations() - before;
  });
  other.join();
  const auto made = allocations();
  const auto live = live_allocations();
  ::operator delete(block);
  const auto freed = live - live_allocations();
  CHECK(theirs == 1);
  CHECK(freed == 1);
  CHECK(allocations() >= made);
}

TEST_CASE("failing_allocation: the k-th throws, or gives null if it may not; those before and after succeed" *
          doctest::skip(cannot_count)) {
  const auto succeeds = [] {
    void* const block = ::operator new(1, std::nothrow);
    ::operator delete(block);
    return block != nullptr;
  };
  bool first, second, third, happened_before, happened_after, threw = false;
  {
    const failing_allocation failing{2};
    first = succeeds();
    happened_before = failing.happened();
    second = succeeds();
    happened_after = failing.happened();
    third = succeeds();
  }
  try {
    const failing_allocation failing{1};
    ::operator delete(::operator new(1));
  } catch (const std::bad_alloc&) {
    threw = true;
  }
  {
    const failing_allocation dropped{1};
  }
  const bool later = succeeds();
  CHECK(first);
  CHECK_FALSE(happened_before);
  CHECK_FALSE(second);
  CHECK(happened_after);
  CHECK(third);
  CHECK(threw);
  CHECK(later);
}

TEST_CASE("fail_each_allocation: every one fails once" * doctest::skip(cannot_count)) {
  int failed = 0;
  const int count = fail_each_allocation([&] {
    try {
      const auto a = std::make_unique<int>(1);
      const std::vector<int> b(100);
      const auto c = std::make_unique<long>(2);
      asm volatile("" : : "r"(a.get()), "r"(b.data()), "r"(c.get()) : "memory");
    } catch (const std::bad_alloc&) {
      ++failed;
    }
  });
  CHECK(count == 3);
  CHECK(failed == 3);
}

TEST_CASE("fail_each_allocation: frames of coroutines fail too" * doctest::skip(cannot_count)) {
  CHECK(fail_each_allocation([] {
          try {
            static_cast<void>(coracle::sync_wait(two()));
          } catch (const std::bad_alloc&) {
          }
        }) == 3);
}

TEST_CASE("fail_each_allocation: a failure that leaves memory behind gives -1" *
          doctest::skip(cannot_count)) {
  void* left = nullptr;
  const int count = fail_each_allocation([&] {
    void* const first = ::operator new(1, std::nothrow);
    void* const second = ::operator new(1, std::nothrow);
    (second ? ::operator delete(first) : void(left = first));
    ::operator delete(second);
  });
  ::operator delete(left);
  CHECK(count == -1);
}

TEST_CASE("failing_allocator: counts what all its copies do, and its k-th allocation throws") {
  allocator_log log;
  const failing_allocator<int> ints{log};
  failing_allocator<long> longs{ints};
  CHECK(longs == ints);
  long* const two = longs.allocate(2);
  CHECK(log.allocated == 1);
  CHECK(log.bytes == 2 * sizeof(long));
  log.until_failure = 2;
  long* const one = longs.allocate(1);
  CHECK_THROWS_AS(static_cast<void>(longs.allocate(1)), std::bad_alloc);
  CHECK(log.until_failure == 0);
  longs.deallocate(longs.allocate(1), 1);
  longs.deallocate(two, 2);
  longs.deallocate(one, 1);
  CHECK(log.allocated == 3);
  CHECK(log.freed == 3);
  CHECK(log.bytes == 0);
  allocator_log other;
  CHECK_FALSE(failing_allocator<int>{other} == ints);
}

TEST_CASE("failing_allocator: a coroutine that takes it has its frame from it, or throws") {
  allocator_log log;
  CHECK(coracle::sync_wait(answer(std::allocator_arg, failing_allocator<int>{log})) == 42);
  CHECK(log.allocated == 1);
  CHECK(log.bytes == 0);
  log.until_failure = 1;
  CHECK_THROWS_AS(static_cast<void>(answer(std::allocator_arg, failing_allocator<int>{log})), std::bad_alloc);
}
}  // namespace
