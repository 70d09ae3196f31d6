// tests/stress/blocking.cpp -- blocking calls: each is made once or cancelled, while threads come and go.
// SPDX-License-Identifier: MIT
#include <atomic>
#include <coracle/compose/when_all.hpp>
#include <coracle/core/operation_cancelled.hpp>
#include <coracle/core/sync_wait.hpp>
#include <coracle/core/task.hpp>
#include <coracle/core/with_environment.hpp>
#include <coracle/exec/blocking.hpp>
#include <coracle/exec/static_thread_pool.hpp>
#include <optional>
#include <thread>
#include <vector>

#include "../support/stress.hpp"

namespace {
using namespace std::chrono_literals;
using coracle::blocking;
using coracle::blocking_pool;
using coracle::sync_wait;
using coracle::task;

/// Coroutines of a pool make blocking calls repeatedly, and return to the pool.
long long call(std::size_t threads, std::chrono::milliseconds idle_time, int turns) {
  coracle::static_thread_pool home{2};
  blocking_pool pool{threads, idle_time};
  std::atomic<long long> right{0};
  const auto work = [&]() -> task<> {
    co_await home.schedule();
    for (int i = 0; i != turns; ++i) {
      const auto twice = [i] { return 2 * i; };
      const int got = co_await blocking(pool, twice);
      right += got == 2 * i && coracle::current_executor() == &home;
    }
  };
  std::vector<task<>> all;
  for (int i = 0; i != 8; ++i) all.push_back(work());
  sync_wait(coracle::when_all(std::move(all)));
  return right;
}

struct ends {
  std::atomic<long long> called{0}, carried_out{0}, cancelled{0};
};
/// Stop requests race with calls that are about to begin.
void cancel(int rounds, ends& found) {
  blocking_pool pool{1};
  for (int i = 0; i != rounds; ++i) {
    coracle::stop_source source;
    const auto work = [&]() -> task<> {
      const auto count = [&] { ++found.called; };
      try {
        co_await blocking(pool, count);
        ++found.carried_out;
      } catch (const coracle::operation_cancelled&) {
        ++found.cancelled;
      }
    };
    const auto stop = [&]() -> task<> {
      coracle_test::hold_up(i % 4000);
      source.request_stop();
      co_return;
    };
    const auto token = source.get_token();
    sync_wait(
        coracle::when_all(coracle::with_stop(work(), token), coracle::with_stop(work(), token), stop()));
  }
}

/// Pools that are destroyed as soon as their last call has ended.
long long end_pools(int rounds) {
  std::atomic<long long> called{0};
  for (int i = 0; i != rounds; ++i) {
    blocking_pool pool{3, i % 2 == 0 ? 0ms : 1000ms};
    const auto count = [&] { ++called; };
    sync_wait(coracle::when_all(blocking(pool, count), blocking(pool, count), blocking(pool, count)));
  }
  return called;
}
}  // namespace

int main(int argc, char** argv) {
  coracle_test::stress run("blocking", argc, argv, 10'000);
  const int count = run.int_count();
  run.expect("calls on 1 thread", call(1, 10s, count), 8LL * count);
  run.expect("calls on 4 threads", call(4, 10s, count), 8LL * count);
  run.expect("calls on threads that end at once", call(4, 0ms, count / 10), 8LL * (count / 10));
  ends found;
  cancel(count, found);
  run.expect("ends", found.carried_out + found.cancelled, 2LL * count);
  run.expect("called", found.called.load(), found.carried_out.load());
  run.expect("calls of short-lived pools", end_pools(count / 10), 3LL * (count / 10));
  return run.finish();
}
