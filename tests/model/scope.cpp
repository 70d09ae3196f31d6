// tests/model/scope.cpp -- the children of a scope, their futures, and the coroutine that joins them.
// SPDX-License-Identifier: MIT
#include <array>
#include <coracle/compose/async_scope.hpp>
#include <coracle/core/error_group.hpp>
#include <coracle/sync/async_manual_reset_event.hpp>
#include <optional>
#include <stdexcept>

#include "model_executor.hpp"
#include "model_waits.hpp"

namespace {
using coracle::async_manual_reset_event;
using coracle::async_scope;
using coracle::scope_future;
using coracle::scope_policy;
using coracle::task;
using namespace coracle_test;

struct failure : std::runtime_error {
  failure() : runtime_error("a child has failed") {}
};
task<> writes(std::coroutine_handle<>& handle, plain_int& data) {
  co_await hand_out{handle};
  data = 7;
}
task<int> gives(std::coroutine_handle<>& handle, plain_int& data) {
  co_await hand_out{handle};
  data = 7;
  co_return 1;
}
task<int> fails(std::coroutine_handle<>& handle) {
  co_await hand_out{handle};
  throw failure{};
}

task<> is_cancelled(std::coroutine_handle<>& handle) {
  co_await hand_out{handle};
  throw coracle::operation_cancelled{coracle::stop_reason::requested};
}

/// Returns how join() ended.
enum class joined { waits, well, failed, failed_twice, cancelled };
/// Joins, reads `data`, and destroys the scope at once.
detached join(std::optional<async_scope>& scope, joined& end) {
  joined how = joined::well;
  try {
    co_await scope->join();
  } catch (const failure&) {
    how = joined::failed;
  } catch (const coracle::error_group&) {
    how = joined::failed_twice;
  } catch (const coracle::operation_cancelled&) {
    how = joined::cancelled;
  }
  scope.reset();
  end = how;
}
detached_in_place join_in(const stoppable_place&, std::optional<async_scope>& scope, joined& end) {
  joined how = joined::well;
  try {
    co_await scope->join();
  } catch (const failure&) {
    how = joined::failed;
  } catch (const coracle::operation_cancelled&) {
    how = joined::cancelled;
  }
  scope.reset();
  end = how;
}

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
  scope->spawn(fails(bad));
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
  scope->spawn(fails(bad));
  model_thread ender{[&] { coracle::resume(bad); }};
  join(scope, end);
  ender.join();
  model_expect(end == joined::failed, "join() throws the error");
}
void two_failures() {
  std::coroutine_handle<> one, other;
  joined end = joined::waits;
  std::optional<async_scope> scope(std::in_place, scope_policy::collect_all());
  scope->spawn(fails(one));
  scope->spawn(fails(other));
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
  scope->spawn(fails(one));
  scope->spawn(fails(other));
  model_thread ender{[&] { coracle::resume(one); }};
  coracle::resume(other);
  join(scope, end);
  ender.join();
  model_expect(end == joined::well && errors.load(coracle::detail::memory_order_relaxed) == 2,
               "the supervisor has both, before join() returns");
}

// ---- futures ----

