// tests/model/mutex.cpp -- async_mutex, in every interleaving, where waiters resume inside unlock().
// SPDX-License-Identifier: MIT
#include <coracle/sync/async_mutex.hpp>
#include <memory>

#include "guarded_mutex.hpp"

namespace {
using coracle::async_mutex;
using coracle_test::detached;
using coracle_test::enter;
using coracle_test::expect_free;
using coracle_test::guarded;
using coracle_test::is_free;
using coracle_test::lock_until_stopped;
using coracle_test::model_expect;
using coracle_test::model_test;
using coracle_test::model_thread;
using coracle_test::note_end;
using coracle_test::plain_int;
using coracle_test::stoppable_place;
using coracle_test::together;
using coracle_test::try_to_enter;
using coracle_test::wait_end;

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
  return run.finish();
}
