// tests/model/shared_task.cpp -- handles, awaiters and the end of a shared coroutine.
// SPDX-License-Identifier: MIT
#include <array>
#include <coracle/core/shared_task.hpp>
#include <coracle/sync/async_manual_reset_event.hpp>
#include <optional>

#include "model_executor.hpp"
#include "model_waits.hpp"

namespace {
using coracle::shared_task;
using namespace coracle_test;

/// A result whose destruction the checker sees: it must follow every use.
struct watched {
  explicit watched(int initial) : value(initial) {}
  watched(const watched&) = default;
  watched& operator=(const watched&) = default;
  ~watched() { value = 0; }
  plain_int value;
};
shared_task<watched> once(plain_int& runs) {
  ++runs;
  co_return watched(7);
}
shared_task<watched> later(std::coroutine_handle<>& body, plain_int& runs) {
  ++runs;
  co_await hand_out{body};
  co_return watched(7);
}
detached look(shared_task<watched> task, int& seen) {
  const watched& result = co_await task;
  seen = result.value;
}
detached look_and_drop(shared_task<watched>& task, int& seen) {
  shared_task<watched> mine = std::move(task);
  const watched& result = co_await mine;
  seen = result.value;
}

/// The first awaiter starts it; every awaiter sees the result.
void two_awaiters() {
  plain_int runs = 0;
  int a = 0, b = 0;
  auto task = once(runs);
  {
    model_thread other{[mine = task, &a]() mutable { look_and_drop(mine, a); }};
    look(std::move(task), b);
  }
  model_expect(runs == 1, "it runs once");
  model_expect(a == 7 && b == 7, "each sees the result");
}
/// The body ends on one thread while another begins to wait.
void await_against_end() {
  plain_int runs = 0;
  int first = 0, second = 0;
  std::coroutine_handle<> body;
  auto task = later(body, runs);
  look(task, first);
  model_thread ender{[&] { body.resume(); }};
  look_and_drop(task, second);
  ender.join();
  model_expect(runs == 1 && first == 7 && second == 7, "both see the result");
}
/// A third comes from another thread.
void two_awaits_against_end() {
  plain_int runs = 0;
  int first = 0, second = 0, third = 0;
  std::coroutine_handle<> body;
  auto task = later(body, runs);
  look(task, first);
  model_thread ender{[&] { body.resume(); }};
  model_thread other{[mine = task, &third]() mutable { look_and_drop(mine, third); }};
  look_and_drop(task, second);
  ender.join();
  other.join();
  model_expect(runs == 1 && first == 7 && second == 7 && third == 7, "all see the result");
}
void three_awaits_against_end() {
  plain_int runs = 0;
  std::array<int, 4> seen{};
  std::coroutine_handle<> body;
  auto task = later(body, runs);
  look(task, seen[3]);
  std::array<shared_task<watched>, 3> handles{task, task, std::move(task)};
  together(4, [&](unsigned index) {
    index < 3 ? static_cast<void>(look_and_drop(handles[index], seen[index])) : body.resume();
  });
  for (const int each : seen) model_expect(each == 7, "all see the result");
}
void look_against_end() {
  plain_int runs = 0;
  int seen = 0;
  std::coroutine_handle<> body;
  auto task = later(body, runs);
  look(task, seen);
  model_thread ender{[&] { body.resume(); }};
  if (task.is_ready()) {
    int second = 0;
    look(task, second);
    model_expect(second == 7, "it is ready, with the result");
  }
  ender.join();
}
/// An awaiter resumes on its own executor although the body ends on another thread, whether or not it is the
/// only one.
detached look_on(model_executor& place, shared_task<watched> task, int& seen) {
  co_await place.schedule();
  const watched& result = co_await task;
  model_expect(coracle::current_executor() == &place, "it goes on where it was");
  seen = result.value;
}
void awaiters_on_executor(bool alone) {
  plain_int runs = 0;
  int first = 0, second = 0;
  std::coroutine_handle<> body;
  model_executor place;
  auto task = later(body, runs);
  look_on(place, task, first);
  place.run(1);
  model_thread ender{[&] { body.resume(); }};
  if (!alone) look_on(place, task, second);
  task = {};
  while (first == 0 || (second == 0 && !alone)) place.run(1);
  ender.join();
  model_expect(first == 7 && second == (alone ? 0 : 7), "each sees the result");
}
/// The last handle to be dropped, on either thread, frees the frame after every use of the result.
void drop_handles() {
  plain_int runs = 0;
  int first = 0, second = 0;
  auto task = once(runs);
  look(task, first);
  model_thread other{[mine = task, &second]() mutable {
    look(mine, second);
    mine = {};
  }};
  task = {};
  other.join();
  model_expect(first == 7 && second == 7, "both see the result");
}
/// Copies are made and dropped on both sides.
void copy_and_drop() {
  plain_int runs = 0;
  auto task = once(runs);
  model_thread other{[mine = task]() mutable {
    auto copy = mine;
    mine = {};
  }};
  auto copy = task;
  task = {};
  copy = {};
  other.join();
  model_expect(runs == 0, "nobody has started it");
}
/// The body holds a handle to its own task: its end frees the frame if there is no other handle.
void drop_against_end() {
  plain_int runs = 0;
  wait_end end = wait_end::waits;
  std::coroutine_handle<> body;
  auto task = later(body, runs);
  stoppable_place place;
  note_end(place, task.when_ready(), end);
  place.request_stop();
  model_expect(end == wait_end::cancelled, "nobody waits any more");
  model_thread ender{[&] { body.resume(); }};
  task = {};
  ender.join();
  model_expect(runs == 1, "it ran");
}
/// A stop request ends one wait and no other.
void stop_against_end() {
  plain_int runs = 0;
  wait_end end = wait_end::waits;
  int other = 0;
  std::coroutine_handle<> body;
  auto task = later(body, runs);
  look(task, other);
  stoppable_place place;
  note_end(place, task.when_ready(), end);
  model_thread ender{[&] { body.resume(); }};
  place.request_stop();
  ender.join();
  model_expect(end != wait_end::waits, "the wait has ended");
  model_expect(other == 7, "and the other one with the result");
}
void stop_against_start() {
  plain_int runs = 0;
  wait_end end = wait_end::waits;
  auto task = once(runs);
  stoppable_place place;
  model_thread stopper{[&] { place.request_stop(); }};
  note_end(place, task.when_ready(), end);
  stopper.join();
  model_expect(end != wait_end::waits, "it ends");
  model_expect((runs == 1) == task.is_ready(), "it was carried out, or not started");
  model_expect(end == wait_end::cancelled || task.is_ready(), "who was not cancelled has the result");
}
/// The wait begins as the body ends and stop is requested.
void stop_and_end_against_await() {
  plain_int runs = 0;
  wait_end end = wait_end::waits;
  int other = 0;
  std::coroutine_handle<> body;
  auto task = later(body, runs);
  look(task, other);
  stoppable_place place;
  model_thread ender{[&] { body.resume(); }};
  model_thread stopper{[&] { place.request_stop(); }};
  note_end(place, task.when_ready(), end);
  ender.join();
  stopper.join();
  model_expect(end != wait_end::waits && other == 7, "both waits have ended");
}
detached_in_place own(const stoppable_place&, shared_task<watched> task, wait_end& end) {
  wait_end how = wait_end::carried_out;
  try {
    co_await task.when_ready();
  } catch (const coracle::operation_cancelled&) {
    how = wait_end::cancelled;
  }
  task = {};
  end = how;
}
/// The coroutine that starts it has the only handle, and may have been stopped and destroyed before it runs.
void stop_of_the_only_handle_against_start() {
  plain_int runs = 0;
  wait_end end = wait_end::waits;
  stoppable_place place;
  model_thread stopper{[&] { place.request_stop(); }};
  own(place, once(runs), end);
  stopper.join();
  model_expect(end == wait_end::cancelled || runs == 1, "it ends, and has run if it was carried out");
}
}  // namespace

