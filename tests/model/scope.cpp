// tests/model/scope.cpp -- the children of a scope, and the coroutine that joins them.
// SPDX-License-Identifier: MIT
#include <array>
#include <coracle/sync/async_manual_reset_event.hpp>
#include <optional>

#include "model_executor.hpp"
#include "scope_children.hpp"

namespace {
using coracle::async_manual_reset_event;
using coracle::async_scope;
using coracle::scope_policy;
using coracle::task;
using namespace coracle_test;

// ---- the last child against join() ----

void end_against_join() {
  std::coroutine_handle<> child;
  plain_int data = 0;
  joined end = joined::waits;
  std::optional<async_scope> scope(std::in_place);
  scope->spawn(writes(child, data));
  model_thread ender{[&] { coracle::resume(child); }};
  join(scope, end);
  ender.join();
  model_expect(end == joined::well && data == 7, "it returns once, after the child");
}
template <unsigned Children>
void ends_against_join() {
  std::array<std::coroutine_handle<>, Children> children;
  std::array<plain_int, Children> data{};
  unsigned sum = 0;
  async_scope scope;
  for (unsigned i = 0; i != Children; ++i) scope.spawn(writes(children[i], data[i]));
  const auto wait = [&]() -> detached {
    co_await scope.join();
    for (const plain_int& each : data) sum += static_cast<unsigned>(each);
  };
  together(Children + 1, [&](unsigned index) {
    index == 0 ? static_cast<void>(wait()) : coracle::resume(children[index - 1]);
  });
  model_expect(sum == 7 * Children, "it returns once, after all");
}
/// One child that was cancelled ends while another ends that was not; stop was requested for join().
void cancelled_end_against_end() {
  std::coroutine_handle<> cancelled, child;
  plain_int data = 0;
  joined end = joined::waits;
  stoppable_place place;
  std::optional<async_scope> scope(std::in_place);
  scope->spawn(is_cancelled(cancelled));
  scope->spawn(writes(child, data));
  join_in(place, scope, end);
  place.request_stop();
  model_thread ender{[&] { coracle::resume(cancelled); }};
  coracle::resume(child);
  ender.join();
  model_expect(end == joined::cancelled && data == 7, "join() says so, after both");
}
void joiner_on_executor() {
  std::coroutine_handle<> child;
  plain_int data = 0;
  model_executor place;
  int seen = 0;
  async_scope scope;
  scope.spawn(writes(child, data));
  const auto wait = [&]() -> detached {
    co_await place.schedule();
    co_await scope.join();
    model_expect(coracle::current_executor() == &place, "it goes on where it was");
    seen = data;
  };
  model_thread ender{[&] { coracle::resume(child); }};
  wait();
  while (seen == 0) place.run(1);
  ender.join();
  model_expect(seen == 7, "after the child");
}
/// A child spawns another while the scope is joined.
void spawn_against_join() {
  std::coroutine_handle<> child;
  plain_int data = 0;
  joined end = joined::waits;
  std::optional<async_scope> scope(std::in_place);
  const auto second = [&]() -> task<> {
    data = 7;
    co_return;
  };
  const auto first = [&]() -> task<> {
    co_await hand_out{child};
    scope->spawn(second());
  };
  scope->spawn(first());
  model_thread ender{[&] { coracle::resume(child); }};
  join(scope, end);
  ender.join();
  model_expect(end == joined::well && data == 7, "it returns once, after the second");
}
/// Two threads spawn at once.
void two_spawns() {
  plain_int a = 0, b = 0;
  joined end = joined::waits;
  std::optional<async_scope> scope(std::in_place);
  const auto set = [](plain_int& data) -> task<> {
    data = 7;
    co_return;
  };
  model_thread other{[&] { scope->spawn(set(a)); }};
  scope->spawn(set(b));
  other.join();
  join(scope, end);
  model_expect(end == joined::well && a == 7 && b == 7, "both have run");
}

/// A child whose start was deferred, because earlier starts are nested too deeply, begins as another child
/// ends.
void late_start_against_end() {
  std::coroutine_handle<> child;
  plain_int a = 0, b = 0;
  joined end = joined::waits;
  std::optional<async_scope> scope(std::in_place);
  scope->spawn(writes(child, a));
  const auto set = [&]() -> task<> {
    b = 7;
    co_return;
  };
  model_thread ender{[&] { coracle::resume(child); }};
  unsigned& depth = coracle::detail::this_thread().starts.depth;
  depth = coracle::detail::nested_starts::most;
  scope->spawn(set());
  depth = 0;
  model_expect(b == 0, "it is put off");
  {
    const coracle::detail::nested_start outermost;
  }
  ender.join();
  join(scope, end);
  model_expect(end == joined::well && a == 7 && b == 7, "both have run");
}

// ---- failures ----

/// The child that fails stops the other, which may end concurrently.
void failure_against_end() {
  std::coroutine_handle<> bad;
  async_manual_reset_event event;
  joined end = joined::waits;
  std::optional<async_scope> scope(std::in_place);
  scope->spawn(fails_in_scope(bad));
  scope->spawn(event.operator co_await());
  model_thread setter{[&] { event.set(); }};
  coracle::resume(bad);
  join(scope, end);
  setter.join();
  model_expect(end == joined::failed, "join() throws the error");
}
void failure_against_join() {
  std::coroutine_handle<> bad;
  joined end = joined::waits;
  std::optional<async_scope> scope(std::in_place);
  scope->spawn(fails_in_scope(bad));
  model_thread ender{[&] { coracle::resume(bad); }};
  join(scope, end);
  ender.join();
  model_expect(end == joined::failed, "join() throws the error");
}
void two_failures() {
  std::coroutine_handle<> one, other;
  joined end = joined::waits;
  std::optional<async_scope> scope(std::in_place, scope_policy::collect_all());
  scope->spawn(fails_in_scope(one));
  scope->spawn(fails_in_scope(other));
  model_thread ender{[&] { coracle::resume(one); }};
  coracle::resume(other);
  join(scope, end);
  ender.join();
  model_expect(end == joined::failed_twice, "join() throws both");
}
void supervised_failures() {
  std::coroutine_handle<> one, other;
  joined end = joined::waits;
  coracle::detail::atomic<int> errors{0};
  std::optional<async_scope> scope(std::in_place, scope_policy::supervise([&](std::exception_ptr) {
                                     errors.fetch_add(1, coracle::detail::memory_order_relaxed);
                                   }));
  scope->spawn(fails_in_scope(one));
  scope->spawn(fails_in_scope(other));
  model_thread ender{[&] { coracle::resume(one); }};
  coracle::resume(other);
  join(scope, end);
  ender.join();
  model_expect(end == joined::well && errors.load(coracle::detail::memory_order_relaxed) == 2,
               "the supervisor has both, before join() returns");
}

// ---- stop requests ----

void stop_against_child() {
  async_manual_reset_event event;
  joined end = joined::waits;
  std::optional<async_scope> scope(std::in_place);
  scope->spawn(event.operator co_await());
  model_thread setter{[&] { event.set(); }};
  scope->request_stop();
  join(scope, end);
  setter.join();
  model_expect(end == joined::well, "the scope's own request is no failure");
}
void stop_against_spawn() {
  async_manual_reset_event never;
  joined end = joined::waits;
  std::optional<async_scope> scope(std::in_place);
  model_thread stopper{[&] { scope->request_stop(); }};
  scope->spawn(never.operator co_await());
  stopper.join();
  join(scope, end);
  model_expect(end == joined::well, "a child that comes too late is stopped, too");
}
/// The joiner is stopped while the last child ends: its children are stopped, and it waits for them.
void stop_joiner_against_end() {
  async_manual_reset_event event;
  joined end = joined::waits;
  stoppable_place place;
  std::optional<async_scope> scope(std::in_place);
  scope->spawn(event.operator co_await());
  join_in(place, scope, end);
  model_thread setter{[&] { event.set(); }};
  place.request_stop();
  setter.join();
  model_expect(end == joined::well || end == joined::cancelled, "it ends");
}
}  // namespace

int main(int argc, char** argv) {
  model_test run(argc, argv);
  run.check("scope: end against join", run.all, end_against_join);
  run.check("scope: two ends against join", run.all, ends_against_join<2>);
  run.check("scope: three ends against join", 3, ends_against_join<3>);
  run.check("scope: a cancelled end against another end", run.all, cancelled_end_against_end);
  run.check("scope: a joiner on an executor", run.all, joiner_on_executor);
  run.check("scope: a spawn inside a child against join", run.all, spawn_against_join);
  run.check("scope: two spawns", run.all, two_spawns);
  run.check("scope: a late start against an end", run.all, late_start_against_end);
  run.check("scope: a failure against an end", 4, failure_against_end);
  run.check("scope: a failure against join", run.all, failure_against_join);
  run.check("scope: two failures", run.all, two_failures);
  run.check("scope: two failures, supervised", run.all, supervised_failures);
  run.check("scope: stop against a child's end", 4, stop_against_child);
  run.check("scope: stop against spawn", run.all, stop_against_spawn);
  run.check("scope: stop of the joiner against the end", 4, stop_joiner_against_end);
  return run.finish();
}
