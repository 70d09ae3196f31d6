// tests/stress/latch.cpp -- many threads count down while others wait, then destroy the latch.
// SPDX-License-Identifier: MIT
#include <atomic>
#include <coracle/core/with_environment.hpp>
#include <coracle/exec/static_thread_pool.hpp>
#include <coracle/sync/async_latch.hpp>
#include <memory>
#include <thread>
#include <vector>

#include "../support/detached.hpp"
#include "../support/stop_race.hpp"
#include "../support/stress.hpp"

namespace {
using coracle::async_latch;
using coracle::static_thread_pool;
using coracle_test::detached;

struct totals {
  std::atomic<long long> woken{0};
  std::atomic<long long> stale{0};  ///< went on without seeing what was written before a count_down()
};

/// One latch of a chain: each of its workers writes, and counts down.
struct link {
  explicit link(int workers) : latch(workers), written(static_cast<std::size_t>(workers)) {}
  void finish(std::size_t worker) {
    written[worker] = 1;
    latch.count_down();
  }
  async_latch latch;
  std::vector<int> written;
  std::atomic<std::size_t> left{0};
};

/// Coroutines of a pool and of two plain threads wait at each latch of a chain; the last one to leave a latch
/// destroys it. Two more threads count down and never wait.
void run_through_chain(int links, totals& all) {
  constexpr std::size_t on_pool = 4, waiting = 8, workers = 10;
  std::vector<std::unique_ptr<link>> chain;
  for (int i = 0; i != links; ++i) chain.push_back(std::make_unique<link>(static_cast<int>(workers)));
  const auto run = [&](static_thread_pool* pool, std::size_t me) -> detached {
    if (pool) co_await pool->schedule();
    for (auto& each : chain) {
      each->finish(me);
      co_await each->latch;
      for (const int one : each->written) all.stale += one != 1;
      ++all.woken;
      if (each->left.fetch_add(1) == waiting - 1) each.reset();
    }
  };
  static_thread_pool pool{2};
  for (std::size_t i = 0; i != on_pool; ++i) run(&pool, i);
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t != 2; ++t) {
    threads.emplace_back([&, t] {
      for (std::size_t i = on_pool + t; i < waiting; i += 2) run(nullptr, i);
    });
    threads.emplace_back([&, t] {
      for (auto& each : chain) each->finish(waiting + t);
    });
  }
  for (std::thread& each : threads) each.join();
}

struct raced {
  int written[2] = {};
  std::unique_ptr<async_latch> latch;
};

void destroy(raced& each, int sum, totals& all) {
  each.latch.reset();
  if (each.written[0] + each.written[1] != sum) ++all.stale;
  ++all.woken;
}
detached wait_and_destroy(raced& each, int sum, totals& all) {
  co_await *each.latch;
  destroy(each, sum, all);
}

/// The last count_down() races with a waiter, or with a thread that calls is_ready(); either then destroys
/// the latch. Returns the number of failures.
long long race_one_count(int most) {
  std::vector<raced> rounds(static_cast<std::size_t>(most));
  for (raced& each : rounds) each.latch = std::make_unique<async_latch>(1);
  totals all;
  const auto wait_or_look = [&](int i) {
    raced& each = rounds[static_cast<std::size_t>(i)];
    if (i % 2 == 0) return static_cast<void>(wait_and_destroy(each, 1, all));
    while (!each.latch->is_ready()) std::this_thread::yield();
    destroy(each, 1, all);
  };
  const int done = coracle_test::side_by_side(most, wait_or_look, [&](int i) {
    raced& each = rounds[static_cast<std::size_t>(i)];
    each.written[0] = 1;
    each.latch->count_down();
  });
  return done - all.woken + all.stale;
}

/// Two concurrent count_down(), and a waiter that destroys the latch as soon as it is woken. Returns the
/// number of failures.
long long race_two_counts(int most) {
  std::vector<raced> rounds(static_cast<std::size_t>(most));
  totals all;
  for (raced& each : rounds) {
    each.latch = std::make_unique<async_latch>(2);
    wait_and_destroy(each, 2, all);
  }
  const auto count = [&](int i, int side) {
    raced& each = rounds[static_cast<std::size_t>(i)];
    each.written[side] = 1;
    each.latch->count_down();
  };
  const int done = coracle_test::side_by_side(most, [&](int i) { count(i, 0); }, [&](int i) { count(i, 1); });
  const long long wrong = done - all.woken + all.stale;
  for (int i = done; i != most; ++i) {
    count(i, 0);
    count(i, 1);
  }
  return wrong;
}

/// The last count_down() races with a stop request for one of two waiters; the last to resume destroys the
/// latch.
struct count_round : coracle_test::two_waiters {
  count_round() {
    wait(stop.get_token(), *this, first);
    wait({}, *this, second);
  }
  static coracle_test::stoppable wait(coracle::stop_token, count_round& round,
                                      std::atomic<coracle_test::ended>& how) {
    bool cancelled = false;
    try {
      co_await *round.latch;
    } catch (const coracle::operation_cancelled&) {
      cancelled = true;
    }
    if (round.left.fetch_sub(1) == 1) round.latch.reset();
    how = cancelled ? coracle_test::ended::cancelled : coracle_test::ended::carried_out;
  }
  void complete() { latch->count_down(); }
  void finish() {}
  [[nodiscard]] bool right() const {
    return first != coracle_test::ended::not_yet && second == coracle_test::ended::carried_out && !latch;
  }
  std::unique_ptr<async_latch> latch = std::make_unique<async_latch>(1);
  std::atomic<int> left{2};
};
}  // namespace

int main(int argc, char** argv) {
  coracle_test::stress run("latch", argc, argv, 20'000);
  totals all;
  run_through_chain(run.int_count(), all);
  run.expect("passes", all.woken.load(), 8LL * run.count());
  run.expect("stale reads", all.stale.load(), 0);
  run.expect("single counts wrong", race_one_count(10 * run.int_count()), 0);
  run.expect("pairs of counts wrong", race_two_counts(10 * run.int_count()), 0);
  run.expect("stops against the last count_down() wrong",
             coracle_test::race_a_stop<count_round>(run.int_count()), 0);
  return run.finish();
}
