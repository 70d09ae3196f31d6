// tests/model/when_all.cpp -- children that end on several threads, and the coroutine that awaits all of
// them.
// SPDX-License-Identifier: MIT
#include <coracle/compose/when_all.hpp>
#include <coracle/sync/async_manual_reset_event.hpp>
#include <optional>
#include <stdexcept>
#include <utility>

#include "model_children.hpp"
#include "two_workers.hpp"

namespace {
using coracle::async_manual_reset_event;
using coracle::task;
using namespace coracle_test;

task<int> now(int value) { co_return value; }
/// Its thread starts inside the await, so the child may end while its siblings are still being started.
class on_thread {
 public:
  on_thread(std::optional<model_thread>& thread, plain_int& data) : thread_(thread), data_(data) {}
  bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<> suspended) const {
    thread_.emplace([suspended, &data = data_] {
      data = 7;
      coracle::resume(suspended);
    });
  }
  void await_resume() const noexcept {}

 private:
  std::optional<model_thread>& thread_;
  plain_int& data_;
};

// ---- all succeed ----

void two_ends() {
  std::coroutine_handle<> a, b;
  plain_int first = 0, second = 0;
  int sum = 0;
  const auto wait = [&]() -> detached {
    auto [x, y] = co_await coracle::when_all(later(a, first, 1), later(b, second, 2));
    sum = x + y + 10 * (first + second);
  };
  wait();
  resume_both(a, b);
  model_expect(sum == 33, "it goes on once, with what both did");
}
void three_ends() {
  std::coroutine_handle<> a, b, c;
  plain_int first = 0, second = 0, third = 0;
  int sum = 0;
  const auto wait = [&]() -> detached {
    auto [x, y, z] = co_await coracle::when_all(later(a, first, 1), later(b, second, 2), later(c, third, 3));
    sum = x + y + z + 10 * (first + second + third);
  };
  wait();
  model_thread thread{[&] { coracle::resume(a); }};
  model_thread another{[&] { coracle::resume(b); }};
  coracle::resume(c);
  thread.join();
  another.join();
  model_expect(sum == 66, "it goes on once, with what all did");
}
/// The children end while they are started.
template <class Await>
void ends_against_start(Await await_both) {
  std::optional<model_thread> one, other;
  plain_int first = 0, second = 0;
  int sum = 0;
  const auto wait = [&]() -> detached {
    co_await await_both(on_thread(one, first), on_thread(other, second));
    sum = first + second;
  };
  wait();
  one->join();
  other->join();
  model_expect(sum == 14, "it goes on once, with what both did");
}
void parent_on_executor() {
  std::optional<model_thread> one, other;
  plain_int first = 0, second = 0;
  model_executor place;
  int sum = 0;
  const auto wait = [&]() -> detached {
    co_await place.schedule();
    co_await coracle::when_all_ready(on_thread(one, first), on_thread(other, second));
    model_expect(coracle::current_executor() == &place, "it goes on where it was");
    sum = first + second;
  };
  wait();
  while (sum == 0) place.run(1);
  one->join();
  other->join();
  model_expect(sum == 14, "it goes on once, with what both did");
}

// ---- one fails ----

/// The child that fails stops the other, which is joined.
void failure_stops_sibling() {
  std::coroutine_handle<> bad;
  async_manual_reset_event never;
  int failed = 0;
  const auto wait = [&]() -> detached {
    try {
      co_await coracle::when_all(fails(bad), never);
    } catch (const std::runtime_error&) {
      ++failed;
    }
  };
  wait();
  model_thread setter{[&] { never.set(); }};
  coracle::resume(bad);
  setter.join();
  model_expect(failed == 1, "it throws the error, once");
}
void two_failures_ready() {
  std::coroutine_handle<> a, b;
  int failed = 0;
  const auto wait = [&]() -> detached {
    auto [x, y] = co_await coracle::when_all_ready(fails(a), fails(b));
    failed = x.has_error() + y.has_error();
  };
  wait();
  resume_both(a, b);
  model_expect(failed == 2, "both errors arrive");
}

