// bench/micro/stopped_bench.cpp -- tasks that a stop request ends where they wait.
// SPDX-License-Identifier: MIT
#include <coracle/compose/as_outcome.hpp>
#include <coracle/compose/when_all.hpp>
#include <coracle/compose/when_any.hpp>
#include <coracle/core/sync_wait.hpp>
#include <coracle/core/task.hpp>
#include <coracle/core/with_environment.hpp>
#include <coracle/sync/async_manual_reset_event.hpp>
#include <coracle/sync/async_mutex.hpp>
#include <coracle/time/timeout.hpp>
#include <vector>

#include "measure.hpp"

namespace {
using coracle::as_outcome;
using coracle::async_manual_reset_event;
using coracle::task;
using coracle_bench::measure;
using coracle_bench::need;

[[gnu::noinline]] task<int> one() { co_return 1; }
[[gnu::noinline]] task<int> wait(const async_manual_reset_event& event) {
  co_await event;
  co_return 1;
}
[[gnu::noinline]] task<> wait_deep(const async_manual_reset_event& event, int depth) {
  if (depth == 0) {
    co_await event;
  } else {
    co_await wait_deep(event, depth - 1);
  }
}

/// A race of two, whose loser is a task that waits.
template <class Loser>
task<long> races(long n, Loser loser) {
  const async_manual_reset_event not_set;
  long sum = 0;
  for (long i = 0; i != n; ++i) {
    const auto first = co_await coracle::when_any(loser(not_set), one());
    sum += static_cast<long>(first.index());
  }
  co_return sum;
}
void stopped_loser(benchmark::State& state) {
  measure(state, 1'000'000, [](long n) { need(coracle::sync_wait(races(n, &wait))); });
}
/// The same with an exception, which its handlers would see.
void stopped_loser_throwing(benchmark::State& state) {
  const auto loser = [](const async_manual_reset_event& event) { return coracle::throwing(wait(event)); };
  measure(state, 100'000, [&](long n) { need(coracle::sync_wait(races(n, loser))); });
}

/// One race with so many losers, for each of them.
template <long Count>
task<long> wide_race(long n) {
  const async_manual_reset_event not_set;
  long sum = 0;
  for (long done = 0; done < n; done += Count) {
    std::vector<task<int>> children;
    children.reserve(Count + 1);
    for (long i = 0; i != Count; ++i) children.push_back(wait(not_set));
    children.push_back(one());
    const auto first = co_await coracle::when_any(std::move(children));
    sum += first.value;
  }
  co_return sum;
}
template <long Count>
void stopped_losers(benchmark::State& state) {
  measure(state, 1'000'000, [](long n) { need(coracle::sync_wait(wide_race<Count>(n))); });
}
void stopped_losers_1000(benchmark::State& state) { stopped_losers<1000>(state); }
void stopped_losers_100000(benchmark::State& state) { stopped_losers<100'000>(state); }

/// So many children of one when_all_ready(), each a task that waits; `Stops`, or all are let through.
template <bool Stops, class Child>
void end_children(benchmark::State& state, long count, Child child) {
  measure(state, 1'000'000, [&](long n) {
    for (long done = 0; done < n; done += count) {
      coracle::stop_source source;
      async_manual_reset_event event;
      using operation = decltype(as_outcome(child(event)));
      std::vector<operation> children;
      children.reserve(static_cast<std::size_t>(count));
      for (long i = 0; i != count; ++i) children.push_back(as_outcome(child(event)));
      const auto end = [&]() -> task<> {
        if constexpr (Stops) {
          source.request_stop();
        } else {
          event.set();
        }
        co_return;
      };
      const auto all = [&]() -> task<> {
        co_await coracle::when_all(
            coracle::with_stop(coracle::when_all_ready(std::move(children)), source.get_token()), end());
      };
      coracle::sync_wait(all());
    }
  });
}
void stopped_children_1000(benchmark::State& state) { end_children<true>(state, 1000, &wait); }
void floor_stopped_children_1000(benchmark::State& state) { end_children<false>(state, 1000, &wait); }
void stopped_children_100000(benchmark::State& state) { end_children<true>(state, 100'000, &wait); }

/// A chain of 1,000 tasks, for each of them.
task<long> chains(long n) {
  const async_manual_reset_event not_set;
  constexpr int depth = 1000;
  long sum = 0;
  for (long i = 0; i < n; i += depth) {
    const auto first = co_await coracle::when_any(wait_deep(not_set, depth - 1), one());
    sum += static_cast<long>(first.index());
  }
  co_return sum;
}
void stopped_chain_1000(benchmark::State& state) {
  measure(state, 1'000'000, [](long n) { need(coracle::sync_wait(chains(n))); });
}
/// The same chain, which reaches its end.
void floor_stopped_chain_1000(benchmark::State& state) {
  measure(state, 1'000'000, [](long n) {
    const async_manual_reset_event set{true};
    for (long i = 0; i < n; i += 1000) coracle::sync_wait(wait_deep(set, 999));
  });
}

/// A deadline that has passed when the work begins to wait.
task<long> deadlines(long n) {
  const async_manual_reset_event not_set;
  long sum = 0;
  for (long i = 0; i != n; ++i) {
    const auto end =
        co_await as_outcome(coracle::stop_after(wait(not_set), std::chrono::steady_clock::duration::zero()));
    sum += end.is_cancelled() ? 1 : 0;
  }
  co_return sum;
}
void stopped_at_deadline(benchmark::State& state) {
  measure(state, 1'000'000, [](long n) { need(coracle::sync_wait(deadlines(n))); });
}

/// Tasks in the queue of a mutex, which a stop request takes out.
void stopped_mutex_waiters_1000(benchmark::State& state) {
  coracle::async_mutex mutex;
  const auto lock = [&mutex](const async_manual_reset_event&) -> task<int> {
    const auto held = co_await mutex.scoped_lock_async();
    co_return 1;
  };
  const bool locked = mutex.try_lock();
  end_children<true>(state, 1000, lock);
  if (locked) mutex.unlock();
}

CORACLE_BENCH(stopped_loser);
CORACLE_BENCH(stopped_loser_throwing);
CORACLE_BENCH(stopped_losers_1000);
CORACLE_BENCH(stopped_losers_100000);
CORACLE_BENCH(stopped_children_1000);
CORACLE_BENCH(floor_stopped_children_1000);
CORACLE_BENCH(stopped_children_100000);
CORACLE_BENCH(stopped_chain_1000);
CORACLE_BENCH(floor_stopped_chain_1000);
CORACLE_BENCH(stopped_at_deadline);
CORACLE_BENCH(stopped_mutex_waiters_1000);
}  // namespace
