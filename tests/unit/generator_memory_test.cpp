// tests/unit/generator_memory_test.cpp -- where the frames of generators come from.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <coracle/core/shared_task.hpp>
#include <coracle/core/sync_wait.hpp>
#include <coracle/core/task.hpp>
#include <coracle/generators/pmr_generator.hpp>
#include <coracle/generators/recursive_generator.hpp>
#include <coracle/testing/failing_allocator.hpp>
#include <coracle/utility/expected_coroutine.hpp>
#include <coracle/utility/optional_coroutine.hpp>
#include <cstddef>
#include <memory>
#include <memory_resource>
#include <new>
#include <type_traits>
#include <utility>
#include <vector>

#include "generator_walks.hpp"

namespace {
using coracle::elements_of;
using coracle::generator;
using coracle::testing::allocator_log;
using coracle::testing::failing_allocator;
using coracle_test::generator_walks::all;
using coracle_test::generator_walks::ints;

class counting_resource final : public std::pmr::memory_resource {
 public:
  int allocated = 0, alive = 0;

 private:
  void* do_allocate(std::size_t size, std::size_t alignment) override {
    ++allocated;
    ++alive;
    return std::pmr::new_delete_resource()->allocate(size, alignment);
  }
  void do_deallocate(void* memory, std::size_t size, std::size_t alignment) override {
    --alive;
    std::pmr::new_delete_resource()->deallocate(memory, size, alignment);
  }
  bool do_is_equal(const memory_resource& other) const noexcept override { return this == &other; }
};

// Not inlined, so that the compiler does not elide the frames that are counted.
template <class Sequence, class... Params>
[[gnu::noinline]] Sequence two(Params...) {
  co_yield 1;
  co_yield 2;
}
template <class Sequence, class... Params>
[[gnu::noinline]] Sequence forwarded(Params&&...) {
  co_yield 1;
  co_yield 2;
}
template <class Sequence>
struct object {
  template <class... Params>
  [[gnu::noinline]] Sequence member(Params...) const {
    co_yield 1;
    co_yield 2;
  }
};

/// Calls a coroutine in each form that takes `allocator`, and expects `allocated()` to grow by one for each.
template <class Sequence, class Allocator, class Allocated>
void check_each_form(const Allocator& allocator, Allocated allocated) {
  const int before = allocated();
  CHECK(all(two<Sequence>(std::allocator_arg, allocator)) == ints{1, 2});
  CHECK(all(two<Sequence>(std::allocator_arg, allocator, 3, "four")) == ints{1, 2});
  CHECK(all(forwarded<Sequence>(std::allocator_arg, allocator)) == ints{1, 2});
  CHECK(all(object<Sequence>().member(std::allocator_arg, allocator, 5)) == ints{1, 2});
  auto lambda = [](std::allocator_arg_t, Allocator, int last) -> Sequence {
    co_yield 1;
    co_yield last;
  };
  // So that clang cannot elide the frame into the caller's.
  Sequence (*volatile opaque)(std::allocator_arg_t, Allocator, int) = lambda;
  CHECK(all(opaque(std::allocator_arg, allocator, 2)) == ints{1, 2});
  CHECK(allocated() == before + 5);
}

template <class Sequence>
void check_takes_any_allocator() {
  allocator_log log;
  check_each_form<Sequence>(failing_allocator<char>(log), [&] { return log.allocated; });
  CHECK(log.bytes == 0);
  counting_resource memory;
  auto allocated = [&] { return memory.allocated; };
  check_each_form<Sequence>(&memory, allocated);
  check_each_form<Sequence>(static_cast<std::pmr::memory_resource*>(&memory), allocated);
  check_each_form<Sequence>(std::pmr::polymorphic_allocator<int>(&memory), allocated);
  CHECK(memory.alive == 0);
  CHECK(all(two<Sequence>(std::allocator_arg, std::allocator<double>())) == ints{1, 2});
}

TEST_CASE("generator: its frame comes from any allocator or memory resource behind allocator_arg") {
  check_takes_any_allocator<generator<int>>();
  check_takes_any_allocator<generator<int, int>>();
  check_takes_any_allocator<coracle::recursive_generator<int>>();
}

TEST_CASE("generator: of an allocator takes from it, and from what converts to it") {
  using sequence = generator<int, int, failing_allocator<std::byte>>;
  allocator_log log;
  check_each_form<sequence>(failing_allocator<double>(log), [&] { return log.allocated; });
  CHECK(log.freed == log.allocated);
  CHECK(log.bytes == 0);
  log.until_failure = 1;
  CHECK_THROWS_AS(static_cast<void>(two<sequence>(std::allocator_arg, failing_allocator<int>(log))),
                  std::bad_alloc);
}

template <class T>
int allocations_of_stateless = 0;
template <class T>
struct stateless {
  using value_type = T;
  stateless() = default;
  template <class U>
  stateless(const stateless<U>&) noexcept {}
  T* allocate(std::size_t count) {
    ++allocations_of_stateless<int>;
    return std::allocator<T>().allocate(count);
  }
  void deallocate(T* memory, std::size_t count) noexcept {
    --allocations_of_stateless<char>;
    std::allocator<T>().deallocate(memory, count);
  }
  bool operator==(const stateless&) const = default;
};

TEST_CASE("generator: of an allocator that has a default takes that where none is given") {
  using sequence = generator<int, void, stateless<char>>;
  CHECK(all(two<sequence>()) == ints{1, 2});
  CHECK(all(two<sequence>(1, 2)) == ints{1, 2});
  CHECK(all(two<sequence>(std::allocator_arg, stateless<int>())) == ints{1, 2});
  CHECK(allocations_of_stateless<int> == 3);
  CHECK(allocations_of_stateless<char> == -3);
}

template <class Sequence>
concept needs_no_allocator = requires { Sequence::promise_type::operator new(std::size_t{1}); };
static_assert(needs_no_allocator<generator<int>> && needs_no_allocator<coracle::pmr::generator<int>>);
static_assert(needs_no_allocator<generator<int, void, stateless<char>>>);
static_assert(!needs_no_allocator<generator<int, void, failing_allocator<char>>>);

TEST_CASE("pmr::generator: is the generator of a polymorphic_allocator") {
  using allocator = std::pmr::polymorphic_allocator<std::byte>;
  static_assert(std::is_same_v<coracle::pmr::generator<int>, generator<int, void, allocator>>);
  static_assert(
      std::is_same_v<coracle::pmr::generator<const int&, int>, generator<const int&, int, allocator>>);
  counting_resource memory;
  check_each_form<coracle::pmr::generator<int>>(&memory, [&] { return memory.allocated; });
  check_each_form<coracle::pmr::generator<int, int>>(allocator(&memory), [&] { return memory.allocated; });
  CHECK(memory.alive == 0);
}

TEST_CASE("pmr::generator: takes the default resource where none is given, and a null one gives no memory") {
  counting_resource memory;
  std::pmr::memory_resource* const before = std::pmr::set_default_resource(&memory);
  CHECK(all(two<coracle::pmr::generator<int>>()) == ints{1, 2});
  CHECK(all(two<coracle::pmr::generator<int>>(std::allocator_arg)) == ints{1, 2});
  std::pmr::set_default_resource(before);
  CHECK(memory.allocated == 2);
  CHECK(memory.alive == 0);
  CHECK_THROWS_AS(static_cast<void>(two<coracle::pmr::generator<int>>(std::allocator_arg,
                                                                      std::pmr::null_memory_resource())),
                  std::bad_alloc);
}

[[gnu::noinline]] coracle::pmr::generator<int> outer(std::allocator_arg_t,
                                                     std::pmr::memory_resource* memory) {
  auto nested = two<coracle::pmr::generator<int>>(std::allocator_arg, memory);
  co_yield elements_of(nested, memory);
  const int numbers[] = {3, 4};
  co_yield elements_of(numbers, memory);
  co_yield elements_of(numbers, std::pmr::polymorphic_allocator<int>(memory));
}

TEST_CASE("generator: elements_of needs a frame for a range, and none for a generator") {
  counting_resource memory;
  auto body = outer(std::allocator_arg, &memory);
  ints allocated;
  for (int element : body) {
    static_cast<void>(element);
    allocated.push_back(memory.allocated);
  }
  CHECK(allocated == ints{2, 2, 3, 3, 4, 4});
  CHECK(memory.alive == 1);
}

coracle::task<int> answer(std::allocator_arg_t, std::pmr::memory_resource*) { co_return 42; }
CORACLE_NOINLINE()
coracle::task<int> same_answer(const std::allocator_arg_t&, std::pmr::memory_resource*) { co_return 42; }

template <class Result, class... Params>
using promise_for = typename std::coroutine_traits<Result, Params...>::promise_type;
template <class Result>
inline constexpr bool takes_reference_to_tag =
    std::is_same_v<promise_for<Result, const std::allocator_arg_t&, std::allocator<int>, char>,
                   promise_for<Result, std::allocator_arg_t, std::allocator<int>, char>> &&
    std::is_same_v<promise_for<Result, object<Result>, std::allocator_arg_t&&, std::allocator<int>>,
                   promise_for<Result, std::allocator_arg_t, std::allocator<int>>> &&
    !std::is_same_v<promise_for<Result, std::allocator_arg_t, std::allocator<int>>, promise_for<Result>>;
static_assert(takes_reference_to_tag<coracle::generator<int>>);
static_assert(takes_reference_to_tag<coracle::task<int>>);
static_assert(takes_reference_to_tag<coracle::shared_task<int>>);
static_assert(takes_reference_to_tag<coracle::expected<int, int>>);
static_assert(takes_reference_to_tag<std::optional<int>>);

TEST_CASE("task: its frame comes from a memory resource behind allocator_arg") {
  counting_resource memory;
  CHECK(coracle::sync_wait(answer(std::allocator_arg, &memory)) == 42);
  const int before = memory.allocated;
  CHECK(coracle::sync_wait(same_answer(std::allocator_arg, &memory)) == 42);
  CHECK(memory.allocated == before + 1);
  CHECK(memory.alive == 0);
}
}  // namespace
