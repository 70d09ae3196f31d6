// tests/unit/wait_queue_choice_test.cpp -- waiters that are branches of a choice, of which one is served.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <coracle/core/detail/stoppable_wait.hpp>
#include <coracle/core/detail/wait_queue.hpp>

namespace {
using coracle::stop_reason;
using coracle::detail::queued_waiter;

/// A node that is not part of a coroutine, as a branch of a choice.
struct branch : queued_waiter {
  explicit branch(coracle::detail::choice* shared = nullptr) noexcept : queued_waiter(nullptr, nullptr) {
    if (shared) static_cast<void>(listen(nullptr, *shared));
  }
};

TEST_CASE("wait_queue: claim() passes over those whose choice is lost, and leaves them") {
  coracle::detail::wait_queue queue;
  coracle::detail::choice lost;
  branch first{&lost}, second;
  CHECK(queue.push(first));
  CHECK(queue.push(second));
  CHECK(lost.claim());
  CHECK(queue.claim() == &second);
  CHECK(queue.claim() == nullptr);
  CHECK(queue.front() == &first);
  CHECK(queue.withdraw(first));
  CHECK(queue.empty());
}

TEST_CASE("wait_queue: take_all() serves whom it can and cancels the rest, for the caller to wake both") {
  coracle::detail::wait_queue queue;
  coracle::detail::choice lost, open;
  branch first{&lost}, second{&open}, third;
  for (branch* each : {&first, &second, &third}) CHECK(queue.push(*each));
  CHECK(lost.claim());
  queued_waiter* const all = queue.take_all();
  CHECK(all == &first);
  CHECK(first.next == &second);
  CHECK(second.next == &third);
  CHECK(third.next == nullptr);
  CHECK(first.progress() == queued_waiter::cancelled);
  CHECK(first.reason() == stop_reason::lost_race);
  CHECK(second.progress() == queued_waiter::served);
  CHECK(third.progress() == queued_waiter::served);
  CHECK(open.is_claimed());
  CHECK_FALSE(queue.withdraw(first));  // its stop request comes late: it is woken already
  CHECK(first.reason() == stop_reason::lost_race);
}

TEST_CASE("wait_queue: claim_all() gives those that are not lost in their order, and leaves the others") {
  coracle::detail::wait_queue queue;
  coracle::detail::choice lost, open;
  branch first, second{&lost}, third{&open}, fourth{&lost}, fifth;
  branch* const all[] = {&first, &second, &third, &fourth, &fifth};
  for (branch* each : all) CHECK(queue.push(*each));
  CHECK(lost.claim());
  queued_waiter* const claimed = queue.claim_all();
  CHECK(claimed == &first);
  CHECK(first.next == &third);
  CHECK(third.next == &fifth);
  CHECK(fifth.next == nullptr);
  for (branch* each : {&first, &third, &fifth}) CHECK(each->progress() == queued_waiter::served);
  CHECK(open.is_claimed());
  CHECK(queue.claim_all() == nullptr);
  CHECK(queue.withdraw(fourth));
  CHECK(queue.withdraw(second));
  CHECK(queue.empty());
}

TEST_CASE("wait_queue: two branches of one coroutine in one queue: the older is served, once") {
  coracle::detail::wait_queue queue;
  coracle::detail::choice shared;
  branch older{&shared}, younger{&shared};
  CHECK(queue.push(older));
  CHECK(queue.push(younger));
  SUBCASE("claim") {
    CHECK(queue.claim() == &older);
    CHECK(queue.claim() == nullptr);
  }
  SUBCASE("claim_all") {
    CHECK(queue.claim_all() == &older);
    CHECK(older.next == nullptr);
  }
  CHECK(queue.withdraw(younger));
  CHECK(queue.empty());
}

TEST_CASE("wait_queue: meet() serves both or neither") {
  coracle::detail::wait_queue queue;
  coracle::detail::choice lost, mine, other;
  branch first{&lost}, second{&other}, arriving{&mine};
  CHECK(queue.push(first));
  CHECK(queue.push(second));
  CHECK(lost.claim());
  SUBCASE("both") {
    CHECK(queue.meet(arriving) == &second);
    CHECK(arriving.progress() == queued_waiter::served);
    CHECK(second.progress() == queued_waiter::served);
    CHECK(mine.is_claimed());
    CHECK(other.is_claimed());
  }
  SUBCASE("the arriving one is lost") {
    CHECK(mine.claim());
    CHECK(queue.meet(arriving) == nullptr);
    CHECK(arriving.progress() == queued_waiter::cancelled);
    CHECK_FALSE(other.is_claimed());
    CHECK(queue.withdraw(second));
  }
  SUBCASE("the arriving one is cancelled") {
    CHECK_FALSE(queue.withdraw(arriving));
    CHECK(queue.meet(arriving) == nullptr);
    CHECK_FALSE(mine.is_claimed());
    CHECK_FALSE(other.is_claimed());
    CHECK(queue.withdraw(second));
  }
  SUBCASE("all who wait are lost") {
    CHECK(other.claim());
    CHECK(queue.meet(arriving) == nullptr);
    CHECK(arriving.progress() == queued_waiter::arriving);
    CHECK_FALSE(mine.is_claimed());
    CHECK(queue.withdraw(second));
  }
  CHECK(queue.withdraw(first));
  CHECK(queue.empty());
}

TEST_CASE(
    "wait_queue: those without a choice meet too, and a branch does not meet one of its own coroutine") {
  coracle::detail::wait_queue queue;
  coracle::detail::choice shared;
  branch own{&shared}, plain, arriving{&shared}, plain_arriving;
  CHECK(queue.push(own));
  CHECK(queue.meet(arriving) == nullptr);
  CHECK(arriving.progress() == queued_waiter::arriving);
  CHECK(queue.push(plain));
  CHECK(queue.meet(arriving) == &plain);
  CHECK(queue.meet(plain_arriving) == nullptr);
  CHECK(queue.withdraw(own));
}

TEST_CASE("wait_queue: of two branches of one coroutine one is served") {
  coracle::detail::wait_queue here, there;
  coracle::detail::choice shared;
  branch first{&shared}, second{&shared}, late{&shared};
  CHECK(here.push(first));
  CHECK(there.push(second));
  CHECK(there.claim() == &second);
  CHECK(here.claim() == nullptr);
  CHECK_FALSE(here.serve_at_once(late));
  CHECK(late.progress() == queued_waiter::cancelled);
  CHECK(here.withdraw(first));
}
}  // namespace
