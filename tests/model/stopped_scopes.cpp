// tests/model/stopped_scopes.cpp -- children of scopes, and those that join them, which stop requests end.
// SPDX-License-Identifier: MIT
#include <coracle/compose/async_scope.hpp>
#include <coracle/compose/with_scope.hpp>
#include <coracle/sync/async_manual_reset_event.hpp>

#include "model_children.hpp"
#include "stopped_children.hpp"

namespace {
using coracle::async_manual_reset_event;
using coracle::task;
using namespace coracle_test;

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
/// The child and the joiner end on their executor while the stop request still runs on another thread.
void stop_of_joiner_elsewhere() {
  waking_executor at;
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
  waking_executor at;
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

}  // namespace

int main(int argc, char** argv) {
  model_test run(argc, argv);
  run.check("stopped: a joiner against a child of its scope", 3, stop_against_child_of_scope);
  run.check("stopped: a joiner against a failure in its scope", 3, stop_of_joiner_against_failure);
  run.check("stopped: a joiner on another thread", 3, stop_of_joiner_elsewhere);
  run.check("stopped: a scope and its joiner", 3, stop_of_scope_and_of_joiner);
  run.check("stopped: with_scope against a request", 3, stop_against_with_scope);
  return run.finish();
}
