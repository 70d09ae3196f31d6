// tests/model/stopped.cpp -- tasks that stop requests end where they wait, while their siblings end on other
// threads.
// SPDX-License-Identifier: MIT
#include <coracle/compose/when_all.hpp>
#include <coracle/compose/when_any.hpp>
#include <coracle/core/with_environment.hpp>
#include <coracle/sync/async_manual_reset_event.hpp>
#include <coracle/sync/async_mutex.hpp>
#include <optional>

#include "model_children.hpp"
#include "stopped_children.hpp"

namespace {
using coracle::async_manual_reset_event;
using coracle::task;
using namespace coracle_test;

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
/// A task may end its executor: where a stop request has woken it, it ends only once the request has left
/// that executor.
void end_of_executor_against_stop() {
  std::optional<waking_executor> at(std::in_place);
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
  run.check("stopped: the end of its executor", run.all, end_of_executor_against_stop);
  return run.finish();
}
