// tests/model/scope_futures.cpp -- futures of a scope: each value and each error arrives once.
// SPDX-License-Identifier: MIT
#include <optional>

#include "scope_children.hpp"

namespace {
using coracle::async_scope;
using coracle::scope_future;
using coracle::scope_policy;
using coracle::task;
using namespace coracle_test;

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
  std::optional<scope_future<int>> future(scope->spawn_future(fails_in_scope(child)));
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
  auto future = scope->spawn_future(fails_in_scope(child));
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
  auto future = scope->spawn_future(fails_in_scope(child));
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
  auto future = scope->spawn_future(fails_in_scope(child));
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
  await_future(scope->spawn_future(fails_in_scope(one)), data, first);
  await_future(scope->spawn_future(fails_in_scope(other)), data, second);
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
  std::optional<scope_future<int>> dropped(scope->spawn_future(fails_in_scope(one)));
  const auto kept = scope->spawn_future(fails_in_scope(other));
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
}  // namespace

int main(int argc, char** argv) {
  model_test run(argc, argv);
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
  return run.finish();
}
