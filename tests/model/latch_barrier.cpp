// tests/model/latch_barrier.cpp -- async_latch and async_barrier, in every interleaving.
// SPDX-License-Identifier: MIT
#include <coracle/sync/async_barrier.hpp>
#include <coracle/sync/async_latch.hpp>
#include <memory>

#include "model_waits.hpp"

namespace {
using coracle::async_barrier;
using coracle::async_latch;
using namespace coracle_test;

template <unsigned Threads>
void latch_opens() {
  async_latch latch{Threads - 1};
  plain_int parts[Threads] = {};
  int sum = 0;
  const auto wait = [&]() -> detached {
    co_await latch;
    for (const plain_int& each : parts) sum += each;
  };
  together(Threads, [&](unsigned index) {
    if (index == 0) return static_cast<void>(wait());
    parts[index] = 1;
    latch.count_down();
  });
  model_expect(sum == Threads - 1, "it has seen all");
}
/// A thread that sees is_ready() may destroy the latch, although the last count_down() has not returned.
void ready_latch_may_be_destroyed() {
  auto latch = std::make_unique<async_latch>(2);
  plain_int a = 0, b = 0;
  model_thread first{[&, latch = latch.get()] {
    a = 1;
    latch->count_down();
  }};
  model_thread second{[&, latch = latch.get()] {
    b = 2;
    latch->count_down();
  }};
  while (!latch->is_ready()) coracle::testing::model_yield();
  model_expect(a + b == 3, "it sees what both did");
  latch.reset();
}
void waiter_destroys_the_latch() {
  auto latch = std::make_unique<async_latch>(2);
  const auto wait_and_destroy = [&]() -> detached {
    co_await *latch;
    latch.reset();
  };
  model_thread first{[latch = latch.get()] { latch->count_down(); }};
  model_thread second{[latch = latch.get()] { latch->count_down(); }};
  wait_and_destroy();
  first.join();
  second.join();
  model_expect(!latch, "it has gone on");
}
void stop_against_count_down() {
  async_latch latch{1};
  stoppable_place place;
  wait_end end = wait_end::waits;
  note_end(place, latch.operator co_await(), end);
  model_thread counter{[&] { latch.count_down(); }};
  place.request_stop();
  counter.join();
  model_expect(end != wait_end::waits, "the wait ends");
  model_expect(latch.is_ready(), "and it is open");
}

void barrier_phases() {
  async_barrier barrier{2};
  plain_int a = 0, b = 0;
  int seen = 0;
  const auto take_part = [&](plain_int& mine, plain_int& other) -> detached {
    mine = 1;
    co_await barrier.arrive_and_wait();
    seen += other;
    co_await barrier.arrive_and_wait();
    mine = 2;
  };
  model_thread thread{[&] { take_part(a, b); }};
  take_part(b, a);
  thread.join();
  model_expect(seen == 2, "each sees what the other did before the phase ended");
}
/// The completion function runs once per phase, after all have arrived and before any of them resumes.
template <unsigned Threads>
void all_meet_and_complete() {
  plain_int sum = 0, parts[Threads] = {};
  unsigned through = 0;
  int phases = 0;
  const auto complete = [&]() noexcept {
    for (const plain_int& each : parts) sum += each;
    ++phases;
  };
  async_barrier barrier{Threads, complete};
  const auto take_part = [&](plain_int& mine) -> detached {
    mine = 1;
    co_await barrier.arrive_and_wait();
    model_expect(sum == Threads, "it sees what was completed");
    ++through;
  };
  together(Threads, [&](unsigned index) { take_part(parts[index]); });
  model_expect(through == Threads && phases == 1, "all go on, after one completion");
}
/// Dropping out ends the phase like an arrival, and the next phase expects one member less.
void drop_against_arrive() {
  async_barrier barrier{2};
  plain_int data = 0;
  int phases = 0;
  const auto take_part = [&]() -> detached {
    co_await barrier.arrive_and_wait();
    phases += data;
    co_await barrier.arrive_and_wait();
    phases += data;
  };
  model_thread other{[&] {
    data = 1;
    barrier.arrive_and_drop();
  }};
  take_part();
  other.join();
  model_expect(phases == 2, "the second phase needs one only");
}
/// A resumed member may destroy the barrier, although the other's arrival has not returned.
void waiter_destroys_the_barrier() {
  auto barrier = std::make_unique<async_barrier<>>(2);
  const auto wait_and_destroy = [&]() -> detached {
    co_await barrier->arrive_and_wait();
    barrier.reset();
  };
  model_thread other{[barrier = barrier.get()] { barrier->arrive_and_drop(); }};
  wait_and_destroy();
  other.join();
  model_expect(!barrier, "it has gone on");
}

/// Either the phase has ended, or the arrival is withdrawn and the other waits until this member drops out.
detached_in_place meet_or_drop(const stoppable_place&, async_barrier<>& barrier, wait_end& end) {
  try {
    co_await barrier.arrive_and_wait();
    end = wait_end::carried_out;
  } catch (const coracle::operation_cancelled&) {
    end = wait_end::cancelled;
  }
  if (end == wait_end::cancelled) barrier.arrive_and_drop();
}
detached meet(async_barrier<>& barrier, bool& met) {
  co_await barrier.arrive_and_wait();
  met = true;
}
void stop_against_the_last_arrival() {
  async_barrier barrier{2};
  stoppable_place place;
  wait_end end = wait_end::waits;
  bool met = false;
  meet_or_drop(place, barrier, end);
  model_thread other{[&] { meet(barrier, met); }};
  place.request_stop();
  other.join();
  model_expect(end != wait_end::waits && met, "both go on");
  if (end == wait_end::carried_out) barrier.arrive_and_drop();
  met = false;
  meet(barrier, met);
  model_expect(met, "the next phase ends with those who are still expected");
}
void stop_against_arrival() {
  async_barrier barrier{2};
  stoppable_place place;
  wait_end end = wait_end::waits;
  bool met = false;
  meet(barrier, met);
  model_thread stopper{[&] { place.request_stop(); }};
  meet_or_drop(place, barrier, end);
  stopper.join();
  model_expect(end != wait_end::waits && met, "both go on");
}
/// The last to arrive is a branch of a choice, and so takes the lock without checking first.
void stop_against_the_last_branch() {
  async_barrier barrier{2};
  coracle::detail::choice one_of;
  stoppable_place place, of_branch;
  wait_end end = wait_end::waits, branch = wait_end::waits;
  meet_or_drop(place, barrier, end);
  model_thread stopper{[&] { place.request_stop(); }};
  note_end(of_branch, one_of, barrier.arrive_and_wait(), branch);
  stopper.join();
  model_expect(end != wait_end::waits && branch == wait_end::carried_out, "both go on");
}
/// Two threads arrive at the same time, so the last to arrive has seen no hint that it is the last; a waiter
/// is stopped meanwhile.
void stop_against_two_arrivals() {
  async_barrier barrier{3};
  stoppable_place place;
  wait_end end = wait_end::waits;
  bool met = false, also_met = false;
  meet_or_drop(place, barrier, end);
  model_thread other{[&] { meet(barrier, met); }};
  model_thread stopper{[&] { place.request_stop(); }};
  meet(barrier, also_met);
  other.join();
  stopper.join();
  model_expect(end != wait_end::waits && met && also_met, "all go on");
}
void stop_and_last_arrival_against_arrival() {
  async_barrier barrier{2};
  stoppable_place place;
  wait_end end = wait_end::waits;
  bool met = false;
  model_thread stopper{[&] { place.request_stop(); }};
  model_thread other{[&] { meet(barrier, met); }};
  meet_or_drop(place, barrier, end);
  stopper.join();
  other.join();
  model_expect(end != wait_end::waits && met, "both go on");
}
}  // namespace