// ---- stop requests ----

/// Returns how it ended, without an exception.
template <class Operation>
class how_it_ended {
 public:
  explicit how_it_ended(Operation& operation) : operation_(operation) {}
  bool await_ready() const noexcept { return false; }
  template <class Promise>
  std::coroutine_handle<> await_suspend(std::coroutine_handle<Promise> parent) {
    return operation_.await_suspend(parent);
  }
  coracle::stop_reason await_resume() { return operation_.await_cancelled(); }

 private:
  Operation& operation_;
};
/// Between two starts: the second child is not started, and its result is not taken.
coracle::task<> start_two(std::optional<coracle::stop_reason>& end) {
  auto all = coracle::when_all(now(1), now(2));
  const coracle::stop_reason why = co_await how_it_ended{all};
  end = why;
  if (why == coracle::stop_reason::none) {
    auto [x, y] = all.await_resume();
    model_expect(x + y == 3, "all results are there");
  }
}
void stop_between_starts() {
  stoppable_place place;
  std::optional<coracle::stop_reason> why;
  wait_end end = wait_end::waits;
  model_thread stopper{[&] { place.request_stop(); }};
  note_end(place, start_two(why), end);
  stopper.join();
  model_expect(end != wait_end::waits, "it ends");
}

task<> both(async_manual_reset_event& a, async_manual_reset_event& b, plain_int& data, int& seen) {
  co_await coracle::when_all(a, b);
  seen = data;
}
void stop_against_end() {
  async_manual_reset_event a, b;
  plain_int data = 0;
  stoppable_place place;
  wait_end end = wait_end::waits;
  int seen = 0;
  note_end(place, both(a, b, data, seen), end);
  a.set();
  model_thread setter{[&] {
    data = 7;
    b.set();
  }};
  place.request_stop();
  setter.join();
  model_expect(end != wait_end::waits, "it ends");
  model_expect(end == wait_end::cancelled || seen == 7, "with what was there, or as cancelled");
}
void stop_against_start() {
  async_manual_reset_event a, b;
  plain_int data = 0;
  stoppable_place place;
  wait_end end = wait_end::waits;
  int seen = 0;
  model_thread stopper{[&] { place.request_stop(); }};
  note_end(place, both(a, b, data, seen), end);
  stopper.join();
  model_expect(end == wait_end::cancelled && seen == 0, "it ends as cancelled");
}

// ---- on a pool ----

void run_with_help(two_workers& pool) {
  model_thread helper{[&] { pool.help(); }};
  pool.run_some();
  helper.join();
  pool.run_some();
}
/// Each child starts on either thread, and the parent continues where the last one ended.
template <int Children>
void children_on_pool() {
  two_workers pool;
  plain_int data[3] = {0, 0, 0};
  int sum = 0;
  const auto child = [&](int i) -> task<int> {
    data[i] = 7;
    co_return i;
  };
  const auto parent = [&]() -> detached {
    co_await pool.schedule();
    if constexpr (Children == 2) {
      auto [a, b] = co_await coracle::when_all(child(1), child(2));
      sum = a + b;
    } else {
      auto [a, b, c] = co_await coracle::when_all(child(0), child(1), child(2));
      sum = a + b + c;
    }
    model_expect(coracle::current_executor() == &pool, "it goes on on the pool");
    sum += data[1] + data[2];
  };
  parent();
  run_with_help(pool);
  model_expect(sum == 17, "it goes on once, with what all did");
}
/// The first child has children of its own, which are younger than its sibling.
void nested_on_pool() {
  two_workers pool;
  plain_int data[3] = {0, 0, 0};
  int sum = 0;
  const auto child = [&](int i) -> task<int> {
    data[i] = 7;
    co_return i;
  };
  const auto inner = [&]() -> task<int> {
    auto [a, b] = co_await coracle::when_all(child(0), child(1));
    co_return a + b + data[0] + data[1];
  };
  const auto parent = [&]() -> detached {
    co_await pool.schedule();
    auto [a, b] = co_await coracle::when_all(inner(), child(2));
    sum += a + b + data[2];
  };
  parent();
  run_with_help(pool);
  model_expect(sum == 24, "it goes on once, with what all did");
}
/// One child waits for what another does, and both are joined.
void child_waits_for_the_next() {
  two_workers pool;
  async_manual_reset_event event;
  int sum = 0;
  const auto waits = [&]() -> task<int> {
    co_await event;
    co_return 1;
  };
  const auto sets = [&]() -> task<int> {
    event.set();
    co_return 2;
  };
  const auto parent = [&]() -> detached {
    co_await pool.schedule();
    auto [a, b] = co_await coracle::when_all(waits(), sets());
    sum += a + b;
  };
  parent();
  run_with_help(pool);
  model_expect(sum == 3, "it goes on once, with both results");
}
/// The first child fails: the others are not started or, if they already were, are joined.
void failure_on_pool() {
  two_workers pool;
  int failed = 0;
  const auto bad = [&]() -> task<int> {
    co_await coracle::this_task::throw_if_stopped();
    throw std::runtime_error("failed");
  };
  const auto parent = [&]() -> detached {
    co_await pool.schedule();
    bool has_failed = false;
    try {
      co_await coracle::when_all(bad(), now(2), now(3));
    } catch (const std::runtime_error&) {
      has_failed = true;
    }
    failed += has_failed;
  };
  parent();
  run_with_help(pool);
  model_expect(failed == 1, "the error, once");
}

