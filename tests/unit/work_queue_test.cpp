// tests/unit/work_queue_test.cpp -- a pool thread's queue, and stealing from it.
// SPDX-License-Identifier: MIT
#include "../../src/exec/work_queue.hpp"

#include <doctest/doctest.h>

namespace {
using coracle::resumption;
using coracle::detail::work_queue;

TEST_CASE("work_queue: another thread leaves an entry that is alone until it comes again") {
  work_queue queue;
  unsigned left = 0;
  resumption one;
  CHECK(queue.steal(left) == nullptr);
  CHECK(queue.push(one));
  CHECK(queue.steal(left) == nullptr);  // leaves it
  CHECK(queue.steal(left) == nullptr);  // has the next ones put where they cost less
  CHECK(queue.steal(left) == &one);
  CHECK(queue.steal(left) == nullptr);
  CHECK(queue.is_empty());
  CHECK(left == 1);
}

TEST_CASE("work_queue: of two entries another thread takes one at once") {
  work_queue queue;
  unsigned left = 0;
  resumption one, two;
  CHECK(queue.push(one));
  CHECK(queue.has_one());
  CHECK(queue.push(two));
  CHECK(!queue.has_one());
  CHECK(queue.steal(left) == &two);
  CHECK(queue.steal(left) == nullptr);
  CHECK(queue.take() == &one);
  CHECK(left == 1);
}

TEST_CASE(
    "work_queue: what is alone is shared for 64 turns of its owner once another thread has seen the same "
    "entry twice") {
  work_queue queue;
  unsigned left = 0;
  resumption one;
  CHECK(queue.push(one));
  CHECK(queue.steal(left) == nullptr);
  CHECK(queue.steal(left) == nullptr);
  CHECK(queue.take() == &one);
  int taken = 0;
  for (int turn = 0; turn != 63; ++turn) {
    CHECK(queue.push(one));
    CHECK(queue.has_one());
    CHECK(queue.steal(left) == nullptr);
    taken += queue.take() == &one;
  }
  CHECK(taken == 63);
  CHECK(queue.push(one));
  CHECK(queue.steal(left) == nullptr);
  CHECK(queue.steal(left) == &one);  // at the second look, as from the ring
  CHECK(queue.take() == nullptr);
  CHECK(queue.push(one));
  CHECK(queue.steal(left) == nullptr);
  CHECK(queue.steal(left) == nullptr);
  CHECK(queue.take() == &one);  // alone in its place as before
  CHECK(queue.is_empty());
}

TEST_CASE("work_queue: an owner who comes to its only entry in time keeps each") {
  work_queue queue;
  unsigned left = 0;
  resumption one;
  for (int turn = 0; turn != 3; ++turn) {
    CHECK(queue.push(one));
    CHECK(queue.steal(left) == nullptr);
    CHECK(queue.take() == &one);
  }
  CHECK(left == 3);
}
}  // namespace
