// tests/model/locked_word.cpp -- the lock in the word of every primitive with a wait queue.
// SPDX-License-Identifier: MIT
#include <coracle/base/locked_word.hpp>
#include <memory>

#include "model_waits.hpp"

namespace {
using coracle::detail::memory_order_relaxed;
using namespace coracle_test;
using locked_word = coracle::detail::locked_word<std::uint32_t>;
using exchanged_word = coracle::detail::exchanged_word<std::uint32_t>;
constexpr std::uint32_t one = 2;

/// What the lock guards. If two hold the lock at once, the checker reports a data race.
template <class Word>
struct guarded {
  Word count{0};
  plain_int entered = 0;

  void enter() {
    const std::uint32_t seen = count.lock();
    ++entered;
    count.unlock(seen + one);
  }
  void add_one() {
    std::uint32_t seen = count.load(memory_order_relaxed) & ~Word::lock_bit;
    while (!count.change(seen, seen + one, memory_order_relaxed)) {
      if ((seen & Word::lock_bit) != 0) return enter();
    }
  }
  [[nodiscard]] std::uint32_t counted() const { return count.load(memory_order_relaxed) / one; }
};

template <class Word, unsigned Threads>
void all_lock() {
  guarded<Word> at;
  together(Threads, [&](unsigned) { at.enter(); });
  model_expect(at.entered == Threads && at.counted() == Threads, "one after the other");
}
void lock_against_change() {
  guarded<locked_word> at;
  model_thread second{[&] { at.add_one(); }};
  model_thread third{[&] { at.add_one(); }};
  at.enter();
  second.join();
  third.join();
  model_expect(at.counted() == 3, "each has counted");
}
/// unlock() is the last access: the next thread to lock it may destroy it.
template <class Word>
void next_holder_destroys_it() {
  auto at = std::make_unique<guarded<Word>>();
  std::uint32_t seen = at->count.lock();
  model_thread holder{[&, at = at.get()] { at->count.unlock(seen + one); }};
  model_expect(at->count.lock() == one, "the value that was left");
  at.reset();
  holder.join();
}
/// A thread that finds the value stored by the last holder sees what was written under the lock, and may
/// destroy the word.
void who_finds_the_value_destroys_it() {
  auto at = std::make_unique<guarded<exchanged_word>>();
  model_thread first{[at = at.get()] { at->enter(); }};
  model_thread second{[at = at.get()] { at->enter(); }};
  while (at->count.load_unlocked(coracle::detail::memory_order_acquire) != 2 * one)
    coracle::testing::model_yield();
  model_expect(at->entered == 2, "what was written under the lock");
  at.reset();
  first.join();
  second.join();
}
}  // namespace

int main(int argc, char** argv) {
  model_test run(argc, argv);
  run.check("locked_word: two lock", run.all, all_lock<locked_word, 2>);
  run.check("locked_word: three lock", 4, all_lock<locked_word, 3>);
  run.check("locked_word: four lock", 3, all_lock<locked_word, 4>);
  run.check("locked_word: lock against two changes", 4, lock_against_change);
  run.check("locked_word: the next holder destroys it", run.all, next_holder_destroys_it<locked_word>);
  run.check("exchanged_word: two lock", run.all, all_lock<exchanged_word, 2>);
  run.check("exchanged_word: three lock", 4, all_lock<exchanged_word, 3>);
  run.check("exchanged_word: four lock", 3, all_lock<exchanged_word, 4>);
  run.check("exchanged_word: the next holder destroys it", run.all, next_holder_destroys_it<exchanged_word>);
  run.check("exchanged_word: who finds the value destroys it", 4, who_finds_the_value_destroys_it);
  return run.finish();
}