// ---- deferred starts ----

task<int> deep(int levels, std::optional<model_thread>& thread, plain_int& data) {
  int below = 0;
  if (levels == 0) {
    co_await on_thread(thread, data);
  } else {
    auto [given, mine] = co_await coracle::when_all_ready(deep(levels - 1, thread, data), now(1));
    below = std::move(given).get() + std::move(mine).get();
  }
  co_return below;
}
/// Two threads nest starts of children so deep that some are deferred: each thread has a list of its own.
void deep_starts() {
  std::optional<model_thread> one, other;
  plain_int first = 0, second = 0;
  int a = -1, b = -1;
  const auto wait = [](int& sum, std::optional<model_thread>& thread, plain_int& data) -> detached {
    sum = co_await deep(17, thread, data);
  };
  model_thread starter{[&] { wait(a, one, first); }};
  wait(b, other, second);
  starter.join();
  one->join();
  other->join();
  model_expect(a == 17 && b == 17, "each sum is complete");
}
}  // namespace

int main(int argc, char** argv) {
  model_test run(argc, argv);
  run.check("when_all: two ends", run.all, two_ends);
  run.check("when_all: three ends", run.all, three_ends);
  run.check("when_all: ends against start", run.all, [] {
    ends_against_start([](auto... each) { return coracle::when_all(std::move(each)..., now(1)); });
  });
  run.check("when_all_ready: ends against start", run.all, [] {
    ends_against_start([](auto... each) { return coracle::when_all_ready(std::move(each)...); });
  });
  run.check("when_all_ready: the parent on an executor", run.all, parent_on_executor);
  run.check("when_all: a failure stops a sibling that may end", run.all, failure_stops_sibling);
  run.check("when_all: two failures", run.all,
            [] { two_failures([](auto... each) { return coracle::when_all(std::move(each)...); }); });
  run.check("when_all_ready: two failures", run.all, two_failures_ready);
  run.check("when_all: stop against end", 4, stop_against_end);
  run.check("when_all: stop between two starts", run.all, stop_between_starts);
  run.check("when_all: stop against start", 4, stop_against_start);
  run.check("when_all: two children on a pool", run.all, children_on_pool<2>);
  run.check("when_all: three children on a pool", run.all, children_on_pool<3>);
  run.check("when_all: one inside another, on a pool", run.all, nested_on_pool);
  run.check("when_all: a child waits for the next, on a pool", run.all, child_waits_for_the_next);
  run.check("when_all: a failure on a pool", run.all, failure_on_pool);
  run.check("when_all_ready: starts put off on two threads", run.all, deep_starts);
  return run.finish();
}