int main(int argc, char** argv) {
  model_test run(argc, argv);
  run.check("shared_task: two awaiters", run.all, two_awaiters);
  run.check("shared_task: await against end", run.all, await_against_end);
  run.check("shared_task: two awaits against end", 4, two_awaits_against_end);
  run.check("shared_task: three awaits against end", 3, three_awaits_against_end);
  run.check("shared_task: a look against end", run.all, look_against_end);
  run.check("shared_task: an awaiter on an executor", run.all, [] { awaiters_on_executor(true); });
  run.check("shared_task: two awaiters on an executor", run.all, [] { awaiters_on_executor(false); });
  run.check("shared_task: two handles are dropped", run.all, drop_handles);
  run.check("shared_task: copies are made and dropped", run.all, copy_and_drop);
  run.check("shared_task: the last handle against end", run.all, drop_against_end);
  run.check("shared_task: stop against end", run.all, stop_against_end);
  run.check("shared_task: stop against start", run.all, stop_against_start);
  run.check("shared_task: stop and end against await, one interruption", 1, stop_and_end_against_await);
  run.check("shared_task: stop and end against await", 3, stop_and_end_against_await);
  run.check("shared_task: stop of the only handle against start, one interruption", 1,
            stop_of_the_only_handle_against_start);
  run.check("shared_task: stop of the only handle against start", run.all,
            stop_of_the_only_handle_against_start);
  return run.finish();
}
