// bench/cppcoro/programs.cpp -- programs for cppcoro's interface, compiled against compat/ and against
// cppcoro.
// SPDX-License-Identifier: MIT
#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cppcoro/async_scope.hpp>
#include <cppcoro/schedule_on.hpp>
#include <cppcoro/static_thread_pool.hpp>
#include <cppcoro/sync_wait.hpp>
#include <cppcoro/task.hpp>
#include <cppcoro/when_all.hpp>
#include <cppcoro/when_all_ready.hpp>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <utility>
#include <vector>

namespace {
using cppcoro::static_thread_pool;
using cppcoro::sync_wait;
using cppcoro::task;
using cppcoro::when_all;

// ---- trees of calls that each go through the scheduler ----

task<long> tree(static_thread_pool& pool, long leaves) {
  co_await pool.schedule();
  if (leaves == 1) co_return 1;
  auto [left, right] = co_await when_all(tree(pool, leaves / 2), tree(pool, leaves - leaves / 2));
  co_return left + right;
}
task<long> tree_on(static_thread_pool& pool, long leaves) {
  if (leaves == 1) co_return 1;
  auto [left, right] = co_await when_all(cppcoro::schedule_on(pool, tree_on(pool, leaves / 2)),
                                         cppcoro::schedule_on(pool, tree_on(pool, leaves - leaves / 2)));
  co_return left + right;
}
task<long> fib(static_thread_pool& pool, int n) {
  co_await pool.schedule();
  if (n < 2) co_return n;
  auto [left, right] = co_await when_all(fib(pool, n - 1), fib(pool, n - 2));
  co_return left + right;
}
task<long> skynet(static_thread_pool& pool, long first, long leaves) {
  co_await pool.schedule();
  if (leaves == 1) co_return first;
  std::vector<task<long>> children;
  children.reserve(10);
  for (long i = 0; i != 10; ++i) children.push_back(skynet(pool, first + i * (leaves / 10), leaves / 10));
  long sum = 0;
  for (const long each : co_await when_all(std::move(children))) sum += each;
  co_return sum;
}
using board = std::array<signed char, 16>;
bool is_safe(const board& columns, int row, int column) {
  for (int i = 0; i != row; ++i)
    if (columns[i] == column || std::abs(columns[i] - column) == row - i) return false;
  return true;
}
task<long> queens(static_thread_pool& pool, int n, int row, board columns) {
  co_await pool.schedule();
  if (row == n) co_return 1;
  std::vector<task<long>> children;
  for (int column = 0; column != n; ++column) {
    if (!is_safe(columns, row, column)) continue;
    columns[row] = static_cast<signed char>(column);
    children.push_back(queens(pool, n, row + 1, columns));
  }
  long sum = 0;
  for (const long each : co_await when_all(std::move(children))) sum += each;
  co_return sum;
}

// ---- scopes ----

task<> in_scopes(static_thread_pool& pool, long leaves, long& sum) {
  co_await pool.schedule();
  if (leaves == 1) {
    sum = 1;
    co_return;
  }
  long left = 0, right = 0;
  cppcoro::async_scope scope;
  scope.spawn(in_scopes(pool, leaves / 2, left));
  scope.spawn(in_scopes(pool, leaves - leaves / 2, right));
  co_await scope.join();
  sum = left + right;
}
task<> spawn_all(static_thread_pool& pool, long n, std::atomic<long>& sum) {
  co_await pool.schedule();
  cppcoro::async_scope scope;
  const auto add = [](static_thread_pool& to, std::atomic<long>& all) -> task<> {
    co_await to.schedule();
    all.fetch_add(1, std::memory_order_relaxed);
  };
  for (long i = 0; i != n; ++i) scope.spawn(add(pool, sum));
  co_await scope.join();
}

// ---- hops; large frames ----

task<> hop(static_thread_pool& pool, long n) {
  for (long i = 0; i != n; ++i) co_await pool.schedule();
}
constexpr int size = 1024;
using matrix = std::vector<double>;
/// One task for each row and each 64 columns.
task<> product(static_thread_pool& pool, const matrix& a, const matrix& b, matrix& c, int row, int from) {
  co_await pool.schedule();
  for (int k = 0; k != size; ++k)
    for (int j = from; j != from + 64; ++j) c[row * size + j] += a[row * size + k] * b[k * size + j];
}
task<> products(static_thread_pool& pool, const matrix& a, const matrix& b, matrix& c) {
  std::vector<task<>> all;
  for (int row = 0; row != size; ++row)
    for (int from = 0; from != size; from += 64) all.push_back(product(pool, a, b, c, row, from));
  co_await cppcoro::when_all_ready(std::move(all));
}
using large = std::array<char, 10240>;
task<long> with_locals(static_thread_pool& pool, int i) {
  volatile char locals[sizeof(large)];
  locals[0] = static_cast<char>(i % 100);
  locals[sizeof locals - 1] = 1;
  co_await pool.schedule();
  co_return locals[0] + locals[sizeof locals - 1];
}
[[gnu::noinline]] task<large> result_of(int level) {
  if (level == 0) co_return large{};
  large result = co_await result_of(level - 1);
  ++result[0];
  co_return result;
}
task<long> results_of(long n) {
  long sum = 0;
  for (long i = 0; i != n; ++i) {
    const large result = co_await result_of(10);
    sum += result[0];
  }
  co_return sum;
}

double milliseconds() {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}
long run(std::string_view name, unsigned threads) {
  static_thread_pool pool{threads};
  if (name == "tree") return sync_wait(tree(pool, 1 << 20));
  if (name == "tree_on") return sync_wait(tree_on(pool, 1 << 20));
  if (name == "fib") return sync_wait(fib(pool, 30));
  if (name == "skynet") return sync_wait(skynet(pool, 0, 1'000'000));
  if (name == "queens") return sync_wait(queens(pool, 11, 0, {}));
  if (name == "hop") {
    sync_wait(hop(pool, 10'000'000));
    return 0;
  }
  if (name == "scopes") {
    long sum = 0;
    sync_wait(in_scopes(pool, 1 << 20, sum));
    return sum;
  }
  if (name == "spawn") {
    std::atomic<long> sum{0};
    sync_wait(spawn_all(pool, 1'000'000, sum));
    return sum;
  }
  if (name == "matrix") {
    const matrix a(size * size, 1), b(size * size, 2);
    matrix c(size * size);
    sync_wait(products(pool, a, b, c));
    return static_cast<long>(c[size + 1]);
  }
  if (name == "locals") {
    long sum = 0;
    for (int wave = 0; wave != 20; ++wave) {
      std::vector<task<long>> all;
      for (int i = 0; i != 1000; ++i) all.push_back(with_locals(pool, i));
      for (const long each : sync_wait(when_all(std::move(all)))) sum += each;
    }
    return sum;
  }
  if (name == "result") return sync_wait(results_of(20'000));
  std::fprintf(stderr, "programs: there is no program %.*s\n", static_cast<int>(name.size()), name.data());
  std::exit(2);
}
}  // namespace

/// programs NAME THREADS: prints milliseconds, MiB of peak memory and the result.
int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const double start = milliseconds();
  const long result = run(argv[1], static_cast<unsigned>(std::atoi(argv[2])));
  const double time = milliseconds() - start;
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  std::printf("%.1f %.1f %ld\n", time, static_cast<double>(used.ru_maxrss) / 1024, result);
}
