// tests/model/condition_variable.cpp -- async_condition_variable, in every interleaving.
// SPDX-License-Identifier: MIT
#include <coracle/sync/async_condition_variable.hpp>
#include <memory>

#include "../support/is_free.hpp"
#include "model_waits.hpp"

namespace {
using coracle::async_condition_variable;
using coracle::async_mutex;
using coracle::async_mutex_lock;
using namespace coracle_test;

/// What is waited for, and its lock. If two hold the lock at once, the checker reports a data race.
struct guarded {
  async_mutex mutex;
  async_condition_variable changed;
  plain_int items = 0;
};
/// Waits for an item and takes it.
detached take(guarded& at, int& taken) {
  auto lock = co_await at.mutex.scoped_lock_async();
  const auto filled = [&] { return at.items != 0; };
  co_await at.changed.wait(lock, filled);
  --at.items;
  ++taken;
}
detached put(guarded& at, int count) {
  {
    const auto lock = co_await at.mutex.scoped_lock_async();
    at.items += count;
  }
  count == 1 ? at.changed.notify_one() : at.changed.notify_all();
}
detached put_under_lock(guarded& at) {
  const auto lock = co_await at.mutex.scoped_lock_async();
  ++at.items;
  at.changed.notify_one();
}
/// Waits once, for any notification.
detached wait_once(guarded& at, bool& notified) {
  auto lock = co_await at.mutex.scoped_lock_async();
  co_await at.changed.wait(lock);
  ++at.items;  // with the lock held
  notified = true;
}
void expect_free(async_mutex& mutex) { model_expect(coracle_test::is_free(mutex), "nobody holds the lock"); }

void notify_one_against_wait() {
  guarded at;
  int taken = 0;
  model_thread other{[&] { put(at, 1); }};
  take(at, taken);
  other.join();
  model_expect(taken == 1 && at.items == 0, "no wake-up is lost");
  expect_free(at.mutex);
}
void notify_under_lock_against_wait() {
  guarded at;
  int taken = 0;
  model_thread other{[&] { put_under_lock(at); }};
  take(at, taken);
  other.join();
  model_expect(taken == 1 && at.items == 0, "no wake-up is lost");
  expect_free(at.mutex);
}
void notify_all_against_two() {
  guarded at;
  int first = 0, second = 0;
  model_thread other{[&] { put(at, 2); }};
  model_thread waiter{[&] { take(at, first); }};
  take(at, second);
  other.join();
  waiter.join();
  model_expect(first == 1 && second == 1, "both are woken, and hold the lock one after the other");
  expect_free(at.mutex);
}
void two_put_two_take() {
  guarded at;
  int first = 0, second = 0;
  take(at, first);
  model_thread one{[&] { put(at, 1); }};
  model_thread other{[&] { put(at, 1); }};
  take(at, second);
  one.join();
  other.join();
  model_expect(first == 1 && second == 1, "each notification lets one go on");
  expect_free(at.mutex);
}
void two_put_two_take_at_once() {
  guarded at;
  int taken[2] = {};
  together(4, [&](unsigned index) { index < 2 ? take(at, taken[index]) : put(at, 1); });
  model_expect(taken[0] == 1 && taken[1] == 1, "each notification lets one go on");
  expect_free(at.mutex);
}
/// A waiter that arrives after notify_all() waits for the next notification.
void notify_all_against_a_late_one() {
  guarded at;
  bool first = false, second = false;
  wait_once(at, first);
  model_thread late{[&] { wait_once(at, second); }};
  at.changed.notify_all();
  late.join();
  model_expect(first, "who waited is woken");
  at.changed.notify_one();
  model_expect(second, "who came later is not forgotten");
  expect_free(at.mutex);
}
void notify_all_against_notify_one() {
  guarded at;
  bool first = false, second = false;
  wait_once(at, first);
  wait_once(at, second);
  model_thread other{[&] { at.changed.notify_one(); }};
  at.changed.notify_all();
  other.join();
  model_expect(first && second && at.items == 2, "each is woken, once");
  expect_free(at.mutex);
}
void first_come_first_notified() {
  guarded at;
  bool first = false, second = false;
  wait_once(at, first);
  model_thread late{[&] { wait_once(at, second); }};
  at.changed.notify_one();
  late.join();
  model_expect(first && !second, "the notification is the first one's");
  at.changed.notify_one();
  model_expect(second, "the next one the other's");
}
/// Another coroutine holds the lock at the notification: the waiter has the lock before it resumes.
void goes_on_with_the_lock() {
  guarded at;
  bool notified = false;
  const auto change = [&]() -> detached {
    co_await at.mutex.lock_async();
    ++at.items;
    at.mutex.unlock();
  };
  wait_once(at, notified);
  model_thread other{[&] { change(); }};
  at.changed.notify_one();
  other.join();
  model_expect(notified && at.items == 2, "one after the other");
  expect_free(at.mutex);
}
void notified_one_destroys_it() {
  async_mutex mutex;
  auto changed = std::make_unique<async_condition_variable>();
  plain_int ready = 0;
  const auto wait_and_destroy = [&]() -> detached {
    auto lock = co_await mutex.scoped_lock_async();
    co_await changed->wait(lock);
    changed.reset();
  };
  wait_and_destroy();
  const auto work = [&]() -> detached {
    co_await mutex.lock_async();
    ready = 1;
    mutex.unlock();
  };
  model_thread other{[&] { work(); }};
  changed->notify_one();
  other.join();
  model_expect(!changed, "it has gone on");
}

/// Waits without a predicate. Holds the lock afterwards, however the wait ended.
detached_in_place wait_until_stopped(const stoppable_place&, guarded& at, wait_end& end) {
  auto lock = async_mutex_lock::adopt(at.mutex);
  try {
    co_await at.changed.wait(lock);
    end = wait_end::carried_out;
  } catch (const coracle::operation_cancelled&) {
    end = wait_end::cancelled;
  }
  ++at.items;
}
detached_in_place take_until_stopped(const stoppable_place&, guarded& at, wait_end& end) {
  auto lock = async_mutex_lock::adopt(at.mutex);
  const auto filled = [&] { return at.items != 0; };
  try {
    co_await at.changed.wait(lock, filled);
    --at.items;
    end = wait_end::carried_out;
  } catch (const coracle::operation_cancelled&) {
    end = wait_end::cancelled;
  }
}
void hold(async_mutex& mutex) { model_expect(mutex.try_lock(), "it is free"); }

/// A notification that a cancelled wait did not use goes to the other waiter.
void stop_against_notify_one() {
  guarded at;
  stoppable_place place;
  wait_end stopped = wait_end::waits;
  bool other = false;
  hold(at.mutex);
  wait_until_stopped(place, at, stopped);
  wait_once(at, other);
  model_thread notifier{[&] { at.changed.notify_one(); }};
  place.request_stop();
  notifier.join();
  model_expect(stopped != wait_end::waits, "the wait ends");
  model_expect(other == (stopped == wait_end::cancelled), "the notification is one's");
  if (!other) at.changed.notify_one();
  expect_free(at.mutex);
}
void stop_against_notify_all() {
  guarded at;
  stoppable_place place;
  wait_end stopped = wait_end::waits;
  bool other = false;
  hold(at.mutex);
  wait_until_stopped(place, at, stopped);
  wait_once(at, other);
  model_thread notifier{[&] { at.changed.notify_all(); }};
  place.request_stop();
  notifier.join();
  model_expect(stopped != wait_end::waits && other, "both waits end");
  expect_free(at.mutex);
}
void stop_against_start() {
  guarded at;
  stoppable_place place;
  wait_end end = wait_end::waits;
  hold(at.mutex);
  model_thread stopper{[&] { place.request_stop(); }};
  wait_until_stopped(place, at, end);
  stopper.join();
  model_expect(end == wait_end::cancelled && at.items == 1, "the wait ends, with the lock");
  expect_free(at.mutex);
}
/// A predicate, put() from one thread and a stop request from the other.
void stop_against_put() {
  guarded at;
  stoppable_place place;
  wait_end end = wait_end::waits;
  hold(at.mutex);
  take_until_stopped(place, at, end);
  model_thread other{[&] { put(at, 1); }};
  place.request_stop();
  other.join();
  model_expect(end != wait_end::waits, "the wait ends");
  model_expect(at.items == (end == wait_end::cancelled ? 1 : 0), "the item is taken or left");
  expect_free(at.mutex);
}
void stop_and_put_against_start() {
  guarded at;
  stoppable_place place;
  wait_end end = wait_end::waits;
  hold(at.mutex);
  model_thread stopper{[&] { place.request_stop(); }};
  model_thread other{[&] { put(at, 1); }};
  take_until_stopped(place, at, end);
  stopper.join();
  other.join();
  model_expect(end != wait_end::waits, "the wait ends");
  model_expect(at.items == (end == wait_end::cancelled ? 1 : 0), "the item is taken or left");
  expect_free(at.mutex);
}

/// Waits for one of two variables, each with a mutex of its own, as branches of one choice.
detached_in_place wait_as_branch(const stoppable_place&, coracle::detail::choice&, guarded& at,
                                 wait_end& end) {
  auto lock = async_mutex_lock::adopt(at.mutex);
  try {
    co_await at.changed.wait(lock);
    end = wait_end::carried_out;
  } catch (const coracle::operation_cancelled&) {
    end = wait_end::cancelled;
  }
}
void one_of_two() {
  guarded left, right;
  coracle::detail::choice one_of;
  stoppable_place place;
  wait_end ends[2]{};
  hold(left.mutex);
  hold(right.mutex);
  wait_as_branch(place, one_of, left, ends[0]);
  wait_as_branch(place, one_of, right, ends[1]);
  model_thread notifier{[&] { left.changed.notify_one(); }};
  right.changed.notify_all();
  notifier.join();
  const bool got_left = ends[0] == wait_end::carried_out;
  model_expect(got_left != (ends[1] == wait_end::carried_out), "one of them");
  place.request_stop();
  model_expect(ends[got_left ? 1 : 0] == wait_end::cancelled, "the other ends when it is stopped");
  expect_free(left.mutex);
  expect_free(right.mutex);
}
/// The same with a predicate that does not hold as the wait begins.
detached_in_place take_as_branch(const stoppable_place&, coracle::detail::choice&, guarded& at,
                                 wait_end& end) {
  auto lock = async_mutex_lock::adopt(at.mutex);
  const auto filled = [&] { return at.items != 0; };
  try {
    co_await at.changed.wait(lock, filled);
    end = wait_end::carried_out;
  } catch (const coracle::operation_cancelled&) {
    end = wait_end::cancelled;
  }
}
/// A notified branch, whose condition holds, against the other branch of its choice: if it loses, the item
/// and the notification go to the next waiter.
void notified_branch_against_the_other() {
  guarded at;
  coracle::detail::choice one_of;
  stoppable_place place;
  wait_end end = wait_end::waits;
  bool claimed = false;
  int taken = 0;
  hold(at.mutex);
  take_as_branch(place, one_of, at, end);
  take(at, taken);
  model_thread other{[&] { claimed = one_of.claim(); }};
  put(at, 1);
  other.join();
  model_expect(claimed ? taken == 1 : end == wait_end::carried_out, "one of both has gone on");
  model_expect(end == (claimed ? wait_end::cancelled : wait_end::carried_out), "the branch has ended");
  if (taken == 0) at.changed.notify_one();
  model_expect(taken == 1, "and so has the other waiter");
  expect_free(at.mutex);
}
void stop_against_start_of_branch() {
  guarded at;
  coracle::detail::choice one_of;
  stoppable_place place;
  wait_end end = wait_end::waits;
  hold(at.mutex);
  model_thread stopper{[&] { place.request_stop(); }};
  take_as_branch(place, one_of, at, end);
  stopper.join();
  model_expect(end == wait_end::cancelled, "it is stopped");
  model_expect(!one_of.is_claimed(), "and was not the one");
  expect_free(at.mutex);
}
}  // namespace

