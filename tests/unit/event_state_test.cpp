// tests/unit/event_state_test.cpp -- the state that the events share, when two of its members overlap.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <coracle/sync/detail/event_state.hpp>
#include <thread>
#include <vector>

namespace {
using coracle::detail::choice;
using coracle::detail::event_state;
using coracle::detail::event_word;
using coracle::detail::queued_waiter;
using coracle::detail::single_waiter_event_state;
using state = queued_waiter::state;

/// Keeps the resumptions posted to it.
struct collector final : coracle::executor {
  void post(coracle::resumption& item) noexcept override { woken.push_back(&item); }
  std::vector<coracle::resumption*> woken;
};
/// A waiter that is not part of a coroutine, possibly woken on that executor.
struct one : queued_waiter {
  one() noexcept : queued_waiter(nullptr, nullptr) {}
  explicit one(choice& shared) noexcept : one() { static_cast<void>(listen(nullptr, shared)); }
  explicit one(collector& there) noexcept : one() { home = &there; }
};
/// Returns the waiter that set_for_one() wakes, or null.
queued_waiter* let_through(event_state& event, collector& there) {
  there.woken.clear();
  event.set_for_one();
  REQUIRE(there.woken.size() <= 1);
  return there.woken.empty() ? nullptr : static_cast<queued_waiter*>(there.woken.front());
}

TEST_CASE("event_word: who asks whether it is set, or resets it, waits while somebody holds its lock") {
  event_word<std::uint32_t> word{false};
  for (const bool resets : {false, true}) {
    CHECK(word.lock() == word.not_set);
    bool was_set = false;
    std::thread other([&] { was_set = resets ? word.reset_if_set() : word.is_set(); });
    for (int i = 0; i != 100; ++i) std::this_thread::yield();
    word.unlock(word.is_set_now);
    other.join();
    CHECK(was_set);
    CHECK(word.reset() != resets);
  }
}

TEST_CASE("event_word: reset() has no effect where it is not set") {
  event_word<std::uint32_t> word{false};
  CHECK_FALSE(word.reset());
  CHECK_FALSE(word.reset_if_set());
  CHECK(word.set_unless_waited_for());
  CHECK(word.reset_if_set());
  CHECK_FALSE(word.is_set());
  static_cast<void>(word.lock());
  word.unlock(8);
  CHECK_FALSE(word.reset());
  CHECK(word.load(coracle::detail::memory_order_relaxed) == 8);
}

TEST_CASE("event_word: set_unless_waited_for() leaves it alone while its lock is held") {
  event_word<std::uint32_t> word{false};
  static_cast<void>(word.lock());
  CHECK_FALSE(word.set_unless_waited_for());
  word.unlock(word.not_set);
  CHECK(word.set_unless_waited_for());
  CHECK(word.set_unless_waited_for());
  CHECK(word.is_set());
}

TEST_CASE("event_state: a waiter that finds it set continues, and resets an auto-reset event") {
  event_state manual_reset{true}, auto_reset{true};
  one first, second;
  CHECK_FALSE(manual_reset.enqueue(first, false));
  CHECK(manual_reset.is_set());
  CHECK_FALSE(auto_reset.enqueue(second, true));
  CHECK_FALSE(auto_reset.is_set());
  CHECK(first.progress() == queued_waiter::served);
  CHECK_FALSE(manual_reset.withdraw(first));
  CHECK(first.progress() == queued_waiter::served);
}

TEST_CASE("event_state: one that waits alone is served, withdrawn, or joined by others in their order") {
  event_state event{false};
  collector there;
  one alone{there}, first{there}, second{there}, third{there};
  CHECK(event.enqueue(alone, true));
  CHECK(event.is_waited_for());
  CHECK(let_through(event, there) == &alone);
  CHECK_FALSE(event.is_waited_for());
  CHECK_FALSE(event.is_set());
  CHECK_FALSE(event.withdraw(alone));

  CHECK(event.enqueue(first, true));
  CHECK(event.withdraw(first));
  CHECK_FALSE(event.withdraw(first));
  CHECK_FALSE(event.is_waited_for());
  CHECK(let_through(event, there) == nullptr);
  event.reset();

  one again{there};
  CHECK(event.enqueue(again, true));
  CHECK(event.enqueue(second, true));
  CHECK(event.enqueue(third, true));
  CHECK(event.withdraw(second));
  CHECK(let_through(event, there) == &again);
  CHECK(let_through(event, there) == &third);
  CHECK_FALSE(event.is_waited_for());
  CHECK_FALSE(event.is_set());
}

TEST_CASE("event_state: who was cancelled on the way neither waits nor uses a set() up") {
  event_state set{true}, unset{false};
  one cancelled;
  CHECK_FALSE(set.withdraw(cancelled));
  CHECK(cancelled.progress() == queued_waiter::cancelled);
  CHECK_FALSE(set.enqueue(cancelled, true));
  CHECK(set.is_set());
  CHECK_FALSE(unset.enqueue(cancelled, true));
  CHECK_FALSE(unset.is_waited_for());
}

TEST_CASE(
    "event_state: a set() is remembered if each of those who wait is lost, and outlives their withdrawal") {
  event_state event{false};
  collector there;
  choice elsewhere;
  one lost{elsewhere}, next;
  CHECK(event.enqueue(lost, true));
  CHECK(elsewhere.claim());
  CHECK(let_through(event, there) == nullptr);
  CHECK(event.is_set());
  CHECK(event.withdraw(lost));
  CHECK(event.is_set());
  CHECK_FALSE(event.enqueue(next, true));
  CHECK(next.progress() == queued_waiter::served);
  CHECK_FALSE(event.is_set());
}

TEST_CASE("event_state: a lost waiter does not hold up the one behind it") {
  event_state event{false};
  collector there;
  choice elsewhere;
  one lost{elsewhere}, next{there};
  CHECK(event.enqueue(lost, true));
  CHECK(event.enqueue(next, true));
  CHECK(elsewhere.claim());
  CHECK(let_through(event, there) == &next);
  CHECK_FALSE(event.is_set());
  CHECK(event.withdraw(lost));
  CHECK_FALSE(event.is_waited_for());
  CHECK(let_through(event, there) == nullptr);
  CHECK(event.is_set());
}

TEST_CASE("single_waiter_event_state: a lost waiter is woken as cancelled, and the set() is for the next") {
  for (const bool auto_reset : {false, true}) {
    single_waiter_event_state event{false};
    choice elsewhere;
    one lost{elsewhere}, next;
    CHECK(event.enqueue(lost, auto_reset, ""));
    CHECK(elsewhere.claim());
    CHECK(event.set_for_waiter(auto_reset) == &lost);
    CHECK(lost.progress() == queued_waiter::cancelled);
    CHECK(event.is_set());
    CHECK_FALSE(event.withdraw(lost));
    CHECK_FALSE(event.enqueue(next, auto_reset, ""));
    CHECK(event.is_set() == !auto_reset);
  }
}

TEST_CASE("single_waiter_event_state: who was cancelled on the way neither waits nor uses a set() up") {
  single_waiter_event_state set{true}, unset{false};
  one cancelled;
  CHECK_FALSE(set.withdraw(cancelled));
  CHECK_FALSE(set.enqueue(cancelled, true, ""));
  CHECK(set.is_set());
  CHECK_FALSE(unset.enqueue(cancelled, true, ""));
  CHECK_FALSE(unset.is_waited_for());
}
}  // namespace
