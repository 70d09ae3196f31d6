// tests/model/semaphore.cpp -- async_semaphore, in every interleaving.
// SPDX-License-Identifier: MIT
#include <coracle/sync/async_semaphore.hpp>
#include <memory>

#include "model_waits.hpp"

namespace {
using coracle::async_semaphore;
using coracle_test::detached;
using coracle_test::model_expect;
using coracle_test::model_test;
using coracle_test::model_thread;
using coracle_test::note_end;
using coracle_test::plain_int;
using coracle_test::stoppable_place;
using coracle_test::together;
using coracle_test::wait_end;

/// Checks that the given number of permits are free and no coroutine waits; takes them.
void expect_permits(async_semaphore& semaphore, int count) {
  for (; count != 0; --count) model_expect(semaphore.try_acquire(), "no permit is lost");
  model_expect(!semaphore.try_acquire(), "no permit is made");
}

/// A semaphore with one permit provides mutual exclusion.
struct guarded {
  async_semaphore semaphore{1};
  plain_int entered = 0;
};
detached enter(guarded& at) {
  co_await at.semaphore.acquire();
  ++at.entered;
  at.semaphore.release();
}
void try_to_enter(guarded& at, int& entered) {
  if (!at.semaphore.try_acquire()) return;
  ++at.entered;
  ++entered;
  at.semaphore.release();
}
template <unsigned Threads>
void all_acquire() {
  guarded at;
  together(Threads, [&](unsigned) { enter(at); });
  model_expect(at.entered == Threads, "each has had it");
  expect_permits(at.semaphore, 1);
}
void acquire_against_try_acquire() {
  guarded at;
  int tried = 0;
  model_thread other{[&] { try_to_enter(at, tried); }};
  enter(at);
  other.join();
  model_expect(at.entered == 1 + tried, "excluded, or told that there is none");
  expect_permits(at.semaphore, 1);
}
/// Two threads write and then release a permit each; a coroutine that acquires both sees both writes.
void two_release() {
  async_semaphore semaphore{0};
  plain_int left = 0, right = 0;
  int sum = 0;
  const auto take_both = [&]() -> detached {
    co_await semaphore.acquire();
    co_await semaphore.acquire();
    sum = left + right;
  };
  model_thread second{[&] {
    left = 1;
    semaphore.release();
  }};
  model_thread third{[&] {
    right = 2;
    semaphore.release();
  }};
  take_both();
  second.join();
  third.join();
  model_expect(sum == 3, "it has gone on, and sees what was written before the releases");
  expect_permits(semaphore, 0);
}
void two_release_to_who_tries() {
  async_semaphore semaphore{0};
  plain_int left = 0, right = 0;
  model_thread second{[&] {
    left = 1;
    semaphore.release();
  }};
  model_thread third{[&] {
    right = 2;
    semaphore.release();
  }};
  if (semaphore.try_acquire() && semaphore.try_acquire()) model_expect(left + right == 3, "both are seen");
  second.join();
  third.join();
}
/// Each permit is given to a waiter or stays available.
void release_many() {
  async_semaphore semaphore{0};
  int through = 0;
  const auto wait = [&]() -> detached {
    co_await semaphore.acquire();
    ++through;
  };
  bool tried = false;
  wait();
  model_thread other{[&] { tried = semaphore.try_acquire(); }};
  semaphore.release(3);
  wait();
  other.join();
  model_expect(through == 2, "both go on");
  expect_permits(semaphore, tried ? 0 : 1);
}
void first_come_first_served() {
  async_semaphore semaphore{0};
  bool first = false, second = false;
  const auto wait = [&](bool& through) -> detached {
    co_await semaphore.acquire();
    through = true;
  };
  wait(first);
  model_thread later{[&] { wait(second); }};
  semaphore.release();
  later.join();
  model_expect(first && !second, "the permit is the first one's");
  semaphore.release();
  model_expect(second, "the next one the other's");
}
/// The same even if the release() that woke it has not returned.
void last_waiter_destroys_it() {
  auto semaphore = std::make_unique<async_semaphore>(0);
  const auto wait_and_destroy = [&]() -> detached {
    co_await semaphore->acquire();
    semaphore.reset();
  };
  model_thread releaser{[all = semaphore.get()] { all->release(); }};
  wait_and_destroy();
  releaser.join();
  model_expect(!semaphore, "it has gone on");
}

void stop_against_release() {
  async_semaphore semaphore{0};
  stoppable_place place;
  wait_end end = wait_end::waits;
  note_end(place, semaphore.acquire(), end);
  model_thread releaser{[&] { semaphore.release(); }};
  place.request_stop();
  releaser.join();
  model_expect(end != wait_end::waits, "the wait ends");
  expect_permits(semaphore, end == wait_end::cancelled ? 1 : 0);
}
void stop_against_start() {
  async_semaphore semaphore{0};
  stoppable_place place;
  wait_end end = wait_end::waits;
  model_thread stopper{[&] { place.request_stop(); }};
  note_end(place, semaphore.acquire(), end);
  stopper.join();
  model_expect(end == wait_end::cancelled, "the wait ends");
  semaphore.release();
  expect_permits(semaphore, 1);
}
void stop_and_release_against_start() {
  async_semaphore semaphore{0};
  stoppable_place place;
  wait_end end = wait_end::waits;
  model_thread stopper{[&] { place.request_stop(); }};
  model_thread releaser{[&] { semaphore.release(); }};
  note_end(place, semaphore.acquire(), end);
  stopper.join();
  releaser.join();
  model_expect(end != wait_end::waits, "the wait ends");
  expect_permits(semaphore, end == wait_end::cancelled ? 1 : 0);
}
void stop_of_the_first_of_two() {
  async_semaphore semaphore{0};
  stoppable_place place;
  wait_end first = wait_end::waits;
  bool second = false;
  const auto wait = [&]() -> detached {
    co_await semaphore.acquire();
    second = true;
  };
  note_end(place, semaphore.acquire(), first);
  wait();
  model_thread releaser{[&] { semaphore.release(); }};
  place.request_stop();
  releaser.join();
  model_expect(first != wait_end::waits, "the wait ends");
  model_expect(second == (first == wait_end::cancelled), "the permit goes to one of them");
  if (!second) semaphore.release();
  expect_permits(semaphore, 0);
}

/// A coroutine waits for two semaphores, and both get a permit: it takes exactly one.
void one_of_two() {
  async_semaphore left{0}, right{0};
  coracle::detail::choice one_of;
  stoppable_place place;
  wait_end ends[2]{};
  note_end(place, one_of, left.acquire(), ends[0]);
  note_end(place, one_of, right.acquire(), ends[1]);
  model_thread releaser{[&] { left.release(); }};
  right.release();
  releaser.join();
  const bool got_left = ends[0] == wait_end::carried_out;
  model_expect(got_left != (ends[1] == wait_end::carried_out), "one of them");
  expect_permits(left, got_left ? 0 : 1);
  expect_permits(right, got_left ? 1 : 0);
  place.request_stop();
  model_expect(ends[got_left ? 1 : 0] == wait_end::cancelled, "the other ends when it is stopped");
}
/// A waiter that has lost its choice finds a permit and leaves it, while two others try to acquire.
void a_lost_one_takes_nothing() {
  guarded at;
  coracle::detail::choice one_of;
  stoppable_place place;
  wait_end end = wait_end::waits;
  int first = 0, second = 0;
  model_expect(one_of.claim(), "by another branch");
  model_thread one{[&] { try_to_enter(at, first); }};
  model_thread other{[&] { try_to_enter(at, second); }};
  note_end(place, one_of, at.semaphore.acquire(), end);
  one.join();
  other.join();
  place.request_stop();
  model_expect(end == wait_end::cancelled, "it ends, at the latest when it is stopped");
  model_expect(first + second != 0 && at.entered == first + second, "the others are told of the permit");
  expect_permits(at.semaphore, 1);
}
}  // namespace

int main(int argc, char** argv) {
  model_test run(argc, argv);
  run.check("semaphore: two acquire", run.all, all_acquire<2>);
  run.check("semaphore: acquire against try_acquire", run.all, acquire_against_try_acquire);
  run.check("semaphore: three acquire", 4, all_acquire<3>);
  run.check("semaphore: four acquire", 3, all_acquire<4>);
  run.check("semaphore: two release, one acquires both", 4, two_release);
  run.check("semaphore: two release, one tries", run.all, two_release_to_who_tries);
  run.check("semaphore: release(3) against acquire and try_acquire", run.all, release_many);
  run.check("semaphore: first come, first served", run.all, first_come_first_served);
  run.check("semaphore: the last waiter destroys it", run.all, last_waiter_destroys_it);
  run.check("semaphore: stop against release", run.all, stop_against_release);
  run.check("semaphore: stop against start", run.all, stop_against_start);
  run.check("semaphore: stop and release against start", 4, stop_and_release_against_start);
  run.check("semaphore: stop of the first of two, against release", run.all, stop_of_the_first_of_two);
  run.check("semaphore: one of two", run.all, one_of_two);
  run.check("semaphore: a lost one takes nothing", 4, a_lost_one_takes_nothing);
  return run.finish();
}
