// tests/stress/when_all.cpp -- random trees of when_all on a pool, with values, exceptions and waits.
// SPDX-License-Identifier: MIT
#include <atomic>
#include <coracle/compose/via.hpp>
#include <coracle/compose/when_all.hpp>
#include <coracle/core/sync_wait.hpp>
#include <coracle/core/task.hpp>
#include <coracle/exec/static_thread_pool.hpp>
#include <coracle/sync/async_manual_reset_event.hpp>
#include <coracle/sync/async_mutex.hpp>
#include <random>
#include <stdexcept>
#include <vector>

#include "../support/stress.hpp"

namespace {
using coracle::static_thread_pool;
using coracle::task;
using coracle::when_all;
using coracle::when_all_ready;

struct world {
  static_thread_pool first{2}, second{1};
  coracle::async_mutex mutex;
  long long leaves = 0;        // plain: under the mutex
  std::atomic<int> astray{0};  ///< joins that continued on another executor than they had suspended on
};

struct leaf_failed : std::runtime_error {
  leaf_failed() : std::runtime_error("a leaf failed") {}
};

/// The expected result of a tree, computed without coroutines from the same seed.
struct expected {
  long long leaves = 0;
  bool fails = false;
};

constexpr unsigned kinds = 7;
std::vector<unsigned> child_seeds(unsigned seed) {
  std::minstd_rand random(seed + 1);
  std::vector<unsigned> seeds(1 + random() % 4);
  for (unsigned& each : seeds) each = static_cast<unsigned>(random() >> 3);
  return seeds;
}
bool fails(unsigned seed) { return seed % 61 == 0; }

expected expect_tree(unsigned seed, int depth) {
  if (depth == 0) return {1, fails(seed)};
  expected sum;
  for (const unsigned each : child_seeds(seed)) {
    const expected child = expect_tree(each, depth - 1);
    sum.leaves += child.leaves;
    sum.fails = sum.fails || child.fails;
  }
  return sum;
}

task<int> leaf(world& w, unsigned seed) {
  switch (seed % kinds) {
    case 0:
      co_await w.first.schedule();
      break;
    case 1:
      co_await w.second.schedule();
      break;
    case 2:
      co_await w.first.schedule();
      co_await w.second.schedule();
      break;
    default:
      break;  // ends at once
  }
  {
    const auto lock = co_await w.mutex.scoped_lock_async();
    ++w.leaves;
  }
  if (fails(seed)) throw leaf_failed();
  co_return 1;
}

/// Returns the number of leaves below. Throws if one of them failed.
task<int> tree(world& w, unsigned seed, int depth) {
  if (depth == 0) {
    const int one = co_await leaf(w, seed);
    co_return one;
  }
  if (seed % 3 == 0) co_await w.first.schedule();
  if (seed % 3 == 1) co_await w.second.schedule();
  const coracle::executor* const home = coracle::current_executor();
  std::vector<task<int>> children;
  for (const unsigned each : child_seeds(seed)) children.push_back(tree(w, each, depth - 1));
  int sum = 0;
  if (seed % 2 == 0) {
    const auto results = co_await when_all(std::move(children));
    for (const int each : results) sum += each;
  } else {
    auto ends = co_await when_all_ready(std::move(children));
    for (auto& each : ends) sum += std::move(each).get();
  }
  if (home != coracle::current_executor()) ++w.astray;
  co_return sum;
}

/// Two threads end the last two children of the same join at the same time.
task<int> meet(world& w, int turns) {
  coracle::async_manual_reset_event open{true};
  int meetings = 0;
  for (int i = 0; i != turns; ++i) {
    co_await when_all(w.first.schedule(), w.second.schedule(), open);
    ++meetings;
  }
  co_return meetings;
}
}  // namespace

int main(int argc, char** argv) {
  coracle_test::stress run("when_all", argc, argv, 2'000);
  world w;
  long long leaves = 0, sums = 0, right_sums = 0, failures = 0, right_failures = 0;
  for (unsigned seed = 0; seed != run.count(); ++seed) {
    const expected right = expect_tree(seed, 4);
    const long long before = w.leaves;
    right_sums += right.fails ? 0 : right.leaves;
    right_failures += right.fails;
    try {
      sums += coracle::sync_wait(tree(w, seed, 4));
    } catch (const leaf_failed&) {
      ++failures;
    } catch (const coracle::error_group&) {
      ++failures;
    }
    // A failure stops others before or while they reach a leaf.
    if (!right.fails) leaves += w.leaves - before;
  }
  run.expect("leaves", leaves, right_sums);
  run.expect("summed up", sums, right_sums);
  run.expect("failures", failures, right_failures);
  run.expect("astray", w.astray.load(), 0);
  const auto [outside, on_pool] = coracle::sync_wait(
      when_all(meet(w, run.int_count()), coracle::schedule_on(meet(w, run.int_count()), w.first)));
  run.expect("meetings", outside + on_pool, 2LL * run.count());
  return run.finish();
}
