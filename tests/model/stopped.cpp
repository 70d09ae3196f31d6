// tests/model/stopped.cpp -- tasks that stop requests end where they wait, while their siblings end on other
// threads.
// SPDX-License-Identifier: MIT
#include <coracle/compose/as_outcome.hpp>
#include <coracle/compose/single_flight.hpp>
#include <coracle/compose/when_all.hpp>
#include <coracle/compose/when_any.hpp>
#include <coracle/compose/with_scope.hpp>
#include <coracle/core/shared_task.hpp>
#include <coracle/sync/async_manual_reset_event.hpp>
#include <coracle/sync/async_mutex.hpp>
#include <optional>
#include <stdexcept>

#include "model_children.hpp"
#include "model_executor.hpp"
#include "model_waits.hpp"

namespace {
using coracle::as_outcome;
using coracle::async_manual_reset_event;
using coracle::task;
using namespace coracle_test;

/// What has happened to a child that waits.
struct child_log {
  plain_int destroyed = 0, handled = 0, went_on = 0;
};
struct counts_destruction {
  explicit counts_destruction(child_log& its_log) noexcept : log(its_log) {}
  counts_destruction(const counts_destruction&) = delete;
  counts_destruction& operator=(const counts_destruction&) = delete;
  ~counts_destruction() { ++log.destroyed; }
  child_log& log;
};
task<int> waits(child_log& log, const async_manual_reset_event& event) {
  const counts_destruction local(log);
  try {
    co_await event;
  } catch (const coracle::operation_cancelled&) {
    ++log.handled;
    throw;
  }
  ++log.went_on;
  co_return 1;
}

task<int> hops(child_log& log, model_executor& place) {
  const counts_destruction local(log);
  try {
    co_await place.schedule();
  } catch (const coracle::operation_cancelled&) {
    ++log.handled;
    throw;
  }
  ++log.went_on;
  co_return 1;
}

/// Takes the end of `work` as a value, and records it: v, e, or c.
template <class Work>
detached end_of(Work work, coracle::stop_token token, char& end, int& ended) {
  auto outcome = co_await coracle::with_stop(as_outcome(std::move(work)), std::move(token));
  end = outcome.has_value() ? 'v' : outcome.has_error() ? 'e' : 'c';
  ++ended;
}

/// A stop request passes through the when_all while another child throws.
void stop_against_failure() {
  const async_manual_reset_event never;
  coracle::stop_source source;
  child_log child;
  std::coroutine_handle<> failing;
  char end = ' ';
  int ended = 0;
  end_of(coracle::when_all(waits(child, never), fails(failing)), source.get_token(), end, ended);
  model_thread stopper{[&] { source.request_stop(); }};
  coracle::resume(failing);
  stopper.join();
  model_expect(ended == 1 && end == 'e', "it ends once, with the error");
  model_expect(child.destroyed == 1 && child.handled == 0 && child.went_on == 0,
               "the child is destroyed once");
}
/// The same, where the task between is destroyed, too, if there is no error.
void stop_against_end_of_sibling() {
  const async_manual_reset_event never;
  coracle::stop_source source;
  child_log child, around;
  std::coroutine_handle<> other;
  plain_int data = 0;
  char end = ' ';
  int ended = 0;
  const auto both = [&]() -> task<> {
    const counts_destruction local(around);
    co_await coracle::when_all(waits(child, never), later(other, data, 1));
    ++around.went_on;
  };
  end_of(both(), source.get_token(), end, ended);
  model_thread stopper{[&] { source.request_stop(); }};
  coracle::resume(other);
  stopper.join();
  model_expect(ended == 1 && end == 'c', "it ends once, as stopped");
  model_expect(child.destroyed == 1 && child.handled == 0, "the child is destroyed once");
  model_expect(around.destroyed == 1 && around.went_on == 0, "and so is the task around it");
}
/// The child's wait ends while a sibling fails: it goes on, or is destroyed.
void event_against_failure() {
  async_manual_reset_event event;
  child_log child;
  std::coroutine_handle<> failing;
  char end = ' ';
  int ended = 0;
  end_of(coracle::when_all(waits(child, event), fails(failing)), {}, end, ended);
  model_thread setter{[&] { event.set(); }};
  coracle::resume(failing);
  setter.join();
  model_expect(ended == 1 && end == 'e', "it ends once, with the error");
  model_expect(child.destroyed == 1 && child.handled == 0, "the child is destroyed once");
}
/// A stop request meets a task before it goes to an executor, in the queue there, or not.
void stop_against_hop() {
  model_executor place;
  coracle::stop_source source;
  child_log child;
  char end = ' ';
  int ended = 0;
  model_thread stopper{[&] { source.request_stop(); }};
  end_of(hops(child, place), source.get_token(), end, ended);
  if (ended == 0) place.run(1);
  stopper.join();
  model_expect(ended == 1, "it ends once");
  model_expect(child.destroyed == 1 && child.handled == 0, "it is destroyed once, without its handler");
  model_expect(child.went_on == (end == 'v' ? 1 : 0), "it goes on, or it is stopped");
}
/// A stop request meets a task that has been woken to take a lock.
void stop_against_waiter_on_its_way() {
  model_executor place;
  coracle::async_mutex mutex;
  coracle::stop_source source;
  child_log child;
  char end = ' ';
  int ended = 0;
  const auto locks = [&]() -> task<> {
    const counts_destruction local(child);
    const auto lock = co_await mutex.scoped_lock_async();
    ++child.went_on;
  };
  const bool locked = mutex.try_lock();
  {
    const coracle::detail::executor_scope there{&place};
    end_of(locks(), source.get_token(), end, ended);
  }
  if (locked) mutex.unlock();
  model_thread stopper{[&] { source.request_stop(); }};
  place.run(1);
  stopper.join();
  model_expect(ended == 1, "it ends once");
  model_expect(child.destroyed == 1, "it is destroyed once");
  model_expect(child.went_on == (end == 'v' ? 1 : 0), "it has had the lock, or it is stopped");
  model_expect(mutex.try_lock(), "the lock is free");
  mutex.unlock();
}
/// Nothing takes the end as a value: the handler runs if the request came from outside, and then only if the
/// race had not dropped the result before.
void loser_against_stop() {
  const async_manual_reset_event never;
  coracle::stop_source source;
  child_log child;
  std::coroutine_handle<> winning;
  plain_int data = 0;
  int won = 0;
  const auto race = [&]() -> detached {
    const auto first = co_await coracle::with_stop(
        coracle::when_any(waits(child, never), later(winning, data, 1)), source.get_token());
    won += static_cast<int>(first.index());
  };
  race();
  model_thread stopper{[&] { source.request_stop(); }};
  coracle::resume(winning);
  stopper.join();
  model_expect(won == 1, "it goes on once, with the value");
  model_expect(child.destroyed == 1 && child.went_on == 0, "the loser is destroyed once");
}
void loser_alone() {
  const async_manual_reset_event never;
  child_log child;
  std::coroutine_handle<> first, second;
  plain_int data = 0, more = 0;
  int ended = 0;
  const auto race = [&]() -> detached {
    co_await coracle::when_any(waits(child, never), later(first, data, 1), later(second, more, 2));
    ++ended;
  };
  race();
  resume_both(first, second);
  model_expect(ended == 1, "it goes on once");
  model_expect(child.destroyed == 1 && child.handled == 0, "the loser is destroyed once, without a throw");
}
/// The children of two levels ask on two threads how they end.
void stop_against_late_wait_below() {
  const async_manual_reset_event never;
  coracle::stop_source source;
  child_log early, late, above, around;
  std::coroutine_handle<> going_on;
  char end = ' ';
  int ended = 0;
  const auto begins_late = [&]() -> task<> {
    co_await hand_out{going_on};
    co_await waits(late, never);
  };
  const auto inner = [&]() -> task<> {
    const counts_destruction local(around);
    co_await coracle::when_all(waits(early, never), begins_late());
    ++around.went_on;
  };
  end_of(coracle::when_all(inner(), waits(above, never)), source.get_token(), end, ended);
  model_thread stopper{[&] { source.request_stop(); }};
  coracle::resume(going_on);
  stopper.join();
  model_expect(ended == 1 && end == 'c', "it ends once, as stopped");
  model_expect(early.destroyed == 1 && late.destroyed == 1 && above.destroyed == 1,
               "each child is destroyed once");
  model_expect(early.handled == 0 && late.handled == 0 && above.handled == 0, "no handler runs");
  model_expect(around.destroyed == 1 && around.went_on == 0, "and so is the task between");
}
/// One child is stopped by a request of its own, the other one loses: the answer for the first does not hold
/// for the second.
void own_request_against_race() {
  const async_manual_reset_event never;
  coracle::stop_source source;
  child_log own, loser;
  std::coroutine_handle<> winning;
  plain_int data = 0;
  int ended = 0;
  const auto inner = [&]() -> task<int> {
    co_await coracle::when_any(coracle::with_stop(waits(own, never), source.get_token()),
                               waits(loser, never));
    co_return 1;
  };
  const auto race = [&]() -> detached {
    co_await coracle::when_any(inner(), later(winning, data, 1));
    ++ended;
  };
  race();
  model_thread stopper{[&] { source.request_stop(coracle::stop_reason::lost_race); }};
  coracle::resume(winning);
  stopper.join();
  model_expect(ended == 1, "it goes on once");
  model_expect(own.destroyed == 1 && loser.destroyed == 1, "each child is destroyed once");
  model_expect(loser.handled == 0 && loser.went_on == 0, "the handler of the loser does not run");
}
/// A scope whose joiner is stopped while a child ends.
void stop_against_child_of_scope() {
  const async_manual_reset_event never;
  coracle::stop_source source;
  child_log child, around;
  std::coroutine_handle<> other;
  plain_int data = 0;
  char end = ' ';
  int ended = 0;
  const auto joins = [&]() -> task<> {
    const counts_destruction local(around);
    coracle::async_scope scope;
    scope.spawn(waits(child, never));
    scope.spawn(later(other, data, 1));
    co_await scope.join();
    ++around.went_on;
  };
  end_of(joins(), source.get_token(), end, ended);
  model_thread stopper{[&] { source.request_stop(); }};
  coracle::resume(other);
  stopper.join();
  model_expect(ended == 1 && end == 'c', "it ends once, as stopped");
  model_expect(child.destroyed == 1 && child.handled == 0, "the child is destroyed once");
  model_expect(around.destroyed == 1 && around.went_on == 0, "and so is the task that joins");
}
/// A child fails and stops its sibling while the scope is joined, and the joiner stopped.
void stop_of_joiner_against_failure() {
  const async_manual_reset_event never;
  coracle::stop_source source;
  child_log child;
  std::coroutine_handle<> failing, joining;
  char end = ' ';
  int ended = 0;
  const auto joins = [&]() -> task<> {
    coracle::async_scope scope;
    scope.spawn(waits(child, never));
    scope.spawn(fails(failing));
    co_await hand_out{joining};
    co_await scope.join();
  };
  end_of(joins(), source.get_token(), end, ended);
  model_thread other{[&] { coracle::resume(failing); }};
  coracle::resume(joining);
  source.request_stop();
  other.join();
  model_expect(ended == 1 && end == 'e', "it ends once, with the error");
  model_expect(child.destroyed == 1 && child.handled == 0, "the sibling is destroyed once");
}
/// The body runs it. Like an executor that wakes its thread, post() uses the executor after the item can run.
class place final : public coracle::executor {
 public:
  void post(coracle::resumption& item) noexcept override {
    queue_.post(item);
    model_expect(has_thread_ == 1, "the executor is still there");
  }
  template <class Start>
  void begin(Start start) {
    const coracle::detail::executor_scope here{this};
    start();
  }
  void run_until(const int& ended) {
    while (ended == 0) {
      if (queue_.run_posted(*this) == 0) coracle::testing::model_yield();
    }
  }

