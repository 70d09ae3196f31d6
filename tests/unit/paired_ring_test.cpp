// tests/unit/paired_ring_test.cpp -- when the two ends of an spsc_channel are paired, and when they separate.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <coracle/channels/detail/paired_ring.hpp>

namespace {
using ring = coracle::detail::paired_ring<int>;

void put(ring& into, int value) { into.push(std::move(value)); }

TEST_CASE("paired_ring: once joined, its ends stay so for as long after the last need as after the first") {
  ring pair{2};
  const auto count = [&] {
    int operations = 0;
    while (pair.stay_joined(false)) ++operations;
    return operations;
  };
  pair.join();
  CHECK(pair.stay_joined(true));
  const int after_first = count();
  CHECK(pair.stay_joined(true));
  CHECK(count() == after_first);
}

TEST_CASE("paired_ring: an end watches the other one only where that belongs to another executor") {
  ring pair{2};
  put(pair, 1);
  CHECK_FALSE(pair.spin_while_empty());
  pair.note_receiver(true);
  CHECK(pair.spin_while_empty());
  put(pair, 2);
  CHECK(pair.full());
  CHECK_FALSE(pair.empty());
  CHECK(pair.pop() == 1);
  CHECK_FALSE(pair.spin_while_full());
  pair.note_sender(true);
  CHECK(pair.spin_while_full());
}

TEST_CASE("paired_ring: an end that has watched in vain watches less often, until it was worth it") {
  ring pair{8};
  pair.note_receiver(true);
  const auto skipped = [&] {
    int times = 0;
    put(pair, 1);
    while (!pair.spin_while_empty()) ++times;
    CHECK_FALSE(pair.empty());
    CHECK(pair.pop() == 1);
    return times;
  };
  CHECK(skipped() == 0);
  for (const int before : {0, 1, 3, 7}) {
    for (int i = 0; i != before; ++i) CHECK_FALSE(pair.spin_while_empty());  // not even looked
    CHECK_FALSE(pair.spin_while_empty());                                    // in vain
  }
  CHECK(skipped() == 15);
  CHECK_FALSE(pair.spin_while_empty());
  CHECK(skipped() == 1);
}
}  // namespace
