// tests/cancellation/cancellation_test.cpp -- every operation keeps the contract of cancellation.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <string>

#include "trial.hpp"

namespace {
using coracle_test::cancellation_entry;
using coracle_test::ending;
using coracle_test::trial;
using coracle_test::when_stopped;

template <class Check>
void for_each_operation(Check check) {
  for (const cancellation_entry& entry : coracle_test::cancellation_table()) {
    INFO(std::string(entry.operation));
    check(entry);
  }
}
}  // namespace

TEST_CASE("cancellation: stop requested before the await: nothing is started") {
  for_each_operation([](const cancellation_entry& entry) {
    trial run(entry);
    run.stop();
    run.start();
    run.settle();
    CHECK(run.ended() == ending::cancelled);
    CHECK(run.reason() == coracle::stop_reason::shutting_down);
    CHECK(run.intact());
  });
}

TEST_CASE("cancellation: stop requested before the await: what could be carried out at once is not") {
  for_each_operation([](const cancellation_entry& entry) {
    trial run(entry);
    run.complete();
    run.stop();
    run.start();
    run.settle();
    CHECK(run.ended() == ending::cancelled);
    CHECK(run.intact());
  });
}

TEST_CASE("cancellation: stop requested during the wait ends it, and nothing is lost") {
  for_each_operation([](const cancellation_entry& entry) {
    trial run(entry);
    run.start();
    REQUIRE(run.ended() == ending::none);
    run.stop();
    if (entry.behaviour == when_stopped::ends_at_once && !entry.ends_on_own_executor) {
      CHECK(run.ended() == ending::cancelled);
    }
    run.settle();
    CHECK(run.ended() == ending::cancelled);
    CHECK(run.reason() == coracle::stop_reason::shutting_down);
    CHECK(run.intact());
  });
}

TEST_CASE("cancellation: what would have completed the wait comes after it was cancelled") {
  for_each_operation([](const cancellation_entry& entry) {
    bool was_late = true;
    for (int attempts = 0; was_late && attempts != 100; ++attempts) {
      trial run(entry);
      run.start();
      const bool may_be_completed = run.may_be_completed();
      run.stop();
      run.complete();
      run.settle();
      was_late = may_be_completed && run.ended() == ending::carried_out;
      CHECK((was_late || run.ended() == ending::cancelled));
      CHECK(run.intact());
    }
    CHECK_FALSE(was_late);
  });
}

TEST_CASE("cancellation: stop requested after the operation has ended has no effect") {
  for_each_operation([](const cancellation_entry& entry) {
    trial run(entry);
    run.start();
    run.complete();
    run.settle();
    CHECK(run.ended() == ending::carried_out);
    run.stop();
    run.settle();
    CHECK(run.intact());
  });
}

TEST_CASE("cancellation: an operation that need not wait is carried out") {
  for_each_operation([](const cancellation_entry& entry) {
    trial run(entry);
    run.complete();
    run.start();
    run.settle();
    CHECK(run.ended() == ending::carried_out);
    CHECK(run.intact());
  });
}

TEST_CASE(
    "cancellation: a stop request that comes after the completion loses, whether or not the coroutine has "
    "run on") {
  for_each_operation([](const cancellation_entry& entry) {
    trial run(entry);
    run.start();
    run.complete();
    run.stop();
    run.settle();
    if (entry.behaviour == when_stopped::ends_at_once && !entry.ends_on_own_executor) {
      CHECK(run.ended() == ending::carried_out);
    }
    CHECK((run.ended() == ending::carried_out || run.ended() == ending::cancelled));
    CHECK(run.intact());
  });
}
