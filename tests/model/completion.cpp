// tests/model/completion.cpp -- two sides that meet: a coroutine's end and its awaiter, a callback and its
// coroutine.
// SPDX-License-Identifier: MIT
#include <coracle/base/small_mutex.hpp>
#include <coracle/compose/from_callback.hpp>
#include <coracle/core/meeting_promise.hpp>
#include <coracle/core/sync_wait.hpp>
#include <coracle/core/task.hpp>
#include <optional>

#include "model_executor.hpp"
#include "model_waits.hpp"

namespace {
using coracle::completion;
using namespace coracle_test;

// ---- an eager coroutine that meets its awaiter ----

class eager {
 public:
  struct promise_type : coracle::part::starts_eagerly,
                        coracle::part::meets_parent,
                        coracle::part::returns<int>,
                        coracle::part::awaits_anything {
    eager get_return_object() { return eager{std::coroutine_handle<promise_type>::from_promise(*this)}; }
  };
  explicit eager(std::coroutine_handle<promise_type> body) : body_(body) {}
  eager(eager&& other) noexcept : body_(std::exchange(other.body_, nullptr)) {}
  eager& operator=(eager&&) = delete;
  ~eager() {
    if (body_) body_.destroy();
  }
  bool await_ready() const noexcept { return body_.promise().has_ended(); }
  bool await_suspend(std::coroutine_handle<> parent) const noexcept {
    return body_.promise().set_parent(parent);
  }
  int await_resume() const { return body_.promise().take(); }
  [[nodiscard]] bool has_ended() const noexcept { return body_.promise().has_ended(); }

 private:
  std::coroutine_handle<promise_type> body_;
};
eager give(std::coroutine_handle<>& handle, plain_int& data) {
  co_await hand_out{handle};
  data = 40;
  co_return 2;
}
detached await_eager(std::optional<eager>& work, plain_int& data, int& seen) {
  const int given = co_await *work;
  work.reset();  // as early as it may
  seen = given + data;
}
void end_meets_awaiter() {
  std::coroutine_handle<> body;
  plain_int data = 0;
  int seen = 0;
  std::optional<eager> work;
  work.emplace(give(body, data));
  model_thread ender{[body] { body.resume(); }};
  await_eager(work, data, seen);
  ender.join();
  model_expect(seen == 42 && !work, "the awaiter goes on once, with the result");
}
detached await_eager_on(model_executor& place, eager& work, plain_int& data, int& seen) {
  co_await place.schedule();
  const int given = co_await work;
  model_expect(coracle::current_executor() == &place, "it goes on where it was");
  seen = given + data;
}
void end_meets_awaiter_on_executor() {
  std::coroutine_handle<> body;
  plain_int data = 0;
  int seen = 0;
  model_executor place;
  eager work = give(body, data);
  model_thread ender{[body] { body.resume(); }};
  await_eager_on(place, work, data, seen);
  while (seen == 0) place.run(1);
  ender.join();
  model_expect(seen == 42, "with the result");
}
/// A check that reports the end also makes the result visible.
void end_is_looked_at() {
  std::coroutine_handle<> body;
  plain_int data = 0;
  eager work = give(body, data);
  model_thread ender{[body] { body.resume(); }};
  if (work.has_ended()) model_expect(data == 40 && work.await_resume() == 2, "with the result");
  ender.join();
}

// ---- sync_wait ----

struct resumed_by_thread {
  std::optional<model_thread>& by;
  plain_int& data;
  resumed_by_thread(std::optional<model_thread>& thread, plain_int& shared) : by(thread), data(shared) {}
  bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<> suspended) const {
    by.emplace([suspended, &shared = data] {
      shared = 7;
      suspended.resume();
    });
  }
  int await_resume() const noexcept { return data; }
};
void sync_wait_against_end() {
  plain_int data = 0;
  std::optional<model_thread> thread;
  model_expect(coracle::sync_wait(resumed_by_thread{thread, data}) == 7, "it returns, with the result");
  data = 1;
  thread->join();
}

// ---- from_callback ----

