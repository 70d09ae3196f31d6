// tests/stress/strand.cpp -- coroutines on a strand run one at a time, in order, and none is lost.
// SPDX-License-Identifier: MIT
#include <coracle/compose/when_all.hpp>
#include <coracle/core/sync_wait.hpp>
#include <coracle/core/task.hpp>
#include <coracle/core/yield.hpp>
#include <coracle/exec/static_thread_pool.hpp>
#include <coracle/exec/strand.hpp>
#include <memory>
#include <thread>
#include <vector>

#include "../support/detached.hpp"
#include "../support/stress.hpp"

namespace {
using coracle::static_thread_pool;
using coracle::strand;
using coracle::sync_wait;
using coracle::task;
using coracle_test::detached;

/// Coroutines of a pool increment a plain counter on a strand; some leave the strand in between.
long long count(std::size_t threads, int coroutines, int turns) {
  static_thread_pool pool{threads};
  strand place{pool};
  long long counter = 0;
  const auto work = [&](int me) -> task<> {
    for (int i = 0; i != turns; ++i) {
      co_await place.schedule();
      ++counter;
      if ((i + me) % 5 == 0) co_await pool.schedule();
      if ((i + me) % 7 == 0) co_await coracle::this_task::yield();
    }
  };
  std::vector<task<>> all;
  for (int i = 0; i != coroutines; ++i) all.push_back(work(i));
  sync_wait(coracle::when_all(std::move(all)));
  return counter;
}

/// Plain threads post numbers to a strand: those of each thread run in order.
struct order {
  long long ran = 0, wrong = 0;
};
order post_in_order(int posts) {
  constexpr int threads = 3;
  order found;
  static_thread_pool pool{2};
  strand place{pool};
  int last[threads] = {-1, -1, -1};
  const auto enter = [&](int thread, int number) -> detached {
    co_await place.schedule();
    ++found.ran;
    if (number != last[thread] + 1) ++found.wrong;
    last[thread] = number;
  };
  std::vector<std::thread> all;
  for (int t = 0; t != threads; ++t) {
    all.emplace_back([&, t] {
      for (int i = 0; i != posts; ++i) enter(t, i);
    });
  }
  for (std::thread& each : all) each.join();
  const auto last_of_all = [&]() -> task<> { co_await place.schedule(); };
  sync_wait(last_of_all());
  return found;
}

/// A coroutine enters a strand of its own, leaves it and destroys it, while the run that resumed it ends.
long long leave_and_destroy(int rounds) {
  static_thread_pool pool{2}, other{1};
  std::atomic<long long> destroyed{0};
  const auto work = [&]() -> task<> {
    for (int i = 0; i != rounds; ++i) {
      auto place = std::make_unique<strand>(pool);
      co_await place->schedule();
      co_await other.schedule();
      place.reset();
      ++destroyed;
    }
  };
  sync_wait(coracle::when_all(work(), work()));
  return destroyed;
}

/// Posts at every step of the strand's way to being idle.
long long post_while_it_ends(int posts) {
  static_thread_pool pool{1};
  strand place{pool};
  std::atomic<int> answered{0};
  const auto answer = [&](int number) -> detached {
    co_await place.schedule();
    answered.store(number + 1, std::memory_order_release);
  };
  coracle_test::post_one_by_one(posts, 2'000, answered, answer);
  const auto last_of_all = [&]() -> task<> { co_await place.schedule(); };
  sync_wait(last_of_all());
  return answered;
}
}  // namespace

int main(int argc, char** argv) {
  coracle_test::stress run("strand", argc, argv, 100'000);
  const int turns = run.int_count();
  run.expect("turns of 4 on 2 threads", count(2, 4, turns), 4LL * turns);
  run.expect("turns of 100 on 4 threads", count(4, 100, turns / 20), 100LL * (turns / 20));
  const order found = post_in_order(turns);
  run.expect("posts in order", found.ran, 3LL * turns);
  run.expect("out of order", found.wrong, 0);
  run.expect("destroyed", leave_and_destroy(turns / 10), 2LL * (turns / 10));
  run.expect("single posts", post_while_it_ends(turns), turns);
  return run.finish();
}
