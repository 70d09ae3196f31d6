// tests/stress/combinators.cpp -- races of completions, stop requests and dropped handles; shared work.
// SPDX-License-Identifier: MIT
#include <atomic>
#include <coracle/compose/as_completed.hpp>
#include <coracle/compose/for_each_concurrent.hpp>
#include <coracle/compose/from_callback.hpp>
#include <coracle/compose/single_flight.hpp>
#include <coracle/compose/when_all.hpp>
#include <coracle/core/sync_wait.hpp>
#include <coracle/core/with_environment.hpp>
#include <coracle/exec/static_thread_pool.hpp>
#include <coracle/sync/async_manual_reset_event.hpp>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "../support/detached.hpp"
#include "../support/stress.hpp"

namespace {
using coracle::completion;
using coracle::task;
using coracle_test::detached;

/// One operation: a thread completes or drops it while another requests stop. The stop request does not
/// complete it: that is up to the first thread. What either thread writes must be visible to the coroutine.
struct asked {
  std::optional<completion<int>> handler;
  coracle::stop_source source;
  int written = 0;
  int cancel_wrote = 0;
  std::atomic<bool> cancel_called{false};
};
struct endings {
  std::atomic<long long> values{0}, cancelled{0}, broken{0}, wrong{0};
};
detached await_asked(asked& mine, endings& found, bool with_cancel) {
  auto start = [&](auto done) { mine.handler.emplace(std::move(done)); };
  auto cancel = [&] {
    mine.cancel_wrote = 1;
    mine.cancel_called.store(true, std::memory_order_relaxed);
  };
  const auto operation = [&]() -> task<int> {
    if (with_cancel) co_return co_await coracle::from_callback<int>(start, cancel);
    co_return co_await coracle::from_callback<int>(start);
  };
  auto stoppable = coracle::with_stop(operation(), mine.source.get_token());
  try {
    found.wrong += co_await std::move(stoppable) != 42;
    ++found.values;
  } catch (const coracle::operation_cancelled&) {
    ++found.cancelled;
    found.wrong += !mine.cancel_called.load(std::memory_order_relaxed);
  } catch (const coracle::broken_promise&) {
    ++found.broken;
  }
  found.wrong += mine.written != 1;
  if (mine.cancel_called.load(std::memory_order_relaxed)) found.wrong += mine.cancel_wrote != 1;
}
long long complete_against_stop(int most, bool with_cancel, endings& found) {
  std::vector<std::unique_ptr<asked>> all(static_cast<std::size_t>(most));
  for (auto& each : all) {
    each = std::make_unique<asked>();
    await_asked(*each, found, with_cancel);
  }
  const auto end = [](asked& each, int i) {
    each.written = 1;
    if (i % 3 == 0) {
      each.handler.reset();
    } else {
      (*each.handler)(42);
    }
  };
  const int rounds = coracle_test::side_by_side(
      most, [&](int i) { end(*all[static_cast<std::size_t>(i)], i); },
      [&](int i) { all[static_cast<std::size_t>(i)]->source.request_stop(); });
  for (int i = rounds; i != most; ++i) end(*all[static_cast<std::size_t>(i)], i);
  return most;
}

/// The stop request completes the operation inside cancel(), unless the other thread was first; the operation
/// is initiated at the same time as the other thread looks for it.
long long initiate_against_complete(int most, std::atomic<long long>& ended) {
  struct meeting {
    std::mutex mutex;
    std::optional<completion<>> handler;
    bool wanted = false;
    coracle::stop_source source;
    std::optional<completion<>> take() {
      const std::lock_guard locked{mutex};
      auto taken = std::move(handler);
      handler.reset();
      return taken;
    }
  };
  std::vector<std::unique_ptr<meeting>> all(static_cast<std::size_t>(most));
  for (auto& each : all) each = std::make_unique<meeting>();
  const auto run = [&](meeting& mine) -> detached {
    auto start = [&](auto done) {
      {
        const std::lock_guard locked{mine.mutex};
        if (!mine.wanted) {
          mine.handler.emplace(std::move(done));
          return;
        }
      }
      done();
    };
    auto cancel = [&] {
      if (auto done = mine.take()) done->cancelled();
    };
    auto operation = coracle::with_stop(coracle::from_callback<void>(start, cancel), mine.source.get_token());
    try {
      co_await std::move(operation);
    } catch (const coracle::operation_cancelled&) {
    }
    ++ended;
  };
  const int rounds = coracle_test::side_by_side(
      most, [&](int i) { run(*all[static_cast<std::size_t>(i)]); },
      [&](int i) {
        meeting& mine = *all[static_cast<std::size_t>(i)];
        if (i % 2 == 0) {
          mine.source.request_stop();
          return;
        }
        {
          const std::lock_guard locked{mine.mutex};
          mine.wanted = true;
        }
        if (auto done = mine.take()) (*done)();
      });
  for (int i = rounds; i != most; ++i) ++ended;
  return most;
}

struct flights_found {
  std::atomic<long long> results{0}, cancelled{0}, wrong{0};
  std::atomic<int> in_work{0};
};
/// Coroutines on a pool request a few keys; some are stopped while they wait. The work of one key never runs
/// twice concurrently, unless one execution is being stopped, and never without a caller.
void share_flights(int turns, flights_found& found) {
  constexpr int callers = 8;
  coracle::static_thread_pool pool{3};
  coracle::single_flight<int, int> flights;
  const auto call = [&](int me) -> task<> {
    co_await pool.schedule();
    for (int i = 0; i != turns; ++i) {
      coracle::stop_source source;
      const int key = (me + i) % 2;
      auto work = [&pool, &found, key]() -> task<int> {
        ++found.in_work;
        for (int hops = 0; hops != 3; ++hops) {
          const auto stopped = (co_await coracle::this_task::stop_token()).stop_requested();
          if (stopped) break;
          co_await coracle::shielded(pool.schedule());
        }
        --found.in_work;
        co_return key;
      };
      const auto wait = [&]() -> task<> {
        try {
          found.wrong += co_await flights.run(key, work) != key;
          ++found.results;
        } catch (const coracle::operation_cancelled&) {
          ++found.cancelled;
        }
      };
      const auto stop = [&]() -> task<> {
        if ((me + i) % 4 == 0) co_await pool.schedule();
        if ((me + i) % 3 == 0) source.request_stop();
      };
      co_await coracle::when_all(coracle::with_stop(wait(), source.get_token()), stop());
    }
  };
  std::vector<task<>> all;
  for (int me = 0; me != callers; ++me) all.push_back(call(me));
  coracle::sync_wait(coracle::when_all(std::move(all)));
}

/// Children that end on any thread of a pool, with a concurrency limit and without.
void run_children(int elements, std::atomic<long long>& ended, long long& consumed, long long& too_many) {
  coracle::static_thread_pool pool{3};
  std::atomic<int> now{0};
  std::atomic<long long> crowded{0};
  const std::vector<int> numbers(static_cast<std::size_t>(elements), 1);
  const auto work = [&](int) -> task<> {
    crowded += ++now > 5;
    co_await pool.schedule();
    ++ended;
    --now;
  };
  const auto one = [&]() -> task<int> {
    co_await pool.schedule();
    co_return 1;
  };
  const auto both = [&]() -> task<> {
    co_await pool.schedule();
    co_await coracle::for_each_concurrent(numbers, 5, work);
    std::vector<task<int>> tasks;
    for (int i = 0; i != elements; ++i) tasks.push_back(one());
    const auto consume = [&](int value) { consumed += value; };
    co_await coracle::as_completed(std::move(tasks), consume);
  };
  coracle::sync_wait(both());
  too_many = crowded;
}
}  // namespace

int main(int argc, char** argv) {
  coracle_test::stress run("combinators", argc, argv, 100'000);
  endings with_cancel, without;
  const long long first = complete_against_stop(run.int_count(), true, with_cancel);
  run.expect("endings", with_cancel.values + with_cancel.cancelled + with_cancel.broken, first);
  const long long second = complete_against_stop(run.int_count(), false, without);
  run.expect("endings without cancel", without.values + without.broken, second);
  run.expect("wrong", with_cancel.wrong + without.wrong + without.cancelled, 0);
  std::atomic<long long> ended{0};
  const long long third = initiate_against_complete(run.int_count(), ended);
  run.expect("initiated", ended.load(), third);
  flights_found flights;
  const int turns = run.int_count() / 50 + 1;
  share_flights(turns, flights);
  run.expect("calls", flights.results + flights.cancelled, 8LL * turns);
  run.expect("wrong results or work left", flights.wrong + flights.in_work, 0);
  std::atomic<long long> children{0};
  long long consumed = 0, too_many = 0;
  run_children(run.int_count(), children, consumed, too_many);
  run.expect("children", children.load(), run.count());
  run.expect("consumed", consumed, run.count());
  run.expect("too many at once", too_many, 0);
  return run.finish();
}