enum class got { nothing, value, error, cancelled };
detached await_future(scope_future<int> future, plain_int& data, got& what) {
  got how = got::nothing;
  try {
    const int given = co_await std::move(future);
    how = given == 1 && data == 7 ? got::value : got::nothing;
  } catch (const failure&) {
    how = got::error;
  } catch (const coracle::operation_cancelled&) {
    how = got::cancelled;
  }
  what = how;
}
void future_against_end() {
  std::coroutine_handle<> child;
  plain_int data = 0;
  got what = got::nothing;
  joined end = joined::waits;
  std::optional<async_scope> scope(std::in_place);
  auto future = scope->spawn_future(gives(child, data));
  model_thread ender{[&] { coracle::resume(child); }};
  await_future(std::move(future), data, what);
  ender.join();
  join(scope, end);
  model_expect(what == got::value && end == joined::well, "the value is there, once");
}
/// The scope is joined meanwhile.
void future_against_end_and_join() {
  std::coroutine_handle<> child;
  plain_int data = 0;
  got what = got::nothing;
  joined end = joined::waits;
  std::optional<async_scope> scope(std::in_place);
  auto future = scope->spawn_future(gives(child, data));
  await_future(std::move(future), data, what);
  model_thread ender{[&] { coracle::resume(child); }};
  join(scope, end);
  ender.join();
  model_expect(what == got::value && end == joined::well, "the value is there, once");
}
void drop_future_against_end() {
  std::coroutine_handle<> child;
  plain_int data = 0;
  joined end = joined::waits;
  std::optional<async_scope> scope(std::in_place);
  std::optional<scope_future<int>> future(scope->spawn_future(gives(child, data)));
  model_thread ender{[&] { coracle::resume(child); }};
  future.reset();
  ender.join();
  join(scope, end);
  model_expect(data == 7 && end == joined::well, "the child goes on");
}
/// The error of a child belongs to the future or the scope; it is never lost.
void drop_future_against_failure() {
  std::coroutine_handle<> child;
  joined end = joined::waits;
  std::optional<async_scope> scope(std::in_place);
  std::optional<scope_future<int>> future(scope->spawn_future(fails(child)));
  model_thread ender{[&] { coracle::resume(child); }};
  future.reset();
  ender.join();
  join(scope, end);
  model_expect(end == joined::failed, "join() throws the error");
}
void drop_future_against_failure_and_join() {
  std::coroutine_handle<> child;
  std::coroutine_handle<> dropper;
  joined end = joined::waits;
  std::optional<async_scope> scope(std::in_place);
  // The children own a future: one of them drops it.
  const auto drops = [&](scope_future<int> future) -> task<> {
    co_await hand_out{dropper};
    static_cast<void>(scope_future<int>(std::move(future)));
  };
  auto future = scope->spawn_future(fails(child));
  scope->spawn(drops(std::move(future)));
  join(scope, end);
  model_thread ender{[&] { coracle::resume(child); }};
  coracle::resume(dropper);
  ender.join();
  model_expect(end == joined::failed, "join() throws the error");
}
void future_against_failure() {
  std::coroutine_handle<> child;
  plain_int data = 0;
  got what = got::nothing;
  joined end = joined::waits;
  std::optional<async_scope> scope(std::in_place);
  auto future = scope->spawn_future(fails(child));
  model_thread ender{[&] { coracle::resume(child); }};
  await_future(std::move(future), data, what);
  ender.join();
  join(scope, end);
  model_expect(what == got::error && end == joined::well, "who awaits the future has the error");
}
/// A child awaits the future of another that fails, and the scope is joined: one of them throws it.
void future_against_failure_and_join() {
  std::coroutine_handle<> child;
  got what = got::nothing;
  joined end = joined::waits;
  std::optional<async_scope> scope(std::in_place);
  const auto awaits = [&](scope_future<int> future) -> task<> {
    got how = got::nothing;
    try {
      static_cast<void>(co_await std::move(future));
    } catch (const failure&) {
      how = got::error;
    }
    what = how;
  };
  auto future = scope->spawn_future(fails(child));
  model_thread ender{[&] { coracle::resume(child); }};
  scope->spawn(awaits(std::move(future)));
  join(scope, end);
  ender.join();
  model_expect(what == got::error && end == joined::well, "who awaits the future has the error");
}
/// Two children fail concurrently, and each future passes its error to its awaiter.
void two_futures_of_failures() {
  std::coroutine_handle<> one, other;
  plain_int data = 0;
  got first = got::nothing, second = got::nothing;
  joined end = joined::waits;
  std::optional<async_scope> scope(std::in_place, scope_policy::collect_all());
  await_future(scope->spawn_future(fails(one)), data, first);
  await_future(scope->spawn_future(fails(other)), data, second);
  model_thread ender{[&] { coracle::resume(one); }};
  coracle::resume(other);
  ender.join();
  join(scope, end);
  model_expect(first == got::error && second == got::error && end == joined::well, "each has its error");
}
/// An error is stored for its future, which is dropped as another error arrives.
void drop_failed_future_against_failure() {
  std::coroutine_handle<> one, other;
  joined end = joined::waits;
  std::optional<async_scope> scope(std::in_place, scope_policy::collect_all());
  std::optional<scope_future<int>> dropped(scope->spawn_future(fails(one)));
  const auto kept = scope->spawn_future(fails(other));
  coracle::resume(one);
  model_thread ender{[&] { coracle::resume(other); }};
  dropped.reset();
  ender.join();
  join(scope, end);
  model_expect(end == joined::failed_twice, "join() throws both");
}
void stop_future_against_end() {
  std::coroutine_handle<> child;
  plain_int data = 0;
  joined end = joined::waits;
  wait_end waited = wait_end::waits;
  stoppable_place place;
  std::optional<async_scope> scope(std::in_place);
  auto future = scope->spawn_future(gives(child, data));
  note_end(place, std::move(future).operator co_await(), waited);
  model_thread ender{[&] { coracle::resume(child); }};
  place.request_stop();
  ender.join();
  {
    const scope_future<int> dropped = std::move(future);
  }
  join(scope, end);
  model_expect(waited != wait_end::waits && data == 7 && end == joined::well,
               "the wait ends, the child goes on");
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
  run.check("future: await against end", run.all, future_against_end);
  run.check("future: end against join", run.all, future_against_end_and_join);
  run.check("future: drop against end", run.all, drop_future_against_end);
  run.check("future: drop against failure", run.all, drop_future_against_failure);
  run.check("future: drop against failure, joined", run.all, drop_future_against_failure_and_join);
  run.check("future: await against failure", run.all, future_against_failure);
  run.check("future: await against failure and join", 4, future_against_failure_and_join);
  run.check("future: two failures, both awaited", 3, two_futures_of_failures);
  run.check("future: a failed one dropped against a failure", 3, drop_failed_future_against_failure);
  run.check("future: stop against end", run.all, stop_future_against_end);
  run.check("scope: stop against a child's end", 4, stop_against_child);
  run.check("scope: stop against spawn", run.all, stop_against_spawn);
  run.check("scope: stop of the joiner against the end", 4, stop_joiner_against_end);
  return run.finish();
}
