// tests/stress/timers.cpp -- every sleep ends exactly once, and no timeout loses a result.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <atomic>
#include <coracle/compose/when_all.hpp>
#include <coracle/core/sync_wait.hpp>
#include <coracle/core/with_environment.hpp>
#include <coracle/exec/static_thread_pool.hpp>
#include <coracle/io/io_service.hpp>
#include <coracle/sync/async_semaphore.hpp>
#include <coracle/testing/virtual_time_loop.hpp>
#include <coracle/time/detail/timer_queue.hpp>
#include <coracle/time/sleep.hpp>
#include <coracle/time/timeout.hpp>
#include <optional>
#include <random>
#include <thread>
#include <vector>

#include "../support/stress.hpp"

namespace {
using coracle::operation_cancelled;
using coracle::task;
using microseconds = std::chrono::microseconds;
using steady = std::chrono::steady_clock;

struct endings {
  std::atomic<long long> over{0}, cancelled{0}, early{0};
};

task<> sleep_on(auto& place, microseconds delay, endings& seen) {
  try {
    co_await place.schedule();
    const auto before = steady::now();
    co_await coracle::sleep_for(delay);
    ++seen.over;
    if (steady::now() < before + delay) ++seen.early;
  } catch (const operation_cancelled&) {
    ++seen.cancelled;
  }
}

/// Rounds of sleepers whose deadline passes about when their stop is requested.
template <class Place>
void stop_sleepers(Place& place, int rounds, endings& seen) {
  constexpr int sleepers = 16;
  for (int i = 0; i != rounds; ++i) {
    coracle::stop_source source;
    const auto stop = [&]() -> task<> {
      co_await place.schedule();
      coracle_test::hold_up(i % 512 * 64);
      source.request_stop();
    };
    const auto sleep = [&]() -> task<> {
      std::vector<task<>> all;
      for (int k = 0; k != sleepers; ++k) all.push_back(sleep_on(place, microseconds(1 + 3 * k), seen));
      co_await coracle::when_all(std::move(all));
    };
    try {
      coracle::sync_wait(coracle::when_all(coracle::with_stop(sleep(), source.get_token()), stop()));
    } catch (const operation_cancelled&) {
    }
  }
}

/// A permit is released about when the timeout of its waiter expires. If the waiter has not got it, it is
/// still available. Returns how many were lost or duplicated.
template <class Start>
long long release_against_timeout(int rounds, Start start) {
  long long wrong = 0;
  for (int i = 0; i != rounds; ++i) {
    coracle::async_semaphore permits{0};
    int got = -1;
    const auto wait = [&]() -> task<> {
      co_await start();
      try {
        co_await coracle::timeout(permits.acquire(), microseconds(5 + i % 64));
        got = 1;
      } catch (const coracle::timed_out&) {
        got = 0;
      }
    };
    std::thread releaser([&] {
      coracle_test::hold_up(i % 256 * 512);
      permits.release();
    });
    coracle::sync_wait(wait());
    releaser.join();
    const int left = permits.try_acquire();
    wrong += got + left != 1;
  }
  return wrong;
}

/// Timers in random order on virtual time; a third of them are stopped. Returns how many ended wrongly.
long long many_on_virtual_time(int count) {
  coracle::testing::virtual_time_loop loop;
  coracle::stop_source source;
  std::mt19937_64 random{7};
  long long over = 0, cancelled = 0, out_of_order = 0;
  auto last = loop.now();
  const auto sleep = [&](steady::duration delay) -> task<> {
    try {
      co_await coracle::sleep_for(delay);
      ++over;
      if (coracle::steady_now() < last) ++out_of_order;
      last = coracle::steady_now();
    } catch (const operation_cancelled&) {
      ++cancelled;
    }
  };
  std::vector<task<>> fire, stop;
  for (int i = 0; i != count; ++i) {
    const auto delay = std::chrono::nanoseconds(1 + random() % 1'000'000'000);
    (i % 3 == 0 ? stop : fire)
        .push_back(sleep(delay + (i % 3 == 0 ? std::chrono::hours(1) : std::chrono::hours(0))));
  }
  const auto stop_them = [&]() -> task<> {
    co_await coracle::sleep_for(std::chrono::milliseconds(500));
    source.request_stop();
  };
  const auto stopped = [&]() -> task<> {
    try {
      co_await coracle::with_stop(coracle::when_all(std::move(stop)), source.get_token());
    } catch (const operation_cancelled&) {
    }
  };
  loop.run(coracle::when_all(coracle::when_all(std::move(fire)), stopped(), stop_them()));
  return out_of_order + (cancelled - (count + 2) / 3) + (over - (count - (count + 2) / 3));
}

/// Inserts timers into a queue and removes them in another order; then inserts them again and fires them.
long long many_in_one_queue(int count) {
  using coracle::detail::timer;
  const steady::time_point begin{std::chrono::hours(1)};
  coracle::detail::timer_queue queue{begin};
  std::mt19937_64 random{11};
  std::vector<timer> all;
  all.reserve(static_cast<std::size_t>(count));
  for (int i = 0; i != count; ++i) all.emplace_back([](timer&) noexcept {});
  std::vector<timer*> order;
  for (timer& each : all) order.push_back(&each);
  long long wrong = 0;
  const auto insert = [&] {
    for (timer* const each : order) {
      each->progress = timer::state::idle;
      wrong += !queue.add(*each, begin + std::chrono::nanoseconds(random() % 1'000'000'000));
    }
    std::shuffle(order.begin(), order.end(), random);
  };
  insert();
  for (timer* const each : order) wrong += !queue.remove(*each);
  wrong += !queue.empty();
  insert();
  long long fired = 0;
  std::uint64_t last = 0;
  for (auto now = begin; !queue.empty(); now += microseconds(50)) {
    while (timer* const due = queue.pop_due(now)) {
      wrong += due->deadline < last;
      last = due->deadline;
      ++fired;
    }
  }
  return wrong + (count - fired);
}

/// An io_service run by two threads.
struct two_runners {
  coracle::io_service io;
  coracle::io_work_scope work{io};
  std::thread first{[this] { io.process_events(); }}, second{[this] { io.process_events(); }};
  ~two_runners() {
    io.stop();
    first.join();
    second.join();
  }
};
}  // namespace

int main(int argc, char** argv) {
  coracle_test::stress run("timers", argc, argv, 1000);
  endings seen;
  {
    coracle::static_thread_pool pool{2};
    stop_sleepers(pool, run.int_count(), seen);
    two_runners io;
    stop_sleepers(io.io, run.int_count(), seen);
    run.expect("sleeps ended", seen.over + seen.cancelled, 32LL * run.count());
    run.expect("early", seen.early.load(), 0);
    run.expect("kinds of end never seen", (seen.over == 0) + (seen.cancelled == 0), 0);
    run.expect("lost on a pool", release_against_timeout(run.int_count(), [&] { return pool.schedule(); }),
               0);
    run.expect("lost on an io_service",
               release_against_timeout(run.int_count(), [&] { return io.io.schedule(); }), 0);
  }
  run.expect("lost outside", release_against_timeout(run.int_count(), [] { return std::suspend_never{}; }),
             0);
  run.expect("wrong of many on virtual time", many_on_virtual_time(100 * run.int_count()), 0);
  run.expect("wrong of many in one queue", many_in_one_queue(1000 * run.int_count()), 0);
  return run.finish();
}
