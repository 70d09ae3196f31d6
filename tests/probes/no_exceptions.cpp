// tests/probes/no_exceptions.cpp -- compiled with -fno-exceptions: tasks are stopped, and their locals
// destroyed.
// SPDX-License-Identifier: MIT
#include <chrono>
#include <coracle/compose/as_outcome.hpp>
#include <coracle/compose/fmap.hpp>
#include <coracle/compose/from_callback.hpp>
#include <coracle/compose/via.hpp>
#include <coracle/compose/when_all.hpp>
#include <coracle/compose/when_any.hpp>
#include <coracle/compose/with_scope.hpp>
#include <coracle/core/sync_wait.hpp>
#include <coracle/core/task.hpp>
#include <coracle/core/with_environment.hpp>
#include <coracle/exec/run_loop.hpp>
#include <coracle/generators/async_generator.hpp>
#include <coracle/streams/buffered.hpp>
#include <coracle/streams/ends.hpp>
#include <coracle/streams/stages.hpp>
#include <coracle/sync/async_manual_reset_event.hpp>
#include <coracle/sync/async_mutex.hpp>
#include <coracle/sync/async_semaphore.hpp>
#include <coracle/time/timeout.hpp>
#include <cstdio>
#include <optional>
#include <utility>

#include "../support/expect.hpp"

namespace {
namespace streams = coracle::streams;
using coracle::as_outcome;
using coracle::stop_reason;
using coracle::task;
using coracle_test::expect;

constexpr int depth = 1000;
int destroyed = 0;

struct counts_its_end {
  explicit counts_its_end(int own) noexcept : depth_left(own) {}
  counts_its_end(const counts_its_end&) = delete;
  ~counts_its_end() { destroyed += destroyed == depth_left ? 1 : 2 * depth; }  // the innermost first
  int depth_left;
};
template <class Wait>
task<int> wait_below(Wait& wait, int left) {
  const counts_its_end local(left);
  if (left == 0) {
    co_await wait();
  } else {
    co_await wait_below(wait, left - 1);
  }
  co_return 1;
}

/// Stops a chain of tasks of which the last awaits `wait()`.
template <class Wait>
void stop(const char* what, Wait wait) {
  destroyed = 0;
  coracle::stop_source source;
  const auto request = [&]() -> task<> {
    source.request_stop(stop_reason::shutting_down);
    co_return;
  };
  const auto look = [&]() -> task<> {
    const auto end = co_await as_outcome(wait_below(wait, depth - 1));
    expect(end.reason() == stop_reason::shutting_down && destroyed == depth, what);
  };
  const auto all = [&]() -> task<> {
    co_await coracle::when_all(coracle::with_stop(look(), source.get_token()), request());
  };
  coracle::sync_wait(all());
}
/// Stops one that has been woken to take a lock, before it runs.
void stop_on_the_way_to_a_lock() {
  destroyed = 0;
  coracle::run_loop loop;
  coracle::stop_source source;
  coracle::async_mutex mutex;
  const bool locked = mutex.try_lock();
  const auto run = [&] {
    while (loop.run_one()) {
    }
  };
  const auto request = [&]() -> task<> {
    run();
    if (locked) mutex.unlock();
    source.request_stop(stop_reason::shutting_down);
    run();
    co_return;
  };
  const auto look = [&]() -> task<> {
    auto wait = [&] { return mutex.lock_async(); };
    const auto end = co_await as_outcome(wait_below(wait, depth - 1));
    expect(end.reason() == stop_reason::shutting_down && destroyed == depth, "a task on its way to a mutex");
  };
  const auto all = [&]() -> task<> {
    auto there = coracle::schedule_on(look(), loop);
    co_await coracle::when_all(coracle::with_stop(std::move(there), source.get_token()), request());
  };
  coracle::sync_wait(all());
}
coracle::async_generator<int> endless() {
  for (int n = 0;; ++n) co_yield n;
}
/// Stops a pipeline whose source never waits.
template <class Stages>
void stop_pipeline(const char* what, Stages stages) {
  coracle::stop_source source;
  const auto drop = [&](int n) {
    if (n == 1000) source.request_stop(stop_reason::shutting_down);
    return n < 500;
  };
  const auto take = [](int) {};
  const auto look = [&]() -> task<> {
    auto all = endless() | streams::filter(drop);
    const auto end = co_await as_outcome(stages(std::move(all)) | streams::for_each(take));
    expect(end.reason() == stop_reason::shutting_down, what);
  };
  coracle::sync_wait(coracle::with_stop(look(), source.get_token()));
}
/// Functions in place of tasks, and what fmap() awaits.
task<> stop_functions(coracle::async_manual_reset_event& never) {
  using namespace std::chrono_literals;
  const auto wait = [&never]() -> task<int> {
    co_await never;
    co_return 2;
  };
  const auto give = []() -> task<int> { co_return 1; };
  const auto spawn = [&wait](coracle::async_scope& scope) -> task<> {
    scope.spawn(coracle::fmap(wait(), [](int) {}));
    scope.spawn([&wait]() -> task<> { co_await wait(); });
    co_return;
  };
  const auto lost = co_await coracle::when_any(wait, give);
  expect(lost.index() == 1, "a function that loses a race");
  const auto late = co_await as_outcome(coracle::timeout(wait, 0s));
  expect(late.reason() == stop_reason::timed_out, "a function that times out");
  const auto all = co_await as_outcome(coracle::stop_after(coracle::when_all(wait, wait), 0s));
  expect(all.reason() == stop_reason::timed_out, "functions that are stopped together");
  const auto spawned = co_await as_outcome(coracle::stop_after(coracle::with_scope(spawn), 0s));
  expect(spawned.reason() == stop_reason::timed_out, "functions that were spawned");
  const auto mapped =
      co_await as_outcome(coracle::fmap(coracle::stop_after(wait, 0s), [](int n) { return n; }));
  expect(mapped.reason() == stop_reason::timed_out, "what fmap() awaits");
}
}  // namespace

int main() {
  expect(!CORACLE_EXCEPTIONS(), "the program is compiled with -fno-exceptions");
  coracle::async_manual_reset_event never;
  coracle::async_mutex mutex;
  coracle::async_semaphore none{0};
  if (!mutex.try_lock()) return 1;
  stop("a task that waits for an event", [&] { return never.operator co_await(); });
  stop("a task that waits for a mutex", [&] { return mutex.lock_async(); });
  stop("a task that waits for a semaphore", [&] { return none.acquire(); });
  std::optional<coracle::completion<>> done;
  const auto start = [&](coracle::completion<> given) { done.emplace(std::move(given)); };
  const auto cancel = [&] { done->cancelled(); };
  stop("a task that waits for a callback", [&] { return coracle::from_callback<void>(start, cancel); });
  mutex.unlock();
  stop_on_the_way_to_a_lock();

  stop_pipeline("a pipeline", [](auto all) { return all; });
  stop_pipeline("a pipeline that reads ahead",
                [](auto all) { return std::move(all) | streams::buffered(2); });

  destroyed = 0;
  const auto race = [&]() -> task<> {
    auto one = []() -> task<int> { co_return 1; };
    auto wait = [&] { return never.operator co_await(); };
    const auto first = co_await coracle::when_any(as_outcome(wait_below(wait, depth - 1)), one());
    expect(first.index() == 1 && destroyed == depth, "the loser of a race");
  };
  coracle::sync_wait(race());
  coracle::sync_wait(stop_functions(never));
  return coracle_test::exit_status("a program without exceptions stops its tasks");
}
