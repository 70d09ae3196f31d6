// tests/model/single_flight.cpp -- callers that share one execution arrive, are stopped and leave.
// SPDX-License-Identifier: MIT
#include <coracle/compose/single_flight.hpp>
#include <coracle/sync/async_manual_reset_event.hpp>
#include <stdexcept>

#include "model_executor.hpp"
#include "model_waits.hpp"

namespace {
using coracle::async_manual_reset_event;
using coracle::single_flight;
using coracle::task;
using namespace coracle_test;

using flights = single_flight<int, int>;

detached call(flights& of, int& runs, std::coroutine_handle<>& body, int& seen) {
  const auto work = [&]() -> task<int> {
    ++runs;
    co_await hand_out{body};
    co_return 7;
  };
  seen = co_await of.run(1, work);
}
/// Work that completes immediately. The flights of two threads may overlap.
detached call_at_once(flights& of, coracle::detail::atomic<int>& runs, int& seen) {
  const auto work = [&]() -> task<int> {
    co_return 7 + 10 * runs.fetch_add(1, coracle::detail::memory_order_relaxed);
  };
  seen = co_await of.run(1, work);
}
template <unsigned Callers>
void all_call() {
  flights all;
  coracle::detail::atomic<int> runs{0};
  int seen[Callers] = {};
  together(Callers, [&](unsigned index) { call_at_once(all, runs, seen[index]); });
  const int ran = runs.load(coracle::detail::memory_order_relaxed);
  for (const int each : seen)
    model_expect(each % 10 == 7 && each < 10 * ran, "each has the result of an execution");
}
/// A caller arrives while the work ends.
void call_against_end() {
  flights all;
  int runs = 0, more = 0;
  std::coroutine_handle<> body, again;
  int a = 0, b = 0;
  call(all, runs, body, a);
  model_thread ender{[&] { coracle::resume(body); }};
  call(all, more, again, b);
  ender.join();
  if (again) coracle::resume(again);
  model_expect(a == 7 && b == 7 && runs == 1, "each has a result");
  model_expect((more == 1) == static_cast<bool>(again),
               "the second runs its own work only if it came too late");
}
/// An error reaches all callers.
void two_callers_of_failure() {
  flights all;
  int failed = 0;
  std::coroutine_handle<> body;
  const auto work = [&]() -> task<int> {
    co_await hand_out{body};
    throw std::runtime_error("failed");
  };
  const auto caller = [&]() -> detached {
    bool has_failed = false;
    try {
      static_cast<void>(co_await all.run(1, work));
    } catch (const std::runtime_error&) {
      has_failed = true;
    }
    failed += has_failed;
  };
  caller();
  caller();
  model_thread ender{[&] { coracle::resume(body); }};
  ender.join();
  model_expect(failed == 2, "each caller has the error");
}

task<> call_event(flights& of, async_manual_reset_event& event, plain_int& ends, int& seen) {
  const auto work = [&]() -> task<int> {
    bool was_stopped = false;
    try {
      co_await event;
    } catch (const coracle::operation_cancelled&) {
      was_stopped = true;
    }
    ++ends;
    if (was_stopped) throw coracle::operation_cancelled{};
    co_return 7;
  };
  seen = co_await of.run(1, work);
}
/// The only caller is stopped while the work ends: the work is joined either way.
void stop_the_only_caller() {
  flights all;
  async_manual_reset_event event;
  plain_int ends = 0;
  int seen = 0;
  stoppable_place place;
  wait_end end = wait_end::waits;
  note_end(place, call_event(all, event, ends, seen), end);
  model_thread setter{[&] { event.set(); }};
  place.request_stop();
  setter.join();
  model_expect(end != wait_end::waits && ends == 1, "it ends, and the work has");
  model_expect((seen == 7) == (end == wait_end::carried_out), "with the result, or cancelled");
}
/// Two callers, one of which is stopped while the work ends: the other gets the result.
void stop_one_of_two(bool the_first) {
  flights all;
  async_manual_reset_event event;
  plain_int ends = 0;
  int seen = 0, others = 0;
  stoppable_place place, never;
  wait_end end = wait_end::waits, other = wait_end::waits;
  note_end(the_first ? place : never, call_event(all, event, ends, the_first ? seen : others),
           the_first ? end : other);
  note_end(the_first ? never : place, call_event(all, event, ends, the_first ? others : seen),
           the_first ? other : end);
  model_thread setter{[&] { event.set(); }};
  place.request_stop();
  setter.join();
  model_expect(end != wait_end::waits && ends == 1, "it ends, and the work has, once");
  model_expect(other == wait_end::carried_out && others == 7, "the other has the result");
}
/// Both are stopped at once: the last one joins the work.
void stop_both() {
  flights all;
  async_manual_reset_event event;
  plain_int ends = 0;
  int seen = 0, others = 0;
  stoppable_place place, another;
  wait_end end = wait_end::waits, other = wait_end::waits;
  note_end(place, call_event(all, event, ends, seen), end);
  note_end(another, call_event(all, event, ends, others), other);
  model_thread stopper{[&] { place.request_stop(); }};
  another.request_stop();
  stopper.join();
  model_expect(end == wait_end::cancelled && other == wait_end::cancelled && ends == 1,
               "both are, and the work is");
}
/// The caller is stopped while it joins the flight.
void stop_against_start() {
  flights all;
  async_manual_reset_event event;
  plain_int ends = 0;
  int seen = 0;
  stoppable_place place;
  wait_end end = wait_end::waits;
  model_thread stopper{[&] { place.request_stop(); }};
  note_end(place, call_event(all, event, ends, seen), end);
  stopper.join();
  model_expect(end == wait_end::cancelled && seen == 0, "it ends as cancelled");
}
}  // namespace

int main(int argc, char** argv) {
  model_test run(argc, argv);
  run.check("single_flight: two callers", run.all, all_call<2>);
  run.check("single_flight: three callers", 3, all_call<3>);
  run.check("single_flight: a call against the end", run.all, call_against_end);
  run.check("single_flight: two callers of what fails", run.all, two_callers_of_failure);
  run.check("single_flight: stop of the only caller", 4, stop_the_only_caller);
  run.check("single_flight: stop of the first of two", run.all, [] { stop_one_of_two(true); });
  run.check("single_flight: stop of the second of two", run.all, [] { stop_one_of_two(false); });
  run.check("single_flight: both are stopped", run.all, stop_both);
  run.check("single_flight: stop against start", 4, stop_against_start);
  return run.finish();
}
