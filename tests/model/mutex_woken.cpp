// tests/model/mutex_woken.cpp -- waiters of an async_mutex that are woken on an executor.
// SPDX-License-Identifier: MIT
#include "guarded_mutex.hpp"
#include "model_executor.hpp"

namespace {
using coracle::async_mutex;
using coracle_test::detached;
using coracle_test::enter;
using coracle_test::expect_free;
using coracle_test::guarded;
using coracle_test::is_free;
using coracle_test::lock_until_stopped;
using coracle_test::model_executor;
using coracle_test::model_expect;
using coracle_test::model_test;
using coracle_test::model_thread;
using coracle_test::note_end;
using coracle_test::run_until;
using coracle_test::start_on;
using coracle_test::stoppable_place;
using coracle_test::try_to_enter;
using coracle_test::wait_end;

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