int main(int argc, char** argv) {
  model_test run(argc, argv);
  run.check("latch: two counts against a wait", 4, latch_opens<3>);
  run.check("latch: three counts against a wait", 3, latch_opens<4>);
  run.check("latch: one count against a wait", run.all, latch_opens<2>);
  run.check("latch: destroyed once it is ready", 4, ready_latch_may_be_destroyed);
  run.check("latch: the waiter destroys it", 4, waiter_destroys_the_latch);
  run.check("latch: stop against count_down", run.all, stop_against_count_down);
  run.check("barrier: two phases", run.all, barrier_phases);
  run.check("barrier: three meet, and one completes", 4, all_meet_and_complete<3>);
  run.check("barrier: four meet, and one completes", 3, all_meet_and_complete<4>);
  run.check("barrier: drop against arrive", run.all, drop_against_arrive);
  run.check("barrier: the waiter destroys it", run.all, waiter_destroys_the_barrier);
  run.check("barrier: stop against the last arrival", run.all, stop_against_the_last_arrival);
  run.check("barrier: stop against the arrival of the same", run.all, stop_against_arrival);
  run.check("barrier: stop against the last arrival, a branch", run.all, stop_against_the_last_branch);
  run.check("barrier: stop against two arrivals", 2, stop_against_two_arrivals);
  run.check("barrier: stop and the last arrival, against arrival", 3, stop_and_last_arrival_against_arrival);
  return run.finish();
}
