// tests/unit/timer_wheel_test.cpp -- deadlines on virtual time, compared to a std::multimap.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <coracle/testing/allocations.hpp>
#include <coracle/time/detail/timer_wheel.hpp>
#include <cstdint>
#include <cstring>
#include <map>
#include <new>
#include <random>
#include <vector>

#if defined(__GNUC__) && !defined(__clang__)
// With -O1, g++ sees a new wheel whose slots are not initialised, and not that their bit says so.
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif

namespace {
using coracle::detail::timer_node;
using coracle::detail::timer_wheel;

struct named : timer_node {
  explicit named(int its_name = 0) : name(its_name) {}
  int name;
};
std::vector<int> names_due(timer_wheel& wheel, std::uint64_t now) {
  std::vector<int> names;
  while (timer_node* const due = wheel.pop_due(now)) names.push_back(static_cast<named*>(due)->name);
  return names;
}

TEST_CASE("timer_wheel: an empty one has nothing due, and no next deadline") {
  timer_wheel wheel{100};
  CHECK(wheel.empty());
  CHECK(wheel.next() == timer_wheel::never);
  CHECK(wheel.pop_due(1'000'000) == nullptr);
  CHECK(wheel.now() == 1'000'000);
}

TEST_CASE("timer_wheel: a deadline is due at its time, not one unit before, at every distance") {
  for (unsigned bit = 0; bit != 63; ++bit) {
    for (const std::uint64_t start : {std::uint64_t{0}, std::uint64_t{63}, std::uint64_t{1} << 40}) {
      timer_wheel wheel{start};
      named node{1};
      const std::uint64_t deadline = start + (std::uint64_t{1} << bit);
      wheel.insert(node, deadline);
      REQUIRE(wheel.next() == deadline);
      REQUIRE(wheel.pop_due(deadline - 1) == nullptr);
      REQUIRE(wheel.next() == deadline);
      REQUIRE(wheel.pop_due(deadline) == &node);
      REQUIRE(wheel.empty());
      REQUIRE(wheel.now() == deadline);
    }
  }
}

TEST_CASE("timer_wheel: one jump over everything finds all, by deadline") {
  timer_wheel wheel{7};
  std::vector<named> nodes;
  for (int i = 0; i != 62; ++i) nodes.emplace_back(i);
  for (int i = 61; i >= 0; --i) {
    wheel.insert(nodes[static_cast<std::size_t>(i)], 7 + (std::uint64_t{1} << i));
  }
  std::vector<int> in_order;
  for (int i = 0; i != 62; ++i) in_order.push_back(i);
  CHECK(names_due(wheel, ~std::uint64_t{0}) == in_order);
  CHECK(wheel.empty());
}

TEST_CASE("timer_wheel: equal deadlines are due in the order of insertion") {
  timer_wheel wheel{0};
  named nodes[] = {named{1}, named{2}, named{3}, named{4}, named{5}};
  const std::uint64_t deadline = 1'234'567;
  wheel.insert(nodes[0], deadline);
  wheel.insert(nodes[1], deadline);
  CHECK(wheel.pop_due(1'234'500) == nullptr);  // the first two stand elsewhere than those that come now
  wheel.insert(nodes[2], deadline);
  CHECK(wheel.pop_due(deadline - 1) == nullptr);
  wheel.insert(nodes[3], deadline);
  wheel.insert(nodes[4], deadline - 1);
  CHECK(names_due(wheel, deadline) == std::vector{5, 1, 2, 3, 4});
}

TEST_CASE("timer_wheel: what is past when it comes is due at once, in the order of insertion") {
  timer_wheel wheel{1000};
  named nodes[] = {named{1}, named{2}, named{3}};
  wheel.insert(nodes[0], 1000);
  wheel.insert(nodes[1], 5);
  wheel.insert(nodes[2], 999);
  CHECK(wheel.next() == 1000);
  CHECK(names_due(wheel, 1000) == std::vector{1, 2, 3});
}

TEST_CASE("timer_wheel: time does not run backwards") {
  timer_wheel wheel{1000};
  named node{1};
  wheel.insert(node, 1500);
  CHECK(wheel.pop_due(10) == nullptr);
  CHECK(wheel.now() == 1000);
  CHECK(wheel.pop_due(1500) == &node);
}

TEST_CASE("timer_wheel: a removed deadline is never due, its neighbours are") {
  timer_wheel wheel{0};
  named nodes[] = {named{1}, named{2}, named{3}};
  for (named& each : nodes) wheel.insert(each, 5000);
  wheel.remove(nodes[1]);
  CHECK(names_due(wheel, 5000) == std::vector{1, 3});
  wheel.insert(nodes[1], 6000);
  wheel.remove(nodes[1]);
  CHECK(wheel.empty());
  CHECK(wheel.next() == timer_wheel::never);
}

TEST_CASE("timer_wheel: after a removal next() is not late, and soon right again") {
  timer_wheel wheel{0};
  named first{1}, second{2};
  wheel.insert(first, 70'000);
  wheel.insert(second, 71'000);
  wheel.remove(first);
  CHECK(wheel.next() <= 71'000);
  int looks = 0;
  while (!wheel.pop_due(wheel.next())) ++looks;
  CHECK(looks <= 11);
  CHECK(wheel.now() == 71'000);
}

TEST_CASE("timer_wheel: a node may go in again as soon as it was due, also while others of its time wait") {
  timer_wheel wheel{0};
  named nodes[] = {named{1}, named{2}};
  wheel.insert(nodes[0], 10);
  wheel.insert(nodes[1], 10);
  CHECK(wheel.pop_due(10) == &nodes[0]);
  wheel.insert(nodes[0], 10);
  CHECK(names_due(wheel, 10) == std::vector{2, 1});
}

/// A wheel and its reference model, which run the same random operations.
class twin {
 public:
  explicit twin(unsigned seed, int nodes) : random_(seed), now_(random_() % 1'000'000'000), wheel_(now_) {
    for (int i = 0; i != nodes; ++i) nodes_.emplace_back(i);
    places_.resize(nodes_.size(), model_.end());
  }
  /// Returns false if they differ.
  bool step() {
    const auto chosen = random_() % nodes_.size();
    if (places_[chosen] == model_.end()) {
      insert(chosen);
    } else if (random_() % 3 == 0) {
      wheel_.remove(nodes_[chosen]);
      model_.erase(places_[chosen]);
      places_[chosen] = model_.end();
    }
    if (random_() % 4 == 0 && !advance()) return false;
    return wheel_.empty() == model_.empty() && (model_.empty() || wheel_.next() <= model_.begin()->first);
  }
  [[nodiscard]] int fired() const { return fired_; }

 private:
  /// All numbers of binary digits are equally likely.
  std::uint64_t some_distance() { return random_() >> (20 + random_() % 44); }
  void insert(std::size_t chosen) {
    std::uint64_t deadline = now_ + some_distance();
    if (random_() % 16 == 0) deadline = now_ - random_() % (now_ + 1);
    if (random_() % 4 == 0 && !model_.empty()) deadline = model_.rbegin()->first;
    wheel_.insert(nodes_[chosen], deadline);
    places_[chosen] = model_.emplace(deadline < now_ ? now_ : deadline, static_cast<int>(chosen));
  }
  bool advance() {
    switch (random_() % 3) {
      case 0:
        now_ += some_distance();
        break;
      case 1:
        if (!model_.empty() && wheel_.next() > now_) now_ = wheel_.next();
        break;
      default:
        if (!model_.empty() && model_.begin()->first > now_) now_ = model_.begin()->first - 1;
    }
    for (;;) {
      auto* const due = static_cast<named*>(wheel_.pop_due(now_));
      const bool expected = !model_.empty() && model_.begin()->first <= now_;
      if (!due || !expected) return !due && !expected;
      if (due->name != model_.begin()->second) return false;
      places_[static_cast<std::size_t>(due->name)] = model_.end();
      model_.erase(model_.begin());
      ++fired_;
    }
  }

  using model = std::multimap<std::uint64_t, int>;
  std::mt19937_64 random_;
  std::uint64_t now_;
  timer_wheel wheel_;
  std::vector<named> nodes_;
  model model_;
  std::vector<model::iterator> places_;
  int fired_ = 0;
};

TEST_CASE("timer_wheel: random inserts, removals and advances give what a std::multimap gives") {
  int fired = 0;
  for (unsigned seed = 1; seed != 41; ++seed) {
    CAPTURE(seed);
    twin both{seed, seed % 2 ? 500 : 8};
    for (int i = 0; i != 5000; ++i) REQUIRE(both.step());
    fired += both.fired();
  }
  CHECK(fired > 10'000);
}

TEST_CASE("timer_wheel: without removals whoever looks when next() says so finds a deadline each time") {
  std::mt19937_64 random{1};
  timer_wheel wheel{12'345};
  std::vector<named> nodes(1000);
  for (named& each : nodes) wheel.insert(each, 12'345 + random() % 10'000'000'000);
  int looks = 0;
  std::size_t fired = 0;
  while (!wheel.empty()) {
    ++looks;
    const std::uint64_t now = wheel.next();
    while (const timer_node* const due = wheel.pop_due(now)) {
      REQUIRE(due->deadline == now);
      ++fired;
    }
  }
  CHECK(fired == nodes.size());
  CHECK(looks <= 1000);  // nothing was removed: next() was exact each time
}

TEST_CASE("timer_wheel: made in used memory, it has only what is inserted") {
  for (const int left : {0, 0x55, 0xff}) {
    alignas(timer_wheel) unsigned char memory[sizeof(timer_wheel)];
    std::memset(memory, left, sizeof memory);
    timer_wheel& wheel = *::new (memory) timer_wheel{5};
    named near{1}, far{2};
    wheel.insert(far, 1'000'000);
    CHECK(wheel.next() == 1'000'000);
    wheel.insert(near, 6);
    CHECK(wheel.next() == 6);
    CHECK(names_due(wheel, 999'999) == std::vector{1});
    CHECK(names_due(wheel, 1'000'000) == std::vector{2});
    CHECK(wheel.empty());
  }
}

TEST_CASE("timer_wheel: nothing allocates" * doctest::skip(!coracle::testing::allocations_are_counted)) {
  const auto before = coracle::testing::allocations();
  timer_wheel wheel{0};
  named node{1};
  wheel.insert(node, 1'000'000);
  wheel.remove(node);
  wheel.insert(node, 2'000'000);
  const bool fired = wheel.pop_due(2'000'000) == &node;
  const auto after = coracle::testing::allocations();
  CHECK(fired);
  CHECK(after == before);
}

static_assert(sizeof(timer_wheel) < 18 * 1024);
}  // namespace
