// tests/unit/waited_word_test.cpp -- the state word of a primitive that usually has at most one waiter.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <coracle/core/detail/waited_word.hpp>

namespace {
using coracle::detail::choice;
using coracle::detail::queued_waiter;
using coracle::detail::waited_word;

constexpr std::uintptr_t nobody = 2;

/// A waiter that is not part of a coroutine.
struct one : queued_waiter {
  one() noexcept : queued_waiter(nullptr, nullptr) {}
};
bool wait(waited_word<>& word, queued_waiter& arriving) {
  const std::uintptr_t seen = word.lock();
  return word.wait(arriving, seen, nobody);
}
std::uintptr_t value(const waited_word<>& word) { return word.load(coracle::detail::memory_order_relaxed); }

TEST_CASE("waited_word: one that waits alone is taken without the lock") {
  waited_word<> word{nobody};
  one alone;
  CHECK(word.take_alone(nobody) == nullptr);
  CHECK(wait(word, alone));
  CHECK(word.is_waited_for());
  CHECK(word.queue.empty());
  CHECK(word.take_alone(0) == &alone);
  CHECK_FALSE(word.is_waited_for());
  CHECK(value(word) == 0);
}

TEST_CASE("waited_word: nobody is taken alone while the lock is held, or from a queue") {
  waited_word<> word{nobody};
  one first, second;
  CHECK(wait(word, first));
  const std::uintptr_t seen = word.lock();
  CHECK(word.take_alone(nobody) == nullptr);
  word.unlock(seen);
  CHECK(wait(word, second));
  CHECK(word.take_alone(nobody) == nullptr);
  CHECK(word.lock_queue() == word.waited_for);
  CHECK(word.queue.claim() == &first);
  CHECK(word.queue.claim() == &second);
  word.unlock(nobody);
}

TEST_CASE("waited_word: a branch of a choice waits in the queue, also alone") {
  waited_word<> word{nobody};
  choice elsewhere;
  one branch;
  CHECK(branch.listen(nullptr, elsewhere));
  CHECK(wait(word, branch));
  CHECK(word.take_alone(nobody) == nullptr);
  CHECK(word.queue.front() == &branch);
  CHECK(word.withdraw(branch, nobody));
  CHECK(value(word) == nobody);
}

TEST_CASE("waited_word: who was cancelled on the way does not wait") {
  waited_word<> word{nobody};
  one cancelled;
  CHECK_FALSE(word.withdraw(cancelled, nobody));
  CHECK_FALSE(wait(word, cancelled));
  CHECK(value(word) == nobody);
}

TEST_CASE("waited_word: one served while it waited alone is not withdrawn, whoever waits meanwhile") {
  for (const unsigned others : {0U, 1U, 2U}) {
    waited_word<> word{nobody};
    one served, second, third;
    CHECK(wait(word, served));
    CHECK(word.take_alone(nobody) == &served);
    if (others > 0) CHECK(wait(word, second));
    if (others > 1) CHECK(wait(word, third));
    CHECK_FALSE(word.withdraw(served, nobody));
    CHECK(served.progress() != queued_waiter::cancelled);
    CHECK(word.is_waited_for() == (others > 0));
    if (others > 0) CHECK(word.withdraw(second, nobody));
    if (others > 1) CHECK(word.withdraw(third, nobody));
    CHECK(value(word) == nobody);
  }
}
}  // namespace