/// Completed while initiate() is still running, or later.
detached await_thread(plain_int& written, std::optional<model_thread>& thread, int& seen) {
  const auto start = [&](completion<int> done) {
    thread.emplace([&written, mine = std::make_shared<completion<int>>(std::move(done))] {
      written = 40;
      (*mine)(2);
    });
  };
  const int given = co_await coracle::from_callback<int>(start);
  seen = given + written;
}
void complete_against_suspend() {
  plain_int written = 0;
  std::optional<model_thread> thread;
  int seen = 0;
  await_thread(written, thread, seen);
  thread->join();
  model_expect(seen == 42, "it goes on once, with the result");
}
void drop_against_suspend() {
  std::optional<model_thread> thread;
  int ended = 0;
  const auto wait = [&]() -> detached {
    const auto start = [&](completion<> done) {
      thread.emplace([mine = std::make_shared<completion<>>(std::move(done))] {});
    };
    bool is_broken = false;
    try {
      co_await coracle::from_callback(start);
    } catch (const coracle::broken_promise&) {
      is_broken = true;
    }
    ended += is_broken;
  };
  wait();
  thread->join();
  model_expect(ended == 1, "it ends as broken, once");
}

/// How the API handles a cancel: it checks a word of its own, as an API with a lock would.
struct cancellable {
  coracle::detail::atomic<int> who{0};  // 1: it completes; 2: it was cancelled
  plain_int used = 0;
  std::optional<completion<int>> done;
  bool take(int me) {
    int nobody = 0;
    return who.compare_exchange_strong(nobody, me, coracle::detail::memory_order_acq_rel);
  }
  void complete() {
    if (!take(1)) return;
    completion<int> mine = std::move(*done);
    mine(2);
  }
  void cancel() {
    if (!take(2)) return;
    ++used;
    completion<int> mine = std::move(*done);
    mine.cancelled();
  }
};
coracle::task<> run_cancellable(cancellable& with, int& gave) {
  const auto start = [&](completion<int> done) { with.done.emplace(std::move(done)); };
  const auto cancel = [&] { with.cancel(); };
  gave = co_await coracle::from_callback<int>(start, cancel);
}
void complete_against_cancel() {
  cancellable with;
  stoppable_place place;
  wait_end end = wait_end::waits;
  int gave = 0;
  note_end(place, run_cancellable(with, gave), end);
  model_thread completer{[&] { with.complete(); }};
  place.request_stop();
  completer.join();
  model_expect(end == (with.who.load(coracle::detail::memory_order_relaxed) == 1 ? wait_end::carried_out
                                                                                 : wait_end::cancelled),
               "it ends as the API says");
  model_expect((gave == 2) == (end == wait_end::carried_out), "with the value, if there is one");
}
/// The cancel function sets a flag and then continues to use its object, so the coroutine must wait for it.
coracle::task<> run_slow_cancel(std::optional<completion<int>>& kept, std::shared_ptr<plain_int> used,
                                int& gave) {
  const auto start = [&](completion<int> done) { kept.emplace(std::move(done)); };
  const auto cancel = [used = used.get()] { *used = *used + 1; };
  gave = co_await coracle::from_callback<int>(start, cancel);
  *used = *used + 2;  // a race, if cancel still runs
}
/// `finish` completes the operation on another thread, which gives `result`, or 0 if it was cancelled.
template <class Finish>
void finish_against_slow_cancel(Finish finish, wait_end expected, int result) {
  stoppable_place place;
  wait_end end = wait_end::waits;
  int gave = 0;
  std::optional<completion<int>> done;
  auto used = std::make_shared<plain_int>(0);
  note_end(place, run_slow_cancel(done, used, gave), end);
  model_thread completer{[&] {
    completion<int> mine = std::move(*done);
    finish(mine);
  }};
  place.request_stop();
  completer.join();
  model_expect(end == expected && gave == result, "it ends when the operation does");
  const int by_coroutine = expected == wait_end::carried_out ? 2 : 0;
  model_expect(*used == by_coroutine || *used == by_coroutine + 1, "cancel is called at most once");
}
void complete_against_slow_cancel() {
  finish_against_slow_cancel([](completion<int>& done) { done(2); }, wait_end::carried_out, 2);
}
/// The completing thread reads the reason that the request has stored.
void cancelled_against_slow_cancel() {
  finish_against_slow_cancel([](completion<int>& done) { done.cancelled(); }, wait_end::cancelled, 0);
}
/// The stop request arrives while one thread initiates the operation and another completes it.
void stop_against_initiate() {
  cancellable with;
  stoppable_place place;
  wait_end end = wait_end::waits;
  int gave = 0;
  model_thread stopper{[&] { place.request_stop(); }};
  note_end(place, run_cancellable(with, gave), end);
  stopper.join();
  model_expect(end == wait_end::cancelled && gave == 0, "cancelled, by whoever saw the request");
}
/// The same, with a completion on another thread at any moment.
coracle::task<> run_at_once(cancellable& with, std::optional<model_thread>& completer, int& gave) {
  const auto start = [&](completion<int> done) {
    with.done.emplace(std::move(done));
    completer.emplace([&with] { with.complete(); });
  };
  const auto cancel = [&] { with.cancel(); };
  gave = co_await coracle::from_callback<int>(start, cancel);
}
void stop_and_complete_against_initiate() {
  cancellable with;
  stoppable_place place;
  std::optional<model_thread> completer;
  wait_end end = wait_end::waits;
  int gave = 0;
  model_thread stopper{[&] { place.request_stop(); }};
  note_end(place, run_at_once(with, completer, gave), end);
  stopper.join();
  if (completer) completer->join();
  model_expect(end != wait_end::waits, "it ends");
  model_expect((gave == 2) == (end == wait_end::carried_out), "with the value, if there is one");
}
/// An API that completes under the lock that its cancel function also takes: no completion may wait for a
/// cancel function, or both deadlock.
struct locked_api {
  coracle::detail::small_mutex mutex;
  std::optional<completion<int>> done;
  void complete() {
    const coracle::detail::small_mutex_lock locked{mutex};
    completion<int> mine = std::move(*done);
    done.reset();
    mine(2);
  }
  void cancel() { const coracle::detail::small_mutex_lock locked{mutex}; }
};
coracle::task<> run_locked(locked_api& with, int& gave) {
  const auto start = [&](completion<int> done) { with.done.emplace(std::move(done)); };
  const auto cancel = [&] { with.cancel(); };
  gave = co_await coracle::from_callback<int>(start, cancel);
}
void complete_under_the_lock_of_cancel() {
  locked_api with;
  stoppable_place place;
  wait_end end = wait_end::waits;
  int gave = 0;
  note_end(place, run_locked(with, gave), end);
  model_thread completer{[&] { with.complete(); }};
  place.request_stop();
  completer.join();
  model_expect(end == wait_end::carried_out && gave == 2, "it ends when the operation does");
}
}  // namespace

int main(int argc, char** argv) {
  model_test run(argc, argv);
  run.check("meets_parent: the end meets the awaiter", run.all, end_meets_awaiter);
  run.check("meets_parent: the same on an executor", run.all, end_meets_awaiter_on_executor);
  run.check("meets_parent: a look at the end", run.all, end_is_looked_at);
  run.check("sync_wait: against the end", run.all, sync_wait_against_end);
  run.check("from_callback: complete against suspend", run.all, complete_against_suspend);
  run.check("from_callback: drop against suspend", run.all, drop_against_suspend);
  run.check("from_callback: complete against cancel", run.all, complete_against_cancel);
  run.check("from_callback: complete against a slow cancel", run.all, complete_against_slow_cancel);
  run.check("from_callback: cancelled against a slow cancel", run.all, cancelled_against_slow_cancel);
  run.check("from_callback: stop against initiate", run.all, stop_against_initiate);
  run.check("from_callback: stop and complete against initiate", run.all, stop_and_complete_against_initiate);
  run.check("from_callback: complete under the lock of cancel", run.all, complete_under_the_lock_of_cancel);
  return run.finish();
}