 private:
  model_executor queue_;
  plain_int has_thread_ = 1;
};
/// A task may end its executor: where a stop request has woken it, it ends only once the request has left
/// that executor.
void end_of_executor_against_stop() {
  std::optional<place> at(std::in_place);
  const async_manual_reset_event never;
  coracle::stop_source source;
  child_log child;
  char end = ' ';
  int ended = 0;
  at->begin([&] { end_of(waits(child, never), source.get_token(), end, ended); });
  model_thread stopper{[&] { source.request_stop(); }};
  at->run_until(ended);
  at.reset();
  stopper.join();
  model_expect(ended == 1 && end == 'c', "it ends once, as stopped");
  model_expect(child.destroyed == 1 && child.handled == 0, "it is destroyed once, without its handler");
}
/// The child and the joiner end on their executor while the stop request still runs on another thread.
void stop_of_joiner_elsewhere() {
  place at;
  const async_manual_reset_event never;
  coracle::stop_source source;
  child_log child, around;
  char end = ' ';
  int ended = 0;
  const auto joins = [&]() -> task<> {
    const counts_destruction local(around);
    coracle::async_scope scope;
    scope.spawn(waits(child, never));
    co_await scope.join();
    ++around.went_on;
  };
  at.begin([&] { end_of(joins(), source.get_token(), end, ended); });
  model_thread stopper{[&] { source.request_stop(); }};
  at.run_until(ended);
  stopper.join();
  model_expect(ended == 1 && end == 'c', "it ends once, as stopped");
  model_expect(child.destroyed == 1 && child.handled == 0, "the child is destroyed once");
  model_expect(around.destroyed == 1 && around.went_on == 0, "and so is the task that joins");
}
/// The child is stopped through the scope's environment while a request to the joiner begins: the joiner may
/// end before its listener has run.
void stop_of_scope_and_of_joiner() {
  place at;
  const async_manual_reset_event never;
  coracle::stop_source around_scope, around_joiner;
  coracle::environment inherited;
  inherited.stop = around_scope.get_token();
  child_log child, around;
  char end = ' ';
  int ended = 0;
  const auto joins = [&]() -> task<> {
    const counts_destruction local(around);
    coracle::async_scope scope{coracle::scope_policy::fail_fast(), inherited};
    scope.spawn(waits(child, never));
    co_await scope.join();
    ++around.went_on;
  };
  at.begin([&] { end_of(joins(), around_joiner.get_token(), end, ended); });
  model_thread stopper{[&] { around_joiner.request_stop(); }};
  around_scope.request_stop();
  at.run_until(ended);
  stopper.join();
  model_expect(ended == 1 && end == (around.went_on == 1 ? 'v' : 'c'), "it ends once");
  model_expect(child.destroyed == 1 && around.destroyed == 1, "each is destroyed once");
}
/// The end of the scope's work, and a request from outside.
void stop_against_with_scope() {
  async_manual_reset_event event;
  coracle::stop_source source;
  child_log child;
  char end = ' ';
  int ended = 0;
  const auto body = [&](coracle::async_scope& scope) -> task<> {
    scope.spawn(waits(child, event));
    co_return;
  };
  end_of(coracle::with_scope(body), source.get_token(), end, ended);
  model_thread stopper{[&] { source.request_stop(); }};
  event.set();
  stopper.join();
  model_expect(ended == 1 && end == (child.went_on == 1 ? 'v' : 'c'), "it ends once, as the child did");
  model_expect(child.destroyed == 1 && child.handled == 0, "the child is destroyed once");
}

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
  run.check("stopped: a request through when_all against a failure", 3, stop_against_failure);
  run.check("stopped: a request through when_all against the end of a child", 3, stop_against_end_of_sibling);
  run.check("stopped: a request against a hop", run.all, stop_against_hop);
  run.check("stopped: a request against a waiter on its way to a lock", run.all,
            stop_against_waiter_on_its_way);
  run.check("stopped: an event against a failure", 3, event_against_failure);
  run.check("stopped: a loser against a request from outside", 3, loser_against_stop);
  run.check("stopped: a loser", run.all, loser_alone);
  run.check("stopped: a request against a wait that begins a level below", 3, stop_against_late_wait_below);
  run.check("stopped: a request of a child's own against a race", 3, own_request_against_race);
  run.check("stopped: a joiner against a child of its scope", 3, stop_against_child_of_scope);
  run.check("stopped: a joiner against a failure in its scope", 3, stop_of_joiner_against_failure);
  run.check("stopped: the end of its executor", run.all, end_of_executor_against_stop);
  run.check("stopped: a joiner on another thread", 3, stop_of_joiner_elsewhere);
  run.check("stopped: a scope and its joiner", 3, stop_of_scope_and_of_joiner);
  run.check("stopped: with_scope against a request", 3, stop_against_with_scope);
  run.check("stopped: a request against the end of a shared_task", run.all, stop_against_shared_end);
  run.check("stopped: a request against the start of a shared_task", run.all, stop_against_shared_start);
  run.check("stopped: the only caller of a single_flight", 4, stop_against_flight<1>);
  run.check("stopped: both callers of a single_flight", 3, stop_against_flight<2>);
  return run.finish();
}
