// tests/unit/interleave_test.cpp
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <algorithm>
#include <coracle/compose/interleave.hpp>
#include <coracle/testing/allocations.hpp>
#include <limits>
#include <list>
#include <memory>
#include <new>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

using coracle::interleave;
using coracle::interleaved;
using coracle::prefetch;

namespace {
/// Follows the number of links given by the element.
struct chain {
  std::vector<std::size_t> next;
  explicit chain(std::size_t size) : next(size) {
    for (std::size_t i = 0; i != size; ++i) next[i] = (i * 7 + 3) % size;
  }
  [[nodiscard]] std::size_t follow(std::size_t hops) const {
    std::size_t at = 0;
    for (; hops != 0; --hops) at = next[at];
    return at;
  }
};
template <class Elements>
interleaved follow_all(Elements& elements, const chain& links, std::vector<std::size_t>& found,
                       const std::size_t* first) {
  while (const std::size_t* each = elements.next()) {
    std::size_t at = 0;
    for (std::size_t hops = *each; hops != 0; --hops) {
      co_await prefetch(&links.next[at]);
      at = links.next[at];
    }
    found[static_cast<std::size_t>(each - first)] = at;
  }
}
std::vector<std::size_t> numbers(std::size_t count) {
  std::vector<std::size_t> all(count);
  for (std::size_t i = 0; i != count; ++i) all[i] = i % 23;
  return all;
}
}  // namespace

TEST_CASE("interleave: every element is looked up once, by any group") {
  const chain links(101);
  const std::vector<std::size_t> hops = numbers(500);
  for (const std::size_t group :
       {std::size_t{1}, std::size_t{2}, std::size_t{7}, std::size_t{48}, std::size_t{1000}}) {
    std::vector<std::size_t> found(hops.size(), ~std::size_t{0});
    interleave(group, hops, [&](auto& next) { return follow_all(next, links, found, hops.data()); });
    for (std::size_t i = 0; i != hops.size(); ++i) CHECK(found[i] == links.follow(hops[i]));
  }
}

TEST_CASE("interleave: no more lookups are made than take all elements") {
  const chain links(50);
  const auto lengths = numbers(3);
  std::vector<std::size_t> found(lengths.size());
  int made = 0;
  interleave(std::numeric_limits<std::size_t>::max(), lengths, [&](auto& elements) {
    ++made;
    return follow_all(elements, links, found, lengths.data());
  });
  CHECK(made <= 3);
  for (std::size_t i = 0; i != lengths.size(); ++i) CHECK(found[i] == links.follow(lengths[i]));
}

