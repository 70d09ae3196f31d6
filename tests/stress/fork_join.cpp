// tests/stress/fork_join.cpp -- fork_join and when_all on a pool, while threads steal from each other.
// SPDX-License-Identifier: MIT
#include <coracle/compose/as_outcome.hpp>
#include <coracle/compose/fork_join.hpp>
#include <coracle/compose/when_all.hpp>
#include <coracle/core/sync_wait.hpp>
#include <coracle/exec/static_thread_pool.hpp>
#include <coracle/sync/async_manual_reset_event.hpp>
#include <stdexcept>
#include <vector>

#include "../support/stress.hpp"

using coracle::static_thread_pool;
using coracle::task;

namespace {
task<long> fork_fibonacci(int n) {
  if (n < 2) co_return n;
  const auto [left, right] = co_await coracle::fork_join(fork_fibonacci(n - 1), fork_fibonacci(n - 2));
  co_return left + right;
}
task<long> when_all_fibonacci(int n) {
  if (n < 2) co_return n;
  auto [left, right] = co_await coracle::when_all(when_all_fibonacci(n - 1), when_all_fibonacci(n - 2));
  co_return left + right;
}
task<int> touch(std::vector<int>& all, std::size_t which) {
  ++all[which];
  co_return all[which];
}
/// Leaves that hop, wait or fail, among others that complete immediately.
task<int> mixed(static_thread_pool& pool, coracle::async_manual_reset_event& event, int depth, int which) {
  if (depth == 0) {
    if (which % 7 == 0) co_await pool.schedule();
    if (which % 11 == 0) co_await event;
    if (which % 13 == 0) event.set();
    if (which % 17 == 0) throw std::runtime_error("leaf");
    co_return 1;
  }
  int sum = 0;
  const auto half = [&](int of) -> task<> {
    auto end = co_await coracle::as_outcome(mixed(pool, event, depth - 1, of));
    if (end.has_value()) __atomic_add_fetch(&sum, end.get(), __ATOMIC_RELAXED);
  };
  co_await coracle::fork_join(half(2 * which), half(2 * which + 1));
  co_return sum;
}
template <class Make>
auto on_pool(static_thread_pool& pool, Make make) -> task<typename decltype(make())::value_type> {
  co_await pool.schedule();
  co_return co_await make();
}
}  // namespace

int main(int argc, char** argv) {
  coracle_test::stress run("fork_join", argc, argv, 20);
  const int rounds = run.int_count();
  long fork_sum = 0, all_sum = 0, once = 0, leaves = 0, wanted_leaves = 0;
  for (const unsigned threads : {1u, 2u, 4u}) {
    static_thread_pool pool{threads};
    for (int round = 0; round != rounds; ++round) {
      fork_sum += coracle::sync_wait(on_pool(pool, [] { return fork_fibonacci(18); }));
      all_sum += coracle::sync_wait(on_pool(pool, [] { return when_all_fibonacci(16); }));

      std::vector<int> seen(5'000);
      std::vector<task<int>> flat;
      for (std::size_t i = 0; i != seen.size(); ++i) flat.push_back(touch(seen, i));
      const auto flat_all = [&]() -> task<int> {
        int ones = 0;
        for (const int count : co_await coracle::when_all(std::move(flat))) ones += count == 1;
        co_return ones;
      };
      once += coracle::sync_wait(on_pool(pool, flat_all));

      coracle::async_manual_reset_event event;
      const auto last = [&]() -> task<int> {
        co_await pool.schedule();
        event.set();
        co_return 0;
      };
      const auto both = [&]() -> task<int> {
        auto [sum, none] = co_await coracle::when_all(mixed(pool, event, 8, 1), last());
        co_return sum + none;
      };
      leaves += coracle::sync_wait(on_pool(pool, both));
      for (int leaf = 256; leaf != 512; ++leaf) wanted_leaves += leaf % 17 != 0;
    }
  }
  const long all_rounds = 3L * rounds;
  run.expect("sum of calls in fork_join", fork_sum, 2584 * all_rounds);
  run.expect("sum of calls in when_all", all_sum, 987 * all_rounds);
  run.expect("children that ran once", once, 5000 * all_rounds);
  run.expect("leaves that gave a value", leaves, wanted_leaves);
  return run.finish();
}