int main(int argc, char** argv) {
  model_test run(argc, argv);
  run.check("condition variable: notify_one against wait", run.all, notify_one_against_wait);
  run.check("condition variable: notify under the lock against wait", run.all,
            notify_under_lock_against_wait);
  run.check("condition variable: notify_all against two", 4, notify_all_against_two);
  run.check("condition variable: two put, two take", 4, two_put_two_take);
  run.check("condition variable: two put, two take, at once", 3, two_put_two_take_at_once);
  run.check("condition variable: notify_all against a late one", run.all, notify_all_against_a_late_one);
  run.check("condition variable: notify_all against notify_one", run.all, notify_all_against_notify_one);
  run.check("condition variable: first come, first notified", run.all, first_come_first_notified);
  run.check("condition variable: goes on with the lock", run.all, goes_on_with_the_lock);
  run.check("condition variable: the notified one destroys it", run.all, notified_one_destroys_it);
  run.check("condition variable: stop against notify_one", 4, stop_against_notify_one);
  run.check("condition variable: stop against notify_all", 4, stop_against_notify_all);
  run.check("condition variable: stop against start", 4, stop_against_start);
  run.check("condition variable: stop against put", run.all, stop_against_put);
  run.check("condition variable: stop and put against start", 3, stop_and_put_against_start);
  run.check("condition variable: one of two", 4, one_of_two);
  // The second case fails early, within the budget of a mutant.
  run.check("condition variable: a notified branch against the other", run.all,
            notified_branch_against_the_other);
  run.check("condition variable: stop against the start of a branch", run.all, stop_against_start_of_branch);
  run.check("condition variable: stop against the start of a branch, seldom interrupted", 2,
            stop_against_start_of_branch);
  return run.finish();
}
