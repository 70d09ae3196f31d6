// tests/model/work_queue.cpp -- a pool thread's queue: no entry is lost or taken twice.
// SPDX-License-Identifier: MIT
#include "../../src/exec/work_queue.hpp"

#include <memory>
#include <optional>
#include <string>

#include "framework/model_test.hpp"

namespace {
using coracle::resumption;
using coracle::detail::work_queue;
using namespace coracle_test;

/// Entries that count how often they were taken.
struct entry : resumption {
  coracle::detail::plain<int> data = 0;
  int taken = 0;
};
void note(entry& item) {
  ++item.taken;
  model_expect(item.data != 0, "with what was written before the push");
}
/// The owner.
bool take(work_queue& queue, int& last) {
  auto* const item = static_cast<entry*>(queue.take());
  if (!item) return false;
  note(*item);
  model_expect(item->data > last, "oldest first");
  last = item->data;
  return true;
}
/// Another thread.
bool steal(work_queue& queue) {
  unsigned left = 0;
  auto* const item = static_cast<entry*>(queue.steal(left));
  if (item) note(*item);
  return item;
}
bool push(work_queue& queue, entry& item, int data) {
  item.data = data;
  return queue.push(item);
}
void take_all(work_queue& queue, int& last) {
  while (take(queue, last)) {
  }
}
template <std::size_t Count>
void expect_taken(const entry (&items)[Count], std::size_t pushed) {
  for (std::size_t i = 0; i != Count; ++i) model_expect(items[i].taken == (i < pushed ? 1 : 0), "taken once");
}
constexpr int room = work_queue::capacity + 1;

/// Other threads take entries while the owner pushes one more than fits, and takes the rest.
template <unsigned Thieves>
void owner_against() {
  const auto queue = std::make_unique<work_queue>();
  entry items[room + 1];
  const auto steal_two = [&] {
    steal(*queue);
    steal(*queue);
  };
  int last = 0;
  unsigned pushed = 0;
  {
    std::optional<model_thread> thieves[Thieves];
    for (auto& each : thieves) each.emplace(steal_two);
    while (pushed != std::size(items) && push(*queue, items[pushed], static_cast<int>(pushed) + 1)) ++pushed;
    take_all(*queue, last);
    for (auto& each : thieves) each->join();
  }
  take_all(*queue, last);
  expect_taken(items, pushed);
}
/// Thieves shut the lone slot, so entries go to the ring, and later to lone_ again.
void what_is_alone_is_shared() {
  const auto queue = std::make_unique<work_queue>();
  entry items[3];
  model_thread thief{[&] {
    queue->shut_lone_slot();
    steal(*queue);
  }};
  int last = 0, data = 0;
  for (entry& each : items) {
    model_expect(push(*queue, each, ++data), "there is room");
    take(*queue, last);
  }
  thief.join();
  take_all(*queue, last);
  model_expect(queue->is_empty(), "nothing is left");
  expect_taken(items, std::size(items));
}
/// A full queue accepts an entry as soon as the owner sees that one was taken; the taker has then read its
/// slot.
void slots_are_used_again() {
  const auto queue = std::make_unique<work_queue>();
  entry items[room + 2];
  for (int i = 0; i != room; ++i) push(*queue, items[i], i + 1);
  model_thread thief{[&] {
    steal(*queue);
    steal(*queue);
  }};
  unsigned more = 0;
  while (more != 2 && push(*queue, items[room + more], room + 1 + static_cast<int>(more))) ++more;
  thief.join();
  int last = 0;
  take_all(*queue, last);
  expect_taken(items, room + more);
  coracle::testing::model_record(std::to_string(more));
}
}  // namespace

int main(int argc, char** argv) {
  model_test run(argc, argv);
  run.check("work_queue: owner against a thief", model_test::all, owner_against<1>);
  run.check("work_queue: what is alone is shared", model_test::all, what_is_alone_is_shared);
  run.outcomes("work_queue: slots are used again", {"0", "1", "2"}, slots_are_used_again);
  run.check("work_queue: owner against two thieves", 2, owner_against<2>);
  return run.finish();
}
