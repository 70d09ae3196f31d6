// tests/model/mutex.cpp -- async_mutex, in every interleaving.
// SPDX-License-Identifier: MIT
#include <coracle/sync/async_mutex.hpp>
#include <memory>

#include "../support/is_free.hpp"
#include "model_executor.hpp"
#include "model_waits.hpp"

namespace {
using coracle::async_mutex;
using coracle_test::detached;
using coracle_test::detached_in_place;
using coracle_test::is_free;
using coracle_test::model_executor;
using coracle_test::model_expect;
using coracle_test::model_test;
using coracle_test::model_thread;
using coracle_test::note_end;
using coracle_test::plain_int;
using coracle_test::run_until;
using coracle_test::start_on;
using coracle_test::stoppable_place;
using coracle_test::together;
using coracle_test::wait_end;

/// What the lock guards. If two hold the lock at once, the checker reports a data race.
struct guarded {
  async_mutex mutex;
  plain_int entered = 0;
};
detached enter(guarded& at) {
  co_await at.mutex.lock_async();
  ++at.entered;
  at.mutex.unlock();
}
void try_to_enter(guarded& at, int& entered) {
  if (!at.mutex.try_lock()) return;
  ++at.entered;
  ++entered;
  at.mutex.unlock();
}
/// Checks that the mutex is free and has no waiters: two attempts in a row succeed.
void expect_free(async_mutex& mutex) {
  for (int i = 0; i != 2; ++i) model_expect(is_free(mutex), "it is free");
}

template <unsigned Threads>
void all_lock() {
  guarded at;
  together(Threads, [&](unsigned) { enter(at); });
  model_expect(at.entered == Threads, "each has had it");
  expect_free(at.mutex);
}
void lock_against_try_lock() {
  guarded at;
  int tried = 0;
  model_thread other{[&] { try_to_enter(at, tried); }};
  enter(at);
  other.join();
  model_expect(at.entered == 1 + tried, "excluded, or told that it is held");
  expect_free(at.mutex);
}
void two_lock_and_one_tries() {
  guarded at;
  int tried = 0;
  model_thread second{[&] { enter(at); }};
  model_thread third{[&] { try_to_enter(at, tried); }};
  enter(at);
  second.join();
  third.join();
  model_expect(at.entered == 2 + tried, "excluded, or told that it is held");
}

/// One waiter is queued and another arrives during unlock(): the first one is the next holder.
void first_come_first_served() {
  async_mutex mutex;
  model_expect(mutex.try_lock(), "it is free");
  plain_int turn = 0;
  int first = 0, second = 0;
  const auto enter_in_turn = [&](int& mine) -> detached {
    co_await mutex.lock_async();
    mine = ++turn;
    mutex.unlock();
  };
  enter_in_turn(first);
  model_thread later{[&] { enter_in_turn(second); }};
  mutex.unlock();
  later.join();
  model_expect(first == 1 && second == 2, "handed over in the order of arrival");
}
/// The holder's writes reach the next one through unlock(), and the last one may destroy the mutex.
void last_holder_destroys_it() {
  auto at = std::make_unique<guarded>();
  model_expect(at->mutex.try_lock(), "it is free");
  int seen = 0;
  const auto enter_and_destroy = [&]() -> detached {
    co_await at->mutex.lock_async();
    seen = at->entered;
    at->mutex.unlock();
    at.reset();
  };
  model_thread holder{[mutex = &at->mutex, &entered = at->entered] {
    entered = 7;
    mutex->unlock();
  }};
  enter_and_destroy();
  holder.join();
  model_expect(!at && seen == 7, "it has seen what the last holder wrote");
}

void stopped_before() {
  async_mutex mutex;
  stoppable_place place;
  wait_end end = wait_end::waits;
  place.request_stop();
  model_thread other{[&] { static_cast<void>(is_free(mutex)); }};
  note_end(place, mutex.lock_async(), end);
  other.join();
  model_expect(end == wait_end::cancelled, "not even a free one is locked");
  expect_free(mutex);
}
/// The waiter either gets the lock or is cancelled, and the lock is never lost.
detached_in_place lock_until_stopped(const stoppable_place&, async_mutex& mutex, wait_end& end) {
  try {
    const auto lock = co_await mutex.scoped_lock_async();
    end = wait_end::carried_out;
  } catch (const coracle::operation_cancelled&) {
    end = wait_end::cancelled;
  }
}
void stop_against_unlock() {
  async_mutex mutex;
  stoppable_place place;
  wait_end end = wait_end::waits;
  model_expect(mutex.try_lock(), "it is free");
  lock_until_stopped(place, mutex, end);
  model_thread holder{[&] { mutex.unlock(); }};
  place.request_stop();
  holder.join();
  model_expect(end != wait_end::waits, "the wait ends");
  expect_free(mutex);
}
/// The next waiter gets the lock, whether the first one was served or cancelled.
void stop_of_the_first_of_two() {
  guarded at;
  stoppable_place place;
  wait_end end = wait_end::waits;
  model_expect(at.mutex.try_lock(), "it is free");
  lock_until_stopped(place, at.mutex, end);
  enter(at);
  model_thread holder{[&] { at.mutex.unlock(); }};
  place.request_stop();
  holder.join();
  model_expect(end != wait_end::waits, "the wait ends");
  model_expect(at.entered == 1, "the second has had it");
  expect_free(at.mutex);
}
void stop_of_the_last_of_two() {
  guarded at;
  stoppable_place place;
  wait_end end = wait_end::waits;
  model_expect(at.mutex.try_lock(), "it is free");
  enter(at);
  lock_until_stopped(place, at.mutex, end);
  model_thread holder{[&] { at.mutex.unlock(); }};
  place.request_stop();
  holder.join();
  model_expect(end != wait_end::waits && at.entered == 1, "both waits end");
  expect_free(at.mutex);
}
void stop_against_start() {
  async_mutex mutex;
  stoppable_place place;
  wait_end end = wait_end::waits;
  model_expect(mutex.try_lock(), "it is free");
  model_thread stopper{[&] { place.request_stop(); }};
  lock_until_stopped(place, mutex, end);
  stopper.join();
  model_expect(end == wait_end::cancelled, "the wait ends");
  mutex.unlock();
  expect_free(mutex);
}
/// The mutex becomes free, and stop is requested, while a coroutine begins to wait.
void stop_and_unlock_against_start() {
  async_mutex mutex;
  stoppable_place place;
  wait_end end = wait_end::waits;
  model_expect(mutex.try_lock(), "it is free");
  model_thread stopper{[&] { place.request_stop(); }};
  model_thread holder{[&] { mutex.unlock(); }};
  lock_until_stopped(place, mutex, end);
  stopper.join();
  holder.join();
  model_expect(end != wait_end::waits, "the wait ends");
  expect_free(mutex);
}

/// A coroutine waits for two mutexes, which are unlocked concurrently: it gets exactly one.
void one_of_two() {
  async_mutex left, right;
  coracle::detail::choice one_of;
  stoppable_place place;
  wait_end ends[2]{};
  model_expect(left.try_lock() && right.try_lock(), "they are free");
  note_end(place, one_of, left.lock_async(), ends[0]);
  note_end(place, one_of, right.lock_async(), ends[1]);
  model_thread holder{[&] { left.unlock(); }};
  right.unlock();
  holder.join();
  const bool got_left = ends[0] == wait_end::carried_out;
  model_expect(got_left != (ends[1] == wait_end::carried_out), "one of them");
  place.request_stop();
  model_expect(ends[got_left ? 1 : 0] == wait_end::cancelled, "the other ends when it is stopped");
  (got_left ? left : right).unlock();
  expect_free(left);
  expect_free(right);
}
/// A waiter that has lost its choice finds the mutex free and leaves it free, while two others try to lock
/// it.
void a_lost_one_takes_nothing() {
  guarded at;
  coracle::detail::choice one_of;
  stoppable_place place;
  wait_end end = wait_end::waits;
  int first = 0, second = 0;
  model_expect(one_of.claim(), "by another branch");
  model_thread one{[&] { try_to_enter(at, first); }};
  model_thread other{[&] { try_to_enter(at, second); }};
  note_end(place, one_of, at.mutex.lock_async(), end);
  one.join();
  other.join();
  place.request_stop();
  model_expect(end == wait_end::cancelled, "it ends, at the latest when it is stopped");
  model_expect(first + second != 0 && at.entered == first + second, "the others are told that it is free");
  expect_free(at.mutex);
}

detached enter_and_count(guarded& at, int& mine) {
  co_await at.mutex.lock_async();
  ++at.entered;
  ++mine;
  at.mutex.unlock();
}

/// A waiter is woken, and another coroutine may overtake it.
template <int Waiters>
void woken_against_try_lock() {
  guarded at;
  model_executor place;
  int woken = 0, tried = 0;
  model_expect(at.mutex.try_lock(), "it is free");
  for (int i = 0; i != Waiters; ++i) start_on(place, [&] { enter_and_count(at, woken); });
  model_thread other{[&] { try_to_enter(at, tried); }};
  at.mutex.unlock();
  run_until(place, [&] { return woken == Waiters; });
  other.join();
  model_expect(at.entered == Waiters + tried, "all have had it");
  expect_free(at.mutex);
}
/// The other coroutine waits if it is not faster, and is resumed inside unlock().
void woken_against_lock() {
  guarded at;
  model_executor place;
  int woken = 0;
  model_expect(at.mutex.try_lock(), "it is free");
  start_on(place, [&] { enter_and_count(at, woken); });
  model_thread other{[&] { enter(at); }};
  at.mutex.unlock();
  run_until(place, [&] { return woken == 1; });
  other.join();
  model_expect(at.entered == 2, "both have had it");
  expect_free(at.mutex);
}
/// Each on a thread of its own.
void two_woken_on_two_executors() {
  guarded at;
  model_executor here, there;
  int first = 0, second = 0;
  model_expect(at.mutex.try_lock(), "it is free");
  start_on(here, [&] { enter_and_count(at, first); });
  start_on(there, [&] { enter_and_count(at, second); });
  model_thread other{[&] { run_until(there, [&] { return second == 1; }); }};
  at.mutex.unlock();
  run_until(here, [&] { return first == 1; });
  other.join();
  model_expect(at.entered == 2, "both have had it");
  expect_free(at.mutex);
}
/// In the model four overtake a waiter that is on its way: `left` of them after `meanwhile()`, and then the
/// lock is kept for it.
template <class Meanwhile>
void overtaken_so_often(int left, Meanwhile meanwhile) {
  guarded at;
  model_executor place;
  int woken = 0, tried = 0;
  model_expect(at.mutex.try_lock(), "it is free");
  start_on(place, [&] { enter_and_count(at, woken); });
  at.mutex.unlock();
  meanwhile(at.mutex, place);
  model_thread other{[&] {
    for (int i = 0; i != 6; ++i) try_to_enter(at, tried);
  }};
  other.join();
  model_expect(tried == left, "then it is kept");
  run_until(place, [&] { return woken == 1; });
  model_expect(at.entered == 1 + left, "it has had it");
  expect_free(at.mutex);
}
void overtaken_four_times() {
  overtaken_so_often(4, [](async_mutex&, model_executor&) {});
}
void overtaken_less_after_a_loss() {
  overtaken_so_often(2, [](async_mutex& mutex, model_executor& place) {
    model_expect(mutex.try_lock(), "overtaken once");
    model_expect(place.run_posted() == 1, "in vain, which counts as another one");
    mutex.unlock();
  });
}
/// A branch that has lost finds the lock free, and does not change the count.
void overtaken_as_often_beside_a_lost_one() {
  overtaken_so_often(3, [](async_mutex& mutex, model_executor&) {
    model_expect(is_free(mutex), "overtaken once");
    coracle::detail::choice one_of;
    stoppable_place stops;
    wait_end end = wait_end::waits;
    model_expect(one_of.claim(), "by another branch");
    note_end(stops, one_of, mutex.lock_async(), end);
    model_expect(end == wait_end::cancelled, "it has lost");
  });
}
/// A woken waiter finds that another has locked the mutex, which unlocks it while the waiter is queued again.
void woken_in_vain() {
  guarded at;
  model_executor place;
  int woken = 0;
  model_expect(at.mutex.try_lock(), "it is free");
  start_on(place, [&] { enter_and_count(at, woken); });
  at.mutex.unlock();
  model_expect(at.mutex.try_lock(), "it is free while the waiter is on its way");
  model_thread holder{[&] { at.mutex.unlock(); }};
  run_until(place, [&] { return woken == 1; });
  holder.join();
  expect_free(at.mutex);
}
/// Stop is requested at any time before the woken waiter runs. The next waiter gets the lock in either case.
void stop_on_the_way() {
  guarded at;
  model_executor place;
  stoppable_place stops;
  wait_end end = wait_end::waits;
  int second = 0;
  model_expect(at.mutex.try_lock(), "it is free");
  start_on(place, [&] { lock_until_stopped(stops, at.mutex, end); });
  start_on(place, [&] { enter_and_count(at, second); });
  at.mutex.unlock();
  model_thread stopper{[&] { stops.request_stop(); }};
  run_until(place, [&] { return end != wait_end::waits && second == 1; });
  stopper.join();
  expect_free(at.mutex);
}
/// The stop request ends before the waiter runs. Queued or already woken, it is cancelled, and the next
/// waiter gets the lock.
void stopped_before_it_runs() {
  guarded at;
  model_executor place;
  stoppable_place stops;
  wait_end end = wait_end::waits;
  int second = 0;
  model_expect(at.mutex.try_lock(), "it is free");
  start_on(place, [&] { lock_until_stopped(stops, at.mutex, end); });
  start_on(place, [&] { enter_and_count(at, second); });
  model_thread stopper{[&] { stops.request_stop(); }};
  at.mutex.unlock();
  stopper.join();
  run_until(place, [&] { return end != wait_end::waits && second == 1; });
  model_expect(end == wait_end::cancelled, "it takes nothing");
  expect_free(at.mutex);
}
void stop_on_the_way_against_try_lock() {
  guarded at;
  model_executor place;
  stoppable_place stops;
  wait_end end = wait_end::waits;
  int tried = 0;
  model_expect(at.mutex.try_lock(), "it is free");
  start_on(place, [&] { lock_until_stopped(stops, at.mutex, end); });
  at.mutex.unlock();
  model_thread stopper{[&] { stops.request_stop(); }};
  model_thread other{[&] { try_to_enter(at, tried); }};
  run_until(place, [&] { return end != wait_end::waits; });
  stopper.join();
  other.join();
  model_expect(at.entered == tried, "excluded, or told that it is held");
  expect_free(at.mutex);
}
/// A queued waiter is stopped while another thread is about to join the queue.
void stop_behind_the_woken() {
  guarded at;
  model_executor place;
  stoppable_place stops;
  wait_end end = wait_end::waits;
  int first = 0;
  model_expect(at.mutex.try_lock(), "it is free");
  start_on(place, [&] { enter_and_count(at, first); });
  start_on(place, [&] { lock_until_stopped(stops, at.mutex, end); });
  at.mutex.unlock();
  model_thread stopper{[&] { stops.request_stop(); }};
  run_until(place, [&] { return end != wait_end::waits && first == 1; });
  stopper.join();
  expect_free(at.mutex);
}
/// A coroutine that begins to wait finds the lock free again and is stopped, while a woken waiter has yet to
/// run.
void stop_against_start_beside_the_woken() {
  guarded at;
  model_executor place;
  stoppable_place stops;
  wait_end end = wait_end::waits;
  int woken = 0, tried = 0;
  model_expect(at.mutex.try_lock(), "it is free");
  start_on(place, [&] { enter_and_count(at, woken); });
  at.mutex.unlock();
  model_thread stopper{[&] { stops.request_stop(); }};
  model_thread other{[&] { try_to_enter(at, tried); }};
  lock_until_stopped(stops, at.mutex, end);
  stopper.join();
  other.join();
  run_until(place, [&] { return woken == 1; });
  model_expect(end != wait_end::waits && at.entered == 1 + tried, "all waits end");
  expect_free(at.mutex);
}
/// Another branch wins while this one has been woken but has yet to run.
void lost_on_the_way() {
  guarded at;
  model_executor place;
  coracle::detail::choice one_of;
  stoppable_place stops;
  wait_end end = wait_end::waits;
  int second = 0;
  model_expect(at.mutex.try_lock(), "it is free");
  start_on(place, [&] { note_end(stops, one_of, at.mutex.lock_async(), end); });
  start_on(place, [&] { enter_and_count(at, second); });
  at.mutex.unlock();
  bool mine = false;
  model_thread rival{[&] {
    mine = one_of.claim();
    if (mine) stops.request_stop();
  }};
  run_until(place, [&] { return end != wait_end::waits; });
  rival.join();
  model_expect(mine == (end == wait_end::cancelled), "one of them");
  if (!mine) at.mutex.unlock();
  run_until(place, [&] { return second == 1; });
  expect_free(at.mutex);
}
}  // namespace

