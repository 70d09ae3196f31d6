// tests/model/orders_sync.cpp -- cases for orders in locks and counts that only mutants revealed.
// SPDX-License-Identifier: MIT
#include <coracle/core/detail/linked_stop_source.hpp>
#include <coracle/core/stop.hpp>
#include <coracle/sync/async_barrier.hpp>
#include <coracle/sync/async_condition_variable.hpp>
#include <optional>

#include "model_waits.hpp"

namespace {
using coracle::async_barrier;
using coracle::async_condition_variable;
using coracle::async_mutex;
using coracle::stop_source;
using coracle::stop_token;
using namespace coracle_test;

/// Each thread makes and destroys a source; then the last source is destroyed.
void sources_come_and_go() {
  std::optional<stop_source> source{std::in_place};
  const stop_token token = source->get_token();
  model_thread other{[&] { const stop_source copy = *source; }};
  {
    const stop_source copy = *source;
  }
  model_expect(token.stop_possible(), "a source is left");
  other.join();
  model_expect(token.stop_possible(), "the first one is left");
  source.reset();
  model_expect(!token.stop_possible(), "none is left");
}
/// The only source, in a task that has ended, while another thread still holds a token.
void only_source_goes() {
  const stop_source outer;
  const stop_token of_outer = outer.get_token();
  stop_token token;
  {
    coracle::detail::linked_stop_source source{of_outer};
    token = source.get_token();
    model_expect(token.stop_possible(), "there is a source");
  }
  model_expect(!token.stop_possible(), "none is left");
}

detached take_part(async_barrier<>& barrier, int& phases) {
  co_await barrier.arrive_and_wait();
  ++phases;
}
/// A stop request that comes too late does not affect the next phase.
void late_stop_against_next_phase() {
  async_barrier barrier{2};
  stoppable_place place;
  wait_end end = wait_end::waits;
  int others = 0, mine = 0;
  note_end(place, barrier.arrive_and_wait(), end);
  model_thread stopper{[&] { place.request_stop(); }};
  take_part(barrier, others);
  stopper.join();
  model_expect(end != wait_end::waits, "it goes on");
  if (end == wait_end::cancelled) take_part(barrier, mine);
  model_expect(others == 1, "the first phase ends");
  take_part(barrier, others);
  model_expect(others == 1, "one of the next phase is missing");
  take_part(barrier, mine);
  model_expect(others == 2, "the next phase ends");
}

struct sleepers {
  async_mutex mutex;
  async_condition_variable changed;
  int awake = 0;
};
detached sleep(sleepers& at) {
  auto lock = co_await at.mutex.scoped_lock_async();
  co_await at.changed.wait(lock);
  ++at.awake;
}
/// A thread that goes to sleep joins a queue while another removes an entry from it without the mutex.
void fall_asleep_against_notify() {
  sleepers at;
  sleep(at);
  model_thread notifier{[&] { at.changed.notify_one(); }};
  sleep(at);
  notifier.join();
  model_expect(at.awake == 1, "one is awake");
  at.changed.notify_one();
  model_expect(at.awake == 2, "the other one, too");
}
}  // namespace

int main(int argc, char** argv) {
  model_test run(argc, argv);
  run.check("stop: sources come and go", run.all, sources_come_and_go);
  run.check("stop: the only source goes", run.all, only_source_goes);
  run.check("barrier: a late stop against the next phase", 2, late_stop_against_next_phase);
  run.check("condition variable: fall asleep against notify", 2, fall_asleep_against_notify);
  return run.finish();
}
