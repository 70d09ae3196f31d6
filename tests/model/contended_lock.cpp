// tests/model/contended_lock.cpp -- async_semaphore and async_shared_mutex, with waiters on executors.
// SPDX-License-Identifier: MIT
#include <coracle/sync/async_semaphore.hpp>
#include <coracle/sync/async_shared_mutex.hpp>

#include "model_executor.hpp"
#include "model_waits.hpp"

namespace {
using coracle_test::detached;
using coracle_test::model_executor;
using coracle_test::model_expect;
using coracle_test::model_test;
using coracle_test::model_thread;
using coracle_test::note_end;
using coracle_test::plain_int;
using coracle_test::run_until;
using coracle_test::start_on;
using coracle_test::stoppable_place;
using coracle_test::wait_end;

struct semaphore_of_one {
  bool try_lock() { return lock.try_acquire(); }
  void unlock() { lock.release(); }
  auto enter() { return lock.acquire(); }
  auto enter_scoped() { return lock.scoped_acquire(); }
  coracle::async_semaphore lock{1};
};
struct writers {
  bool try_lock() { return lock.try_lock(); }
  void unlock() { lock.unlock(); }
  auto enter() { return lock.lock_async(); }
  auto enter_scoped() { return lock.scoped_lock_async(); }
  coracle::async_shared_mutex lock;
};

/// What the lock guards: a data race is reported where two hold it at once.
template <class Lock>
struct guarded : Lock {
  plain_int entered = 0;
};
template <class Lock>
void try_to_enter(guarded<Lock>& at, int& entered) {
  if (!at.try_lock()) return;
  ++at.entered;
  ++entered;
  at.unlock();
}
template <class Lock>
detached enter(guarded<Lock>& at, int& mine) {
  co_await at.enter();
  ++at.entered;
  ++mine;
  at.unlock();
}
template <class Lock>
void expect_free(Lock& lock) {
  for (int i = 0; i != 2; ++i) {
    model_expect(lock.try_lock(), "it is free");
    lock.unlock();
  }
}

/// Waiters are woken one after the other, and another coroutine may overtake them.
template <class Lock, int Waiters>
void woken_against_try() {
  guarded<Lock> at;
  model_executor place;
  int woken = 0, tried = 0;
  model_expect(at.try_lock(), "it is free");
  for (int i = 0; i != Waiters; ++i) start_on(place, [&] { enter(at, woken); });
  model_thread other{[&] { try_to_enter(at, tried); }};
  at.unlock();
  run_until(place, [&] { return woken == Waiters; });
  other.join();
  model_expect(at.entered == Waiters + tried, "all have had it");
  expect_free(at);
}
/// The other coroutine waits if it is not faster, and is resumed by the one that unlocks.
template <class Lock>
void woken_against_one_that_waits() {
  guarded<Lock> at;
  model_executor place;
  int woken = 0, waited = 0;
  model_expect(at.try_lock(), "it is free");
  start_on(place, [&] { enter(at, woken); });
  model_thread other{[&] { enter(at, waited); }};
  at.unlock();
  run_until(place, [&] { return woken == 1; });
  other.join();
  model_expect(at.entered == 2, "both have had it");
  expect_free(at);
}
/// No other is woken, nor handed the lock, while one is on its way.
template <class Lock>
void one_after_the_other() {
  guarded<Lock> at;
  model_executor place;
  int first = 0, second = 0;
  model_expect(at.try_lock(), "it is free");
  start_on(place, [&] { enter(at, first); });
  start_on(place, [&] { enter(at, second); });
  model_thread holder{[&] { at.unlock(); }};
  holder.join();
  model_expect(place.run_posted() == 1 && first == 1 && second == 0, "the first");
  model_expect(place.run_posted() == 1 && second == 1, "then the second");
  expect_free(at);
}
/// In the model four overtake a waiter that is on its way: `left` of them after `meanwhile()`, and then the
/// lock is kept for it.
template <class Lock, class Meanwhile>
void overtaken_so_often(int left, Meanwhile meanwhile) {
  guarded<Lock> at;
  model_executor place;
  int woken = 0, tried = 0;
  model_expect(at.try_lock(), "it is free");
  start_on(place, [&] { enter(at, woken); });
  at.unlock();
  meanwhile(at, place);
  model_thread other{[&] {
    for (int i = 0; i != 6; ++i) try_to_enter(at, tried);
  }};
  other.join();
  model_expect(tried == left, "then it is kept");
  run_until(place, [&] { return woken == 1; });
  model_expect(at.entered == 1 + left, "it has had it");
  expect_free(at);
}
template <class Lock>
void overtaken_four_times() {
  overtaken_so_often<Lock>(4, [](guarded<Lock>&, model_executor&) {});
}
template <class Lock>
void overtaken_less_after_a_loss() {
  overtaken_so_often<Lock>(2, [](guarded<Lock>& at, model_executor& place) {
    model_expect(at.try_lock(), "overtaken once");
    model_expect(place.run_posted() == 1, "in vain, which counts as another one");
    at.unlock();
  });
}
/// Comes too late for a holder that lets go while the waiter goes back into the queue.
template <class Lock>
void woken_in_vain() {
  guarded<Lock> at;
  model_executor place;
  int woken = 0;
  model_expect(at.try_lock(), "it is free");
  start_on(place, [&] { enter(at, woken); });
  at.unlock();
  model_expect(at.try_lock(), "it is free while the waiter is on its way");
  model_thread holder{[&] { at.unlock(); }};
  run_until(place, [&] { return woken == 1; });
  holder.join();
  expect_free(at);
}
/// Stop is requested at any time on the way. The next waiter gets the lock whether the first one did or not.
template <class Lock>
void stop_on_the_way() {
  guarded<Lock> at;
  model_executor place;
  stoppable_place stops;
  wait_end end = wait_end::waits;
  int second = 0;
  model_expect(at.try_lock(), "it is free");
  start_on(place, [&] { note_end(stops, at.enter_scoped(), end); });
  start_on(place, [&] { enter(at, second); });
  at.unlock();
  model_thread stopper{[&] { stops.request_stop(); }};
  run_until(place, [&] { return end != wait_end::waits && second == 1; });
  stopper.join();
  expect_free(at);
}
/// The request is over before the waiter runs: in the queue or on its way, it is cancelled.
template <class Lock>
void stopped_before_it_runs() {
  guarded<Lock> at;
  model_executor place;
  stoppable_place stops;
  wait_end end = wait_end::waits;
  int second = 0;
  model_expect(at.try_lock(), "it is free");
  start_on(place, [&] { note_end(stops, at.enter_scoped(), end); });
  start_on(place, [&] { enter(at, second); });
  model_thread stopper{[&] { stops.request_stop(); }};
  at.unlock();
  stopper.join();
  run_until(place, [&] { return end != wait_end::waits && second == 1; });
  model_expect(end == wait_end::cancelled, "it takes nothing");
  expect_free(at);
}
template <class Lock>
void stop_behind_the_woken() {
  guarded<Lock> at;
  model_executor place;
  stoppable_place stops;
  wait_end end = wait_end::waits;
  int first = 0;
  model_expect(at.try_lock(), "it is free");
  start_on(place, [&] { enter(at, first); });
  start_on(place, [&] { note_end(stops, at.enter_scoped(), end); });
  at.unlock();
  model_thread stopper{[&] { stops.request_stop(); }};
  run_until(place, [&] { return end != wait_end::waits && first == 1; });
  stopper.join();
  expect_free(at);
}
/// Another branch is taken while this one is on its way.
template <class Lock>
void lost_on_the_way() {
  guarded<Lock> at;
  model_executor place;
  coracle::detail::choice one_of;
  stoppable_place stops;
  wait_end end = wait_end::waits;
  int second = 0;
  model_expect(at.try_lock(), "it is free");
  start_on(place, [&] { note_end(stops, one_of, at.enter(), end); });
  start_on(place, [&] { enter(at, second); });
  at.unlock();
  bool mine = false;
  model_thread rival{[&] {
    mine = one_of.claim();
    if (mine) stops.request_stop();
  }};
  run_until(place, [&] { return end != wait_end::waits; });
  rival.join();
  model_expect(mine == (end == wait_end::cancelled), "one of them");
  if (!mine) at.unlock();
  run_until(place, [&] { return second == 1; });
  expect_free(at);
}

/// Two permits come at once: one can be overtaken, the other is handed over.
void two_permits_for_two() {
  coracle::async_semaphore semaphore{1};
  model_executor place;
  int through = 0;
  bool tried = false;
  model_expect(semaphore.try_acquire(), "it is free");
  const auto wait = [&]() -> detached {
    co_await semaphore.acquire();
    ++through;
  };
  start_on(place, [&] { wait(); });
  start_on(place, [&] { wait(); });
  model_thread other{[&] {
    tried = semaphore.try_acquire();
    semaphore.release(tried ? 2 : 1);
  }};
  semaphore.release();
  run_until(place, [&] { return through == 2; });
  other.join();
  model_expect(!semaphore.try_acquire(), "no permit is made");
}
/// A reader and a writer are on their way, each behind the other's lock.
template <bool WriterFirst>
void reader_and_writer_are_woken() {
  guarded<writers> at;
  model_executor place;
  int woken = 0, tried = 0;
  const auto read = [&]() -> detached {
    const auto lock = co_await at.lock.scoped_lock_shared_async();
    static_cast<void>(static_cast<int>(at.entered));
    ++woken;
  };
  model_expect(at.try_lock(), "it is free");
  if (WriterFirst) start_on(place, [&] { enter(at, woken); });
  start_on(place, [&] { read(); });
  if (!WriterFirst) start_on(place, [&] { enter(at, woken); });
  model_thread other{[&] { try_to_enter(at, tried); }};
  at.unlock();
  run_until(place, [&] { return woken == 2; });
  other.join();
  model_expect(at.entered == 1 + tried, "all have had it");
  expect_free(at);
}
/// A reader overtakes a writer that is on its way, which may come in vain.
void reader_against_a_woken_writer() {
  guarded<writers> at;
  model_executor place;
  int woken = 0;
  model_expect(at.try_lock(), "it is free");
  start_on(place, [&] { enter(at, woken); });
  model_thread other{[&] {
    if (!at.lock.try_lock_shared()) return;
    static_cast<void>(static_cast<int>(at.entered));
    at.lock.unlock_shared();
  }};
  at.unlock();
  run_until(place, [&] { return woken == 1; });
  other.join();
  model_expect(at.entered == 1, "it has had it");
  expect_free(at);
}

template <class Lock>
void check_all(model_test& run, const std::string& name) {
  run.check((name + ": a woken waiter against an attempt").c_str(), run.all, woken_against_try<Lock, 1>);
  run.check((name + ": two woken waiters against an attempt").c_str(), 4, woken_against_try<Lock, 2>);
  run.check((name + ": a woken waiter against one that waits").c_str(), run.all,
            woken_against_one_that_waits<Lock>);
  run.check((name + ": one after the other").c_str(), run.all, one_after_the_other<Lock>);
  run.check((name + ": overtaken so often").c_str(), run.all, overtaken_four_times<Lock>);
  run.check((name + ": overtaken less often after a loss").c_str(), run.all,
            overtaken_less_after_a_loss<Lock>);
  run.check((name + ": woken in vain").c_str(), run.all, woken_in_vain<Lock>);
  run.check((name + ": stop on the way").c_str(), run.all, stop_on_the_way<Lock>);
  run.check((name + ": stopped before it runs").c_str(), run.all, stopped_before_it_runs<Lock>);
  run.check((name + ": stop behind the woken").c_str(), run.all, stop_behind_the_woken<Lock>);
  run.check((name + ": lost on the way").c_str(), 4, lost_on_the_way<Lock>);
}
}  // namespace

int main(int argc, char** argv) {
  model_test run(argc, argv);
  check_all<semaphore_of_one>(run, "semaphore");
  run.check("semaphore: two permits for two", 4, two_permits_for_two);
  check_all<writers>(run, "shared mutex");
  run.check("shared mutex: a writer and a reader are woken", 4, reader_and_writer_are_woken<true>);
  run.check("shared mutex: a reader and a writer are woken", 4, reader_and_writer_are_woken<false>);
  run.check("shared mutex: a reader against a woken writer", run.all, reader_against_a_woken_writer);
  return run.finish();
}
