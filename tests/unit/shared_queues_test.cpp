// tests/unit/shared_queues_test.cpp -- posts to a pool from outside.
// SPDX-License-Identifier: MIT
#include "../../src/exec/shared_queues.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <vector>

namespace {
using priority = coracle::static_thread_pool::priority;
using coracle::resumption;
using coracle::detail::shared_queues;

void push(shared_queues& to, resumption& item, priority at = priority::normal) {
  to.push(item, at, [] {});
}
/// Takes one entry and moves up to `share - 1` more to `moved`, as long as it has room.
resumption* take(shared_queues& from, std::size_t share, std::vector<resumption*>& moved, std::size_t room) {
  return from.take(
      priority::normal, [share](std::size_t) { return share; },
      [&](resumption& item) {
        if (moved.size() == room) return false;
        moved.push_back(&item);
        return true;
      });
}
resumption* take_one(shared_queues& from) {
  std::vector<resumption*> none;
  return take(from, 1, none, 0);
}

TEST_CASE("shared_queues: an entry that stood in another list before is the last of its queue") {
  shared_queues queues;
  resumption first, second, elsewhere;
  first.next = &elsewhere;
  push(queues, first);
  CHECK(take_one(queues) == &first);
  push(queues, second);
  CHECK(take_one(queues) == &second);
  CHECK(take_one(queues) == nullptr);
}

TEST_CASE("shared_queues: a fair share moves on in order, as far as there is room for it") {
  shared_queues queues;
  resumption items[5];
  for (resumption& each : items) push(queues, each);
  std::vector<resumption*> moved;
  CHECK(take(queues, 4, moved, 2) == &items[0]);
  CHECK(moved == std::vector{&items[1], &items[2]});
  CHECK(take(queues, 2, moved, 5) == &items[3]);
  CHECK(moved == std::vector{&items[1], &items[2], &items[4]});
  CHECK(queues.is_empty());
  CHECK(queues.is_empty_locked());
}

TEST_CASE("shared_queues: each priority has a queue of its own, and what is low is not urgent") {
  shared_queues queues;
  resumption low, high;
  push(queues, low, priority::low);
  CHECK(queues.has(priority::low));
  CHECK_FALSE(queues.has_urgent());
  push(queues, high, priority::high);
  CHECK(queues.has_urgent());
  CHECK_FALSE(queues.has(priority::normal));
  CHECK(take_one(queues) == nullptr);
  CHECK_FALSE(queues.is_empty());
}
}  // namespace
