// tests/stress/pool_shutdown.cpp -- pools that are destroyed at random moments lose nothing.
// SPDX-License-Identifier: MIT
#include <coracle/core/task.hpp>
#include <coracle/exec/static_thread_pool.hpp>

#include <atomic>
#include <random>
#include <thread>

#include "../support/detached.hpp"
#include "../support/stress.hpp"

namespace {
using coracle::static_thread_pool;
using coracle_test::detached;

detached hop(static_thread_pool& pool, unsigned hops, std::atomic<long long>& ended) {
  for (unsigned i = 0; i != hops; ++i) co_await pool.schedule();
  ended.fetch_add(1, std::memory_order_relaxed);
}
detached multiply(static_thread_pool& pool, unsigned children, std::atomic<long long>& ended) {
  co_await pool.schedule();
  for (unsigned i = 0; i != children; ++i) hop(pool, 1 + i % 3, ended);
  ended.fetch_add(1, std::memory_order_relaxed);
}
}  // namespace

int main(int argc, char** argv) {
  coracle_test::stress run("pool_shutdown", argc, argv, 1000);
  std::mt19937 random(1);
  std::atomic<long long> ended{0};
  long long started = 0;
  for (unsigned i = 0; i != run.count(); ++i) {
    static_thread_pool pool{1 + random() % 4};
    const unsigned coroutines = random() % 40, children = i % 10 == 0 ? 600 : random() % 10;
    for (unsigned c = 0; c != coroutines; ++c) hop(pool, random() % 20, ended);
    multiply(pool, children, ended);
    started += coroutines + children + 1;
    for (unsigned pause = random() % 4; pause != 0; --pause) std::this_thread::yield();
  }
  run.expect("coroutines ended", ended.load(), started);
  return run.finish();
}
