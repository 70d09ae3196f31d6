// tests/model/work_queue.cpp -- a pool thread's queue: nothing is lost, nothing is taken twice.
// SPDX-License-Identifier: MIT
#include "../../src/exec/work_queue.hpp"

#include <memory>
#include <string>

#include "model_test.hpp"

namespace {
using coracle::resumption;
using coracle::detail::work_queue;
using coracle_test::model_expect;
using coracle_test::model_test;
using coracle_test::model_thread;

/// Entries that know how often they were taken.
struct entry : resumption {
  coracle::detail::plain<int> data = 0;
  int taken = 0;
};
bool take(work_queue& queue, int& last) {
  auto* const item = static_cast<entry*>(queue.take());
  if (!item) return false;
  ++item->taken;
  model_expect(item->data > last, "oldest first, with what was written before the push");
  last = item->data;
  return true;
}
bool push(work_queue& queue, entry& item, int data) {
  item.data = data;
  return queue.push(item);
}
void take_all(work_queue& queue, int& last) {
  while (take(queue, last)) {
  }
}

/// One takes while the owner pushes one more than there is room for, and takes the rest.
void owner_against_thief() {
  const auto queue = std::make_unique<work_queue>();
  entry items[3];
  model_thread thief{[&] {
    int last = 0;
    take(*queue, last);
    take(*queue, last);
  }};
  unsigned pushed = 0;
  int last = 0;
  for (int i = 0; i != 3; ++i) {
    if (!push(*queue, items[i], i + 1)) break;
    ++pushed;
  }
  take_all(*queue, last);
  thief.join();
  take_all(*queue, last);
  for (unsigned i = 0; i != 3; ++i) model_expect(items[i].taken == (i < pushed ? 1 : 0), "taken once");
}
void owner_against_two_thieves() {
  const auto queue = std::make_unique<work_queue>();
  entry items[3];
  const auto steal = [&] {
    int last = 0;
    take(*queue, last);
    take(*queue, last);
  };
  model_thread one{steal}, two{steal};
  unsigned pushed = 0;
  for (int i = 0; i != 3; ++i) {
    if (!push(*queue, items[i], i + 1)) break;
    ++pushed;
  }
  one.join();
  two.join();
  int last = 0;
  take_all(*queue, last);
  for (unsigned i = 0; i != 3; ++i) model_expect(items[i].taken == (i < pushed ? 1 : 0), "taken once");
}
/// A full queue takes more as soon as the owner sees that some were taken; the taker has read its slot by then.
void slots_are_used_again() {
  const auto queue = std::make_unique<work_queue>();
  entry items[4];
  push(*queue, items[0], 1);
  push(*queue, items[1], 2);
  model_thread thief{[&] {
    int last = 0;
    take(*queue, last);
    take(*queue, last);
  }};
  const bool third = push(*queue, items[2], 3);
  const bool fourth = third && push(*queue, items[3], 4);
  thief.join();
  int last = 0;
  take_all(*queue, last);
  model_expect(items[0].taken == 1 && items[1].taken == 1, "taken once");
  model_expect(items[2].taken == third && items[3].taken == fourth, "taken if there was room");
  coracle::testing::model_record(std::to_string(third + fourth));
}
}  // namespace

int main(int argc, char** argv) {
  model_test run(argc, argv);
  run.check("work_queue: owner against a thief", model_test::all, owner_against_thief);
  run.outcomes("work_queue: slots are used again", {"0", "1", "2"}, slots_are_used_again);
  run.check("work_queue: owner against two thieves", 4, owner_against_two_thieves);
  return run.finish();
}
