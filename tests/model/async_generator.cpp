// tests/model/async_generator.cpp -- a body and its consumer, which move from thread to thread.
// SPDX-License-Identifier: MIT
#include <coracle/generators/async_generator.hpp>
#include <coracle/sync/async_auto_reset_event.hpp>
#include <coracle/sync/async_manual_reset_event.hpp>
#include <stdexcept>

#include "model_executor.hpp"
#include "model_waits.hpp"

namespace {
using coracle::async_auto_reset_event;
using coracle::async_generator;
using coracle::async_manual_reset_event;
using namespace coracle_test;

/// Waits for `event` before each element. What the setter wrote must be visible together with the element.
async_generator<int> elements(async_auto_reset_event& event, plain_int& data, int count) {
  for (int i = 0; i != count; ++i) {
    co_await event;
    co_yield data;
  }
}
detached add_up(async_generator<int> source, plain_int& state, int& sum, bool& has_ended) {
  int mine = 0;
  for (;;) {
    const int* const next = co_await source.next();
    if (!next) break;
    ++state;  // the consumer's own, which goes from thread to thread with it
    mine += *next;
  }
  sum = mine;
  has_ended = true;
}
void set_against_next() {
  async_auto_reset_event event;
  plain_int data = 0, state = 0;
  int sum = 0;
  bool has_ended = false;
  model_thread setter{[&] {
    data = 7;
    event.set();
  }};
  add_up(elements(event, data, 1), state, sum, has_ended);
  setter.join();
  model_expect(has_ended && sum == 7 && state == 1, "each element once, then the end");
}
/// Either thread may resume the body, and either may resume the consumer.
void two_elements_from_two_threads() {
  async_auto_reset_event event;
  plain_int data = 7, state = 0;
  int sum = 0;
  bool has_ended = false;
  add_up(elements(event, data, 2), state, sum, has_ended);
  model_thread setter{[&] { event.set(); }};
  model_thread another{[&] { event.set(); }};
  setter.join();
  another.join();
  if (!has_ended) event.set();  // two at once count as one
  model_expect(has_ended && sum == 14 && state == 2, "each element once, then the end");
}
void consumer_on_executor() {
  async_auto_reset_event event;
  plain_int data = 7, state = 0;
  model_executor place;
  bool has_ended = false;
  const auto consume = [&]() -> detached {
    auto source = elements(event, data, 1);
    co_await place.schedule();
    const int* next = co_await source.next();
    model_expect(coracle::current_executor() == &place && next && *next == 7, "where both were");
    next = co_await source.next();
    model_expect(!next, "then the end");
    ++state;
    has_ended = true;
  };
  model_thread setter{[&] { event.set(); }};
  consume();
  while (!has_ended) place.run(1);
  setter.join();
  model_expect(state == 1, "it ends");
}
/// The consumer is stopped while the body waits: the body's wait ends, and the consumer sees the end.
coracle::task<> take_one(async_auto_reset_event& event, plain_int& data, int& seen) {
  auto source = elements(event, data, 2);
  const int* const next = co_await source.next();
  seen = *next;
}
void stop_against_set() {
  async_auto_reset_event event;
  plain_int data = 7;
  int seen = 0;
  stoppable_place place;
  wait_end end = wait_end::waits;
  note_end(place, take_one(event, data, seen), end);
  model_thread setter{[&] { event.set(); }};
  place.request_stop();
  setter.join();
  model_expect(end != wait_end::waits && (seen == 7) == (end == wait_end::carried_out),
               "an element, or cancelled");
}
}  // namespace

int main(int argc, char** argv) {
  model_test run(argc, argv);
  run.check("async_generator: set against next", run.all, set_against_next);
  run.check("async_generator: two elements from two threads", run.all, two_elements_from_two_threads);
  run.check("async_generator: a consumer on an executor", run.all, consumer_on_executor);
  run.check("async_generator: stop against set", run.all, stop_against_set);
  return run.finish();
}
