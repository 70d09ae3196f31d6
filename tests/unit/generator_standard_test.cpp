// tests/unit/generator_standard_test.cpp -- guarantees for programs that were written for std::generator.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <array>
#include <coracle/generators/generator.hpp>
#include <coracle/generators/recursive_generator.hpp>
#include <coracle/testing/lifetime_probe.hpp>
#include <cstddef>
#include <memory>
#include <ranges>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "../support/abort_message.hpp"

#if defined(__GNUC__) && !defined(__clang__)
// With -O2 and without checks, g++ detects that a misused generator has no frame, and warns.
#pragma GCC diagnostic ignored "-Warray-bounds"
#endif

namespace {
using coracle::elements_of;
using coracle::generator;
using coracle::recursive_generator;
using ints = std::vector<int>;

// ---- types ---------------------------------------------------------------------------------------------

template <class G, class Reference, class Value, class Yielded, class Rvalue>
consteval bool is_as_std_generator() {
  using iterator = std::ranges::iterator_t<G>;
  static_assert(std::derived_from<G, std::ranges::view_interface<G>>);
  static_assert(std::ranges::view<G> && std::ranges::input_range<G> && !std::ranges::forward_range<G>);
  static_assert(!std::ranges::borrowed_range<G> && !std::ranges::range<const G>);
  static_assert(!std::copy_constructible<G> && !std::is_copy_assignable_v<G>);
  static_assert(std::is_nothrow_move_constructible_v<G> && std::is_nothrow_move_assignable_v<G>);
  static_assert(sizeof(G) == sizeof(void*) && sizeof(iterator) == sizeof(void*));
  static_assert(std::is_same_v<std::ranges::range_reference_t<G>, Reference>);
  static_assert(std::is_same_v<std::ranges::range_value_t<G>, Value>);
  static_assert(std::is_same_v<std::ranges::range_rvalue_reference_t<G>, Rvalue>);
  static_assert(std::is_same_v<std::ranges::range_difference_t<G>, std::ptrdiff_t>);
  static_assert(std::is_same_v<typename G::yielded, Yielded>);
  static_assert(!std::is_default_constructible_v<iterator> && !std::copyable<iterator>);
  static_assert(noexcept(std::declval<const G&>().end()));
  static_assert(std::is_void_v<decltype(std::declval<iterator&>()++)>);

  using promise = typename G::promise_type;
  static_assert(std::is_same_v<decltype(std::declval<promise&>().yield_value(std::declval<Yielded>())),
                               std::suspend_always>);
  static_assert(noexcept(std::declval<promise&>().yield_value(std::declval<Yielded>())));
  return true;
}
static_assert(is_as_std_generator<generator<int>, int&&, int, int&&, int&&>());
static_assert(is_as_std_generator<generator<int&&>, int&&, int, int&&, int&&>());
static_assert(is_as_std_generator<generator<int&>, int&, int, int&, int&&>());
static_assert(is_as_std_generator<generator<const int&>, const int&, int, const int&, const int&&>());
static_assert(is_as_std_generator<generator<const int&&>, const int&&, int, const int&&, const int&&>());
static_assert(is_as_std_generator<generator<int, int>, int, int, const int&, int>());
static_assert(is_as_std_generator<generator<bool, bool>, bool, bool, const bool&, bool>());
static_assert(is_as_std_generator<generator<std::vector<bool>::reference, bool>, std::vector<bool>::reference,
                                  bool, const std::vector<bool>::reference&, std::vector<bool>::reference>());
static_assert(is_as_std_generator<generator<std::tuple<int&>, std::tuple<int>>, std::tuple<int&>,
                                  std::tuple<int>, const std::tuple<int&>&, std::tuple<int&>>());
static_assert(is_as_std_generator<generator<std::unique_ptr<int>>, std::unique_ptr<int>&&,
                                  std::unique_ptr<int>, std::unique_ptr<int>&&, std::unique_ptr<int>&&>());

// ---- what is shown -------------------------------------------------------------------------------------

/// Yields a `T` as an rvalue. Stores in `seen` what the caller has done to it, and in `shown` its address.
template <class Sequence, class T>
Sequence yields_rvalue(const T*& shown, T& seen) {
  T object{};
  shown = &object;
  co_yield std::move(object);
  seen = object;
}
template <class Sequence, class T>
void check_shows_object_itself(T changed) {
  const T* object = nullptr;
  T seen{};
  for (T&& element : yields_rvalue<Sequence, T>(object, seen)) {
    CHECK(&element == object);
    element = changed;
  }
  CHECK(seen == changed);

  auto outer = [](const T*& o, T& s) -> Sequence { co_yield elements_of(yields_rvalue<Sequence, T>(o, s)); };
  seen = T{};
  for (T&& element : outer(object, seen)) {
    CHECK(&element == object);
    element = changed;
  }
  CHECK(seen == changed);
}

TEST_CASE("generator: an rvalue that is yielded is shown itself, from any depth") {
  check_shows_object_itself<generator<int>>(7);
  check_shows_object_itself<generator<int&&>>(7);
  check_shows_object_itself<generator<char>>('x');
  check_shows_object_itself<generator<const void*>>(static_cast<const void*>("x"));
  check_shows_object_itself<generator<std::array<long, 2>>>(std::array<long, 2>{7, 8});
  check_shows_object_itself<generator<std::array<long, 3>>>(std::array<long, 3>{7, 8, 9});
  check_shows_object_itself<generator<std::string>>(std::string("changed"));
}

/// Yields a `T` as an lvalue and as a const lvalue; the caller must not change it.
template <class T>
generator<T> yields_lvalues(const T*& shown, T initial) {
  T object(initial);
  shown = &object;
  co_yield object;
  CHECK(object == initial);
  co_yield std::as_const(object);
  CHECK(object == initial);
}
template <class T>
void check_copies_lvalues(T initial, T changed) {
  const T* object = nullptr;
  auto outer = [](const T*& o, T i) -> generator<T> { co_yield elements_of(yields_lvalues<T>(o, i)); };
  auto check = [&](generator<T> body) {
    int elements = 0;
    for (T&& element : body) {
      CHECK(element == initial);
      CHECK(&element != object);
      element = changed;
      ++elements;
    }
    CHECK(elements == 2);
  };
  check(yields_lvalues<T>(object, initial));
  check(outer(object, initial));
}

TEST_CASE("generator: of an lvalue that is yielded a copy is shown, from any depth") {
  check_copies_lvalues<int>(1, 2);
  check_copies_lvalues<std::array<long, 2>>({1, 2}, {3, 4});
  check_copies_lvalues<std::array<long, 3>>({1, 2, 3}, {3, 4, 5});
  check_copies_lvalues<std::string>("one", "two");
}

TEST_CASE("generator: lvalues and rvalues take turns, at the root and below it") {
  auto inner = [](int from) -> generator<int> {
    int named = from;
    co_yield named + 0;
    co_yield named;
    co_yield named + 1;
  };
  auto outer = [inner]() -> generator<int> {
    int named = 1;
    co_yield named;
    co_yield 2;
    co_yield elements_of(inner(3));
    co_yield named;
    co_yield elements_of(inner(5));
    co_yield 7;
  };
  ints seen;
  for (int element : outer()) seen.push_back(element);
  CHECK(seen == ints{1, 2, 3, 3, 4, 1, 5, 5, 6, 7});
}

struct explicit_copy {
  explicit explicit_copy(int n) : number(n) {}
  explicit explicit_copy(const explicit_copy&) = default;
  int number;
};
struct large_explicit_copy {
  explicit large_explicit_copy(int n) : number(n) {}
  explicit large_explicit_copy(const large_explicit_copy& other) : number(other.number) {}
  int number, more[8] = {};
};
template <class T>
generator<T&&> yields_explicit_copy() {
  const T object(3);
  co_yield object;
}

TEST_CASE("generator: an lvalue is copied by an explicit copy constructor, too") {
  for (explicit_copy&& each : yields_explicit_copy<explicit_copy>()) CHECK(each.number == 3);
  for (large_explicit_copy&& each : yields_explicit_copy<large_explicit_copy>()) CHECK(each.number == 3);
}

TEST_CASE("generator: braces make the element; a prvalue is neither copied nor moved") {
  coracle::testing::lifetimes log;
  auto one = [](coracle::testing::lifetimes& into) -> generator<coracle::testing::lifetime_probe> {
    co_yield coracle::testing::lifetime_probe(into, 1);
  };
  for (auto&& probe : one(log)) CHECK(probe.id() == 1);
  CHECK(log.copies == 0);
  CHECK(log.moves == 0);
  auto zeros = []() -> generator<int> { co_yield {}; };
  for (int zero : zeros()) CHECK(zero == 0);
}

TEST_CASE("generator: zips two ranges into tuples of references") {
  auto zip = [](ints a, ints b) -> generator<std::tuple<int&, int&>, std::tuple<int, int>> {
    for (std::size_t i = 0; i != a.size(); ++i) co_yield {a[i], b[i]};
  };
  ints sums;
  for (auto [a, b] : zip(ints{1, 2, 3}, ints{10, 20, 30})) sums.push_back(a + b);
  CHECK(sums == ints{11, 22, 33});
}

// ---- elements_of ---------------------------------------------------------------------------------------

TEST_CASE(
    "generator: elements_of takes a generator with another value type or allocator that yields the same") {
  auto inner = []() -> generator<int&&, long, std::allocator<char>> { co_yield 1; };
  auto outer = [inner]() -> generator<int> {
    co_yield elements_of{inner()};
    co_yield elements_of{inner(), std::allocator<int>()};
    auto named = inner();
    co_yield elements_of(named);
  };
  ints seen;
  for (int element : outer()) seen.push_back(element);
  CHECK(seen == ints{1, 1, 1});
}

TEST_CASE("generator: of spans takes the elements of a vector of vectors") {
  auto rows = []() -> generator<std::span<int>> {
    std::vector<ints> all{ints(1, 4), ints(2, 5)};
    co_yield elements_of(all);
  };
  std::size_t sizes = 0;
  for (std::span<int> row : rows()) sizes += row.size();
  CHECK(sizes == 3);
}

// Completing this type is an error, and argument-dependent lookup would complete it.
template <class T>
struct holder {
  T held;
};
struct incomplete;
using pointer = holder<incomplete>*;

// So no arguments either.
template <class Sequence, class T>
Sequence yields_proof() {
  T value{};
  co_yield value;
  co_yield std::move(value);
}
template <class Sequence, class T>
Sequence nests_proof() {
  if constexpr (std::is_same_v<Sequence, recursive_generator<T>>) {
    co_yield yields_proof<Sequence, T>();
  } else {
    co_yield elements_of(yields_proof<Sequence, T>());
  }
}
template <class Sequence, class T>
int count_proof() {
  int elements = 0;
  auto sequence = nests_proof<Sequence, T>();
  for (auto it = sequence.begin(); it != sequence.end(); ++it) {
    static_cast<void>(*it);
    ++elements;
  }
  return elements;
}
struct three_pointers {
  pointer each[3];
};
static_assert(!coracle::detail::copied_into_promise<three_pointers&&>);

TEST_CASE("generator: elements may be pointers to what must not be completed") {
  CHECK(count_proof<generator<pointer>, pointer>() == 2);
  CHECK(count_proof<recursive_generator<pointer>, pointer>() == 2);
  CHECK(count_proof<generator<three_pointers>, three_pointers>() == 2);

  auto from_ranges = []() -> generator<pointer> {
    pointer plain[2] = {};
    co_yield elements_of(plain);
    co_yield elements_of(std::views::iota(0, 3) | std::views::transform([](int) { return pointer(); }));
  };
  int elements = 0;
  auto sequence = from_ranges();
  using promise = decltype(sequence)::promise_type;
  static_assert(std::is_same_v<decltype(&std::declval<promise&>()), promise*>);
  for (auto it = sequence.begin(); it != sequence.end(); ++it) ++elements;
  CHECK(elements == 5);
}

// ---- misuse --------------------------------------------------------------------------------------------

generator<int> nothing() { co_return; }
generator<int> one_nested() { co_yield elements_of(nothing()); }

TEST_CASE("generator: dereferencing or passing the end ends the program and says so" *
          doctest::skip(!CORACLE_CHECKS())) {
  const char* const dereferenced =
      "coracle: the end of a generator was dereferenced: compare the iterator with end() first\n";
  const char* const incremented =
      "coracle: an iterator at the end of a generator was incremented: compare it with end() first\n";
  CHECK(coracle_test::abort_message([] {
          auto body = nothing();
          static_cast<void>(*body.begin());
        }) == dereferenced);
  CHECK(coracle_test::abort_message([] {
          auto body = nothing();
          ++body.begin();
        }) == incremented);
  CHECK(coracle_test::abort_message([] {
          auto body = one_nested();
          body.begin()++;
        }) == incremented);
  CHECK(coracle_test::abort_message([] {
          auto fails = []() -> generator<int> {
            co_yield 1;
            throw 2;
          };
          auto body = fails();
          auto it = body.begin();
          try {
            ++it;
          } catch (int) {
          }
          ++it;
        }) == incremented);
  CHECK(coracle_test::abort_message([] {
          auto body = nothing();
          auto it = body.begin();
          [[maybe_unused]] const auto moved = std::move(it);
          ++it;  // NOLINT: what a moved-from one does
        }) == incremented);
}
}  // namespace