TEST_CASE("interleave: with a group that it finds by itself the same is found") {
  const chain links(1009);
  for (const std::size_t count : {std::size_t{0}, std::size_t{10}, std::size_t{100'000}}) {
    const std::vector<std::size_t> hops = numbers(count);
    std::vector<std::size_t> found(count, ~std::size_t{0});
    interleave(hops, [&](auto& next) { return follow_all(next, links, found, hops.data()); });
    std::size_t right = 0;
    for (std::size_t i = 0; i != count; ++i) right += found[i] == links.follow(hops[i]) ? 1 : 0;
    CHECK(right == count);
  }
}

TEST_CASE("interleave: no element, and a list") {
  const auto sum_all = [](auto& elements, long& sum) -> interleaved {
    while (const int* each = elements.next()) {
      co_await prefetch(each);
      sum += *each;
    }
  };
  long sum = 0;
  const std::vector<int> none;
  interleave(4, none, [&](auto& next) { return sum_all(next, sum); });
  CHECK(sum == 0);
  std::list<int> some(100);
  std::iota(some.begin(), some.end(), 1);
  interleave(4, some, [&](auto& next) { return sum_all(next, sum); });
  CHECK(sum == 5050);
}

TEST_CASE("interleave: a prefetch gives back the address that it was given, valid or not") {
  std::vector<const int*> given;
  const auto ask = [&given](auto& elements) -> interleaved {
    while (const int* each = elements.next()) {
      given.push_back(co_await prefetch(each + *each));
      CHECK(co_await prefetch(static_cast<const void*>(nullptr)) == nullptr);
    }
  };
  const std::vector<int> all{1000, 1, 0};
  interleave(2, all, ask);
  CHECK(given == std::vector<const int*>{all.data() + 1000, all.data() + 2, all.data() + 2});
}

TEST_CASE("interleave: they take turns at each prefetch, in a circle") {
  std::string order;
  const auto steps = [&order](auto& elements, char name) -> interleaved {
    while (const int* each = elements.next()) {
      for (int i = 0; i != *each; ++i) {
        order += name;
        co_await prefetch(each);
      }
    }
  };
  const std::vector<int> counts{3, 1, 2};
  char name = 'a';
  interleave(3, counts, [&](auto& next) { return steps(next, name++); });
  CHECK(order == "abcaca");
}

TEST_CASE("interleave: an error is thrown once the others have finished what they have") {
  const std::vector<int> all(100, 2);
  int finished = 0;
  const auto fails = [&finished](auto& elements) -> interleaved {
    while (const int* each = elements.next()) {
      for (int i = 0; i != *each; ++i) co_await prefetch(each);
      if (++finished == 5) throw std::runtime_error("the fifth");
    }
  };
  CHECK_THROWS_WITH(interleave(4, all, fails), "the fifth");
  CHECK(finished == 8);
}

TEST_CASE("interleave: a lookup allocates once, not for each element" *
          doctest::skip(!coracle::testing::allocations_are_counted)) {
  const std::vector<int> all(1000, 1);
  const auto steps = [](auto& elements) -> interleaved {
    while (const int* each = elements.next()) co_await prefetch(each);
  };
  interleave(8, all, steps);  // fills the recycler
  const std::size_t before = coracle::testing::allocations();
  interleave(8, all, steps);
  const std::size_t made = coracle::testing::allocations() - before;
  CHECK(made <= 4);  // the vector of the ring, as it grows
}

TEST_CASE("interleave: a lookup that returns early leaves the rest to the others") {
  const std::vector<int> all(10, 1);
  std::string order;
  const auto takes = [&order](auto& elements, char name, int most) -> interleaved {
    for (const int* each = nullptr; most != 0 && (each = elements.next()); --most) {
      order += name;
      co_await prefetch(each);
    }
  };
  char name = 'a';
  int most = 0;
  interleave(3, all, [&](auto& next) { return takes(next, name++, most += 2); });
  CHECK(order == "abcabcbcbc");
}

TEST_CASE("interleave: runs inside a lookup of another") {
  const std::vector<int> inner_all(5, 1), outer_all(7, 1);
  int sum = 0;
  const auto inner = [&sum](auto& elements) -> interleaved {
    while (const int* each = elements.next()) sum += *co_await prefetch(each);
  };
  const auto outer = [&](auto& elements) -> interleaved {
    while (const int* each = elements.next()) {
      co_await prefetch(each);
      interleave(2, inner_all, inner);
    }
  };
  interleave(3, outer_all, outer);
  CHECK(sum == 35);
}

TEST_CASE("interleave: of several errors the first is thrown, and what make() throws") {
  const std::vector<int> all{1, 2, 3};
  const auto fails = [](auto& elements) -> interleaved {
    const int number = *co_await prefetch(elements.next());
    throw std::runtime_error(std::to_string(number));
  };
  CHECK_THROWS_WITH(interleave(3, all, fails), "1");
  int made = 0;
  const auto make = [&](auto& elements) {
    if (++made == 3) throw std::runtime_error("no third");
    return fails(elements);
  };
  CHECK_THROWS_WITH(interleave(3, all, make), "no third");
}

TEST_CASE("interleave: an error before the first prefetch ends it as one behind that does") {
  const std::vector<int> all{2, 2, 0, 2, 2};
  int finished = 0, made = 0;
  const auto fails_at_zero = [&finished](auto& elements) -> interleaved {
    while (const int* each = elements.next()) {
      if (*each == 0) throw std::runtime_error("zero");
      for (int i = 0; i != *each; ++i) co_await prefetch(each);
      ++finished;
    }
  };
  for (const int group : {1, 2, 3, 5}) {
    finished = made = 0;
    const auto make = [&](auto& elements) {
      ++made;
      return fails_at_zero(elements);
    };
    CHECK_THROWS_WITH(interleave(group, all, make), "zero");
    CHECK(finished == 2);
    CHECK(made == std::min(group, 3));
  }
}

TEST_CASE("interleave: of several errors behind each other the first is thrown, and all others finish") {
  const std::vector<int> all{3, 1, 2, 4};
  int finished = 0;
  const auto fails_if_odd = [&finished](auto& elements) -> interleaved {
    while (const int* each = elements.next()) {
      for (int i = 0; i != *each; ++i) co_await prefetch(each);
      if (*each % 2 == 1) throw std::runtime_error(std::to_string(*each));
      ++finished;
    }
  };
  CHECK_THROWS_WITH(interleave(4, all, fails_if_odd), "1");
  CHECK(finished == 2);
}

// Not inlined, so that the compiler does not elide the frames.
CORACLE_NOINLINE() interleaved sum_into(auto& elements, int& sum) {
  while (const int* each = elements.next()) sum += *co_await prefetch(each);
}

TEST_CASE("interleave: where memory runs out at any allocation, bad_alloc surfaces and nothing leaks" *
          doctest::skip(!coracle::testing::allocations_are_counted)) {
  const std::vector<int> all(20, 1);
  coracle::trim_frame_memory();
  const int failed = coracle::testing::fail_each_allocation([&all] {
    int sum = 0;
    try {
      interleave(3, all, [&sum](auto& next) { return sum_into(next, sum); });
      CHECK(sum == 20);
    } catch (const std::bad_alloc&) {
      CHECK(sum == 0);
    }
    coracle::trim_frame_memory();
  });
  CHECK(failed >= 4);
}

TEST_CASE("interleave: elements may be changed and moved from") {
  std::vector<std::unique_ptr<int>> owners, taken;
  for (int i = 0; i != 10; ++i) owners.push_back(std::make_unique<int>(i));
  const auto take = [&taken](auto& elements) -> interleaved {
    while (std::unique_ptr<int>* each = elements.next()) {
      co_await prefetch(each->get());
      taken.push_back(std::move(*each));
    }
  };
  interleave(4, owners, take);
  CHECK(taken.size() == 10);
  CHECK(std::all_of(owners.begin(), owners.end(), [](auto& each) { return !each; }));
}
