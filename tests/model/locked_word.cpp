// tests/model/locked_word.cpp -- the lock in the word of every primitive with a wait queue.
// SPDX-License-Identifier: MIT
#include <coracle/detail/locked_word.hpp>
#include <memory>

#include "model_waits.hpp"

namespace {
using coracle_test::model_expect;
using coracle_test::model_test;
using coracle_test::model_thread;
using coracle_test::plain_int;
using coracle_test::together;
using word = coracle::detail::locked_word<std::uint32_t>;
constexpr std::uint32_t one = 2;

/// What the lock guards: a data race is reported where two hold it at once.
struct guarded {
  word count{0};
  plain_int entered = 0;

  void enter() {
    const std::uint32_t seen = count.lock();
    ++entered;
    count.unlock(seen + one);
  }
  void add_one() {
    std::uint32_t seen = count.load(coracle::detail::memory_order_relaxed) & ~word::lock_bit;
    while (!count.change(seen, seen + one, coracle::detail::memory_order_relaxed)) {
      if ((seen & word::lock_bit) != 0) return enter();
    }
  }
  [[nodiscard]] std::uint32_t counted() const {
    return count.load(coracle::detail::memory_order_relaxed) / one;
  }
};

template <unsigned Threads>
void all_lock() {
  guarded at;
  together(Threads, [&](unsigned) { at.enter(); });
  model_expect(at.entered == Threads && at.counted() == Threads, "one after the other");
}
void lock_against_change() {
  guarded at;
  model_thread second{[&] { at.add_one(); }};
  model_thread third{[&] { at.add_one(); }};
  at.enter();
  second.join();
  third.join();
  model_expect(at.counted() == 3, "each has counted");
}
/// unlock() is the last access: who locks it next may destroy it.
void next_holder_destroys_it() {
  auto at = std::make_unique<guarded>();
  std::uint32_t seen = at->count.lock();
  model_thread holder{[&, at = at.get()] { at->count.unlock(seen + one); }};
  model_expect(at->count.lock() == one, "the value that was left");
  at.reset();
  holder.join();
}
}  // namespace

int main(int argc, char** argv) {
  model_test run(argc, argv);
  run.check("locked_word: two lock", run.all, all_lock<2>);
  run.check("locked_word: three lock", 4, all_lock<3>);
  run.check("locked_word: four lock", 3, all_lock<4>);
  run.check("locked_word: lock against two changes", 4, lock_against_change);
  run.check("locked_word: the next holder destroys it", run.all, next_holder_destroys_it);
  return run.finish();
}
