// tests/model/io_timers.cpp -- timers of an io_service over a modelled system: each ends once.
// SPDX-License-Identifier: MIT
#include <chrono>
#include <coracle/compose/as_outcome.hpp>
#include <coracle/core/operation_cancelled.hpp>
#include <coracle/core/stop.hpp>
#include <coracle/core/task.hpp>
#include <coracle/core/with_environment.hpp>
#include <utility>

#include "played_io_system.hpp"

namespace {
using namespace coracle_test;
using namespace std::chrono_literals;

detached wait_for_timer(place& at, coracle::stop_token token, plain_int& ends) {
  try {
    co_await at.io.schedule_at(time_point{5s}, std::move(token));
  } catch (const coracle::operation_cancelled&) {
  }
  ++ends;
}
/// The time comes, and the system's timer expires.
void ring_at(place& at, int seconds) {
  at.system.time.store(seconds, order::relaxed);
  at.system.backend->ring();
}

void timer_fires() {
  place at;
  plain_int ends = 0;
  wait_for_timer(at, {}, ends);
  model_thread clock{[&] { ring_at(at, 9); }};
  at.io.process_one_event();
  model_expect(ends == 1, "once");
  clock.join();
}
/// The thread that fires the timer holds the lock again when the post arrives.
void timer_fires_against_post() {
  place at;
  plain_int ends = 0, done = 0;
  wait_for_timer(at, {}, ends);
  model_thread clock{[&] {
    ring_at(at, 9);
    hop(at.io, done);
  }};
  at.io.process_one_event();
  at.io.process_one_event();
  model_expect(ends == 1 && done == 1, "both have come");
  clock.join();
}
void two_timers_start() {
  place at;
  plain_int first = 0, second = 0;
  model_thread other{[&] { wait_for_timer(at, {}, first); }};
  wait_for_timer(at, {}, second);
  other.join();
  ring_at(at, 9);
  at.io.process_one_event();
  at.io.process_one_event();
  model_expect(first == 1 && second == 1, "both have come");
}
/// Two threads add a timer each; the loop fires each one when its time has come, and not the other.
void two_timers_come() {
  place at;
  at.system.time.store(9, order::relaxed);
  plain_int first = 0, second = 0;
  model_thread other{[&] { wait_for_timer(at, {}, first); }};
  [](place& there, plain_int& ended) -> detached {
    co_await there.io.schedule_at(time_point{20s});
    ++ended;
  }(at, second);
  at.io.process_one_event();
  model_expect(first == 1 && second == 0, "the first, whose time had come");
  other.join();
  ring_at(at, 25);
  at.io.process_one_event();
  model_expect(second == 1, "the other");
}
/// For a timer that is due.
void stop_against_past_timer() {
  place at;
  at.system.time.store(9, order::relaxed);
  coracle::stop_source source;
  plain_int ends = 0;
  model_thread stopper{[&] { source.request_stop(); }};
  wait_for_timer(at, source.get_token(), ends);
  stopper.join();
  at.io.process_pending_events();
  model_expect(ends == 1, "once");
}
/// The coroutine that waited for the first timer sets the second.
void two_timers_in_turn() {
  place at;
  plain_int ends = 0;
  [](place& there, plain_int& ended) -> detached {
    co_await there.io.schedule_at(time_point{5s});
    ++ended;
    co_await there.io.schedule_at(time_point{20s});
    ++ended;
  }(at, ends);
  model_thread clock{[&] {
    ring_at(at, 9);
    ring_at(at, 25);
  }};
  at.io.process_one_event();
  at.io.process_one_event();
  model_expect(ends == 2, "one after the other");
  clock.join();
}
/// Delivered once, by either thread.
void stop_against_timer() {
  place at;
  coracle::stop_source source;
  plain_int ends = 0;
  wait_for_timer(at, source.get_token(), ends);
  model_thread stopper{[&] { source.request_stop(); }};
  model_thread clock{[&] { ring_at(at, 9); }};
  at.io.process_one_event();
  stopper.join();
  clock.join();
  at.io.process_pending_events();
  model_expect(ends == 1, "once");
}
/// A task that is destroyed where it waits, unless the timer fires first.
struct timed_end {
  plain_int destroyed = 0, handled = 0, ends = 0;
};
struct counts_destruction {
  explicit counts_destruction(timed_end& its_end) noexcept : end(its_end) {}
  counts_destruction(const counts_destruction&) = delete;
  counts_destruction& operator=(const counts_destruction&) = delete;
  ~counts_destruction() { ++end.destroyed; }
  timed_end& end;
};
detached wait_quietly(place& at, coracle::stop_token token, timed_end& end) {
  const auto waits = [&]() -> coracle::task<> {
    const counts_destruction local(end);
    try {
      co_await at.io.schedule_at(time_point{5s});
    } catch (const coracle::operation_cancelled&) {
      ++end.handled;
      throw;
    }
  };
  co_await coracle::with_stop(coracle::as_outcome(waits()), std::move(token));
  ++end.ends;
}
void expect_quiet(const timed_end& end) {
  model_expect(end.ends == 1 && end.destroyed == 1 && end.handled == 0, "once, without a throw");
}
void quiet_stop_against_timer() {
  place at;
  coracle::stop_source source;
  timed_end end;
  wait_quietly(at, source.get_token(), end);
  model_thread stopper{[&] { source.request_stop(); }};
  model_thread clock{[&] { ring_at(at, 9); }};
  at.io.process_one_event();
  stopper.join();
  clock.join();
  at.io.process_pending_events();
  expect_quiet(end);
}
void quiet_stop_against_start() {
  place at;
  coracle::stop_source source;
  timed_end end;
  model_thread stopper{[&] { source.request_stop(); }};
  wait_quietly(at, source.get_token(), end);
  stopper.join();
  at.io.process_pending_events();
  expect_quiet(end);
}
}  // namespace

int main(int argc, char** argv) {
  model_test run(argc, argv);
  run.check("io_service: a timer fires", run.all, timer_fires);
  run.check("io_service: a timer fires against a post", 3, timer_fires_against_post);
  run.check("io_service: two timers start on two threads", run.all, two_timers_start);
  run.check("io_service: two timers come on two threads", 3, two_timers_come);
  run.check("io_service: stop against a timer that is past", run.all, stop_against_past_timer);
  run.check("io_service: two timers in turn", 4, two_timers_in_turn);
  run.check("io_service: stop against a timer", 3, stop_against_timer);
  run.check("io_service: stop of a task against its timer", 3, quiet_stop_against_timer);
  run.check("io_service: stop of a task against the start of its timer", run.all, quiet_stop_against_start);
  return run.finish();
}
