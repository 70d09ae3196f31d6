// tests/model/fork_queue.cpp -- a thread's queue of forked work: no entry is lost or taken twice, and a
// sleeper is woken.
// SPDX-License-Identifier: MIT
#include <coracle/core/detail/fork_queue.hpp>
#include <coracle/exec/run_loop.hpp>
#include <optional>

#include "framework/model_test.hpp"

namespace {
using coracle::resumption;
using coracle::detail::asymmetric_fence;
using coracle::detail::atomic;
using coracle::detail::fork_queue;
using namespace coracle_test;
namespace orders = coracle::detail;

/// An entry that counts how often it was taken.
struct entry : resumption {
  coracle::detail::plain<int> data = 0;
  atomic<int> taken{0};
};
struct counts_word {
  static constexpr std::uint32_t one_searching = 1u << 16;
  atomic<std::uint32_t> counts{0};
};
class tested_queue final : counts_word, public fork_queue {
 public:
  explicit tested_queue(coracle::executor& place) noexcept : fork_queue(place, counts, one_searching) {}
  atomic<std::uint32_t>& sleepers() noexcept { return counts; }
  bool called = false;

 private:
  void call_for_help() noexcept override { called = true; }
};

void push(fork_queue& queue, entry& item) {
  item.data = 42;
  queue.push(item);
}
bool note(resumption* taken) {
  if (!taken) return false;
  auto& item = static_cast<entry&>(*taken);
  model_expect(item.data == 42, "with what was written before the push");
  model_expect(item.taken.fetch_add(1, orders::memory_order_relaxed) == 0, "taken once");
  return true;
}
template <std::size_t Count>
void all_are_taken(entry (&items)[Count]) {
  for (entry& each : items) model_expect(each.taken.load(orders::memory_order_relaxed) == 1, "each is taken");
}

/// The owner takes back what it can; exactly one thread gets the last entry.
template <unsigned Entries, unsigned Thieves>
void owner_against_thieves() {
  coracle::run_loop place;
  tested_queue queue{place};
  entry items[Entries];
  const auto steal = [&] { note(queue.steal()); };
  {
    std::optional<model_thread> second;
    model_thread first{steal};
    if (Thieves == 2) second.emplace(steal);
    for (entry& each : items) push(queue, each);
    while (note(queue.take_back())) {
    }
  }
  while (note(queue.take_back())) {
  }
  all_are_taken(items);
}
/// Takes back a given entry, as a join does: it is the newest one, or another thread has it.
void take_back_one() {
  coracle::run_loop place;
  tested_queue queue{place};
  entry items[2];
  model_thread thief{[&] {
    note(queue.steal());
    note(queue.steal());
  }};
  push(queue, items[0]);
  push(queue, items[1]);
  if (queue.take_back(items[1])) note(&items[1]);
  if (queue.take_back(items[0])) note(&items[0]);
  thief.join();
  all_are_taken(items);
}
/// An entry is taken back, changed and pushed again in the same place. when_all() does so between two
/// children, with the entry that starts the remaining ones.
void push_again() {
  coracle::run_loop place;
  tested_queue queue{place};
  entry items[2];
  push(queue, items[0]);
  push(queue, items[1]);
  model_thread thief{[&] {
    note(queue.steal());
    note(queue.steal());
  }};
  for (int i = 0; i != 2; ++i) {
    const std::size_t where = queue.take_back_fast(items[1]);
    if (where == fork_queue::nowhere) break;
    items[1].data = 0;
    items[1].data = 42;
    queue.push_again(where);
  }
  while (note(queue.take_back())) {
  }
  thief.join();
  while (note(queue.take_back())) {
  }
  all_are_taken(items);
}
/// The owner takes the oldest entry while a thief tries to steal it.
template <unsigned Entries>
void owner_takes_the_oldest() {
  coracle::run_loop place;
  tested_queue queue{place};
  entry items[Entries + 1];
  for (unsigned i = 0; i != Entries; ++i) push(queue, items[i]);
  model_thread thief{[&] {
    note(queue.steal());
    note(queue.steal());
  }};
  note(queue.take_oldest());
  push(queue, items[Entries]);
  while (note(queue.take_back())) {
  }
  thief.join();
  while (note(queue.take_back())) {
  }
  all_are_taken(items);
}
/// Slots are reused while a thief reads them.
void slots_are_used_again() {
  coracle::run_loop place;
  tested_queue queue{place};
  entry items[3];
  push(queue, items[0]);
  push(queue, items[1]);
  model_thread thief{[&] {
    note(queue.steal());
    note(queue.steal());
  }};
  push(queue, items[2]);
  while (note(queue.take_back())) {
  }
  thief.join();
  while (note(queue.take_back())) {
  }
  all_are_taken(items);
}
/// The thief reads a slot that holds another entry by then, since the first one was taken back.
void slot_of_one_taken_back() {
  coracle::run_loop place;
  tested_queue queue{place};
  entry items[2];
  model_thread thief{[&] { note(queue.steal()); }};
  push(queue, items[0]);
  const bool first_is_back = queue.take_back(items[0]);
  if (first_is_back) note(&items[0]);
  push(queue, items[1]);
  thief.join();
  while (note(queue.take_back())) {
  }
  all_are_taken(items);
}
/// After the owner and a thief have met at the last entry, others can take the next one.
void next_after_the_last() {
  coracle::run_loop place;
  tested_queue queue{place};
  entry items[2];
  model_thread thief{[&] { note(queue.steal()); }};
  push(queue, items[0]);
  if (queue.take_back(items[0])) note(&items[0]);
  thief.join();
  push(queue, items[1]);
  model_expect(note(queue.steal()), "it can be taken");
  model_expect(queue.is_empty() && !queue.steal(), "then there is none");
}
/// There is a filler below the first entry. One thief may take the filler, another the entry.
void filler_is_no_entry() {
  coracle::run_loop place;
  tested_queue queue{place};
  entry items[2];
  push(queue, items[0]);
  model_expect(!queue.is_empty(), "it can be taken");
  note(queue.take_back());
  model_expect(queue.is_empty() && !queue.steal() && !queue.take_back(), "a filler is no entry");
  push(queue, items[1]);
  {
    const auto steal = [&] { note(queue.steal()); };
    model_thread first{steal};
    model_thread second{steal};
  }
  note(queue.take_back());
  model_expect(queue.is_empty(), "then there is none");
  all_are_taken(items);
}
/// The filler is put where an entry was.
void filler_in_a_used_slot() {
  coracle::run_loop place;
  tested_queue queue{place};
  entry items[3];
  for (entry& each : items) {
    push(queue, each);
    model_expect(note(queue.steal()), "it can be taken");
    model_expect(!queue.take_back(each), "then it is gone");
  }
  all_are_taken(items);
}
/// The owner pushes, then looks for sleepers; a thread about to sleep announces it, then looks for entries.
/// At least one of the two sees the other.
void sleeper_is_called() {
  coracle::run_loop place;
  tested_queue queue{place};
  entry item;
  bool seen = false;
  model_thread sleeper{[&] {
    const asymmetric_fence fence;
    queue.sleepers().fetch_add(1, orders::memory_order_relaxed);
    fence.heavy();
    seen = !queue.is_empty();
  }};
  push(queue, item);
  sleeper.join();
  model_expect(seen || queue.called, "it is seen, or it calls");
  note(queue.take_back());
}
}  // namespace

int main(int argc, char** argv) {
  model_test run(argc, argv);
  run.check("fork_queue: one entry, one thief", model_test::all, owner_against_thieves<1, 1>);
  run.check("fork_queue: a sleeper is called, or sees", model_test::all, sleeper_is_called);
  run.check("fork_queue: three entries, one thief", 4, owner_against_thieves<3, 1>);
  run.check("fork_queue: taken back by name", 4, take_back_one);
  run.check("fork_queue: put in again where it was", 4, push_again);
  run.check("fork_queue: the owner takes the oldest of one", 4, owner_takes_the_oldest<1>);
  run.check("fork_queue: the owner takes the oldest of two", 4, owner_takes_the_oldest<2>);
  run.check("fork_queue: slots are used again", 4, slots_are_used_again);
  run.check("fork_queue: the slot of one taken back", model_test::all, slot_of_one_taken_back);
  run.check("fork_queue: the next after the last", model_test::all, next_after_the_last);
  run.check("fork_queue: a filler is no entry", 4, filler_is_no_entry);
  run.check("fork_queue: a filler in a used slot", model_test::all, filler_in_a_used_slot);
  run.check("fork_queue: two entries, two thieves", 3, owner_against_thieves<2, 2>);
  return run.finish();
}
