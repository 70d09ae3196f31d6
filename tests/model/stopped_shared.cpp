// tests/model/stopped_shared.cpp -- callers of a shared_task or a single_flight that stop requests end.
// SPDX-License-Identifier: MIT
#include <coracle/compose/single_flight.hpp>
#include <coracle/core/shared_task.hpp>
#include <coracle/sync/async_manual_reset_event.hpp>

#include "model_children.hpp"
#include "stopped_children.hpp"

namespace {
using coracle::async_manual_reset_event;
using coracle::task;
using namespace coracle_test;

coracle::shared_task<int> shares(std::coroutine_handle<>& body) {
  co_await hand_out{body};
  co_return 7;
}
template <class Work>
task<int> waits_for(child_log& log, Work work) {
  const counts_destruction local(log);
  int seen = 0;
  try {
    seen = co_await std::move(work);
  } catch (const coracle::operation_cancelled&) {
    ++log.handled;
    throw;
  }
  ++log.went_on;
  co_return seen;
}
/// What a shared_task wakes is stopped.
void stop_against_shared_end() {
  coracle::stop_source source;
  child_log first, second;
  std::coroutine_handle<> body;
  char end = ' ', other = ' ';
  int ended = 0;
  auto shared = shares(body);
  end_of(waits_for(first, shared), source.get_token(), end, ended);
  end_of(waits_for(second, std::move(shared)), {}, other, ended);
  model_thread stopper{[&] { source.request_stop(); }};
  coracle::resume(body);
  stopper.join();
  model_expect(ended == 2 && other == 'v', "each ends once, the other one with the result");
  model_expect(end == (first.went_on == 1 ? 'v' : 'c'), "it has the result, or was stopped");
  model_expect(first.destroyed == 1 && first.handled == 0,
               "it is destroyed once, and its handler does not run");
}
/// What starts a shared_task is stopped: the body runs if it was started.
void stop_against_shared_start() {
  coracle::stop_source source;
  child_log child;
  std::coroutine_handle<> body;
  char end = ' ';
  int ended = 0;
  model_thread stopper{[&] { source.request_stop(); }};
  end_of(waits_for(child, shares(body)), source.get_token(), end, ended);
  stopper.join();
  model_expect(ended == 1 && end == 'c', "it ends once, as stopped");
  model_expect(child.destroyed == 1 && child.handled == 0,
               "it is destroyed once, and its handler does not run");
  if (body) coracle::resume(body);
}
/// All callers of a single_flight are stopped while the work ends: the last one joins it.
template <int Callers>
void stop_against_flight() {
  async_manual_reset_event event;
  coracle::single_flight<int, int> flights;
  coracle::stop_source source;
  child_log work, callers[Callers];
  char end[Callers] = {};
  int ended = 0;
  const auto fly = [&] { return waits(work, event); };
  for (char& each : end)
    end_of(waits_for(callers[&each - end], flights.run(1, fly)), source.get_token(), each, ended);
  model_thread stopper{[&] { source.request_stop(); }};
  event.set();
  stopper.join();
  model_expect(ended == Callers, "each ends once");
  bool have_result = false;
  for (int i = 0; i != Callers; ++i) {
    model_expect(callers[i].destroyed == 1 && callers[i].handled == 0,
                 "each caller is destroyed once, and its handler does not run");
    model_expect(callers[i].went_on == (end[i] == 'v' ? 1 : 0), "each that goes on has the result");
    have_result = have_result || end[i] == 'v';
  }
  model_expect(work.destroyed == 1 && work.handled == 0, "so is the work");
  model_expect(work.went_on == 1 || !have_result, "there is a result only if the work has ended");
}
}  // namespace

int main(int argc, char** argv) {
  model_test run(argc, argv);
  run.check("stopped: a request against the end of a shared_task", run.all, stop_against_shared_end);
  run.check("stopped: a request against the start of a shared_task", run.all, stop_against_shared_start);
  run.check("stopped: the only caller of a single_flight", 4, stop_against_flight<1>);
  run.check("stopped: both callers of a single_flight", 3, stop_against_flight<2>);
  return run.finish();
}