int main(int argc, char** argv) {
  model_test run(argc, argv);
  run.check("mutex: two lock", run.all, all_lock<2>);
  run.check("mutex: lock against try_lock", run.all, lock_against_try_lock);
  run.check("mutex: three lock", 4, all_lock<3>);
  run.check("mutex: two lock and one tries", 4, two_lock_and_one_tries);
  run.check("mutex: four lock", 3, all_lock<4>);
  run.check("mutex: first come, first served", run.all, first_come_first_served);
  run.check("mutex: the last holder destroys it", run.all, last_holder_destroys_it);
  run.check("mutex: stopped before", run.all, stopped_before);
  run.check("mutex: stop against unlock", run.all, stop_against_unlock);
  run.check("mutex: stop of the first of two, against unlock", run.all, stop_of_the_first_of_two);
  run.check("mutex: stop of the last of two, against unlock", run.all, stop_of_the_last_of_two);
  run.check("mutex: stop against start", run.all, stop_against_start);
  run.check("mutex: stop and unlock against start", 3, stop_and_unlock_against_start);
  run.check("mutex: one of two", run.all, one_of_two);
  run.check("mutex: a lost one takes nothing", 4, a_lost_one_takes_nothing);
  run.check("mutex: a woken waiter against try_lock", run.all, woken_against_try_lock<1>);
  run.check("mutex: two woken waiters against try_lock", 4, woken_against_try_lock<2>);
  run.check("mutex: a woken waiter against lock", run.all, woken_against_lock);
  run.check("mutex: two woken on two executors", 4, two_woken_on_two_executors);
  run.check("mutex: overtaken so often", run.all, overtaken_four_times);
  run.check("mutex: overtaken less often after a loss", run.all, overtaken_less_after_a_loss);
  run.check("mutex: overtaken as often beside a lost one", run.all, overtaken_as_often_beside_a_lost_one);
  run.check("mutex: woken in vain", run.all, woken_in_vain);
  run.check("mutex: stop on the way", run.all, stop_on_the_way);
  run.check("mutex: stopped before it runs", run.all, stopped_before_it_runs);
  run.check("mutex: stop on the way against try_lock", 3, stop_on_the_way_against_try_lock);
  run.check("mutex: stop behind the woken", run.all, stop_behind_the_woken);
  run.check("mutex: stop against start beside the woken", 4, stop_against_start_beside_the_woken);
  run.check("mutex: lost on the way", 4, lost_on_the_way);
  return run.finish();
}
