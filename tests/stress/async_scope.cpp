// tests/stress/async_scope.cpp -- children spawn, end and fail on many threads while the scope is joined.
// SPDX-License-Identifier: MIT
#include <coracle/compose/as_outcome.hpp>
#include <coracle/compose/with_scope.hpp>
#include <coracle/core/sync_wait.hpp>
#include <coracle/core/task.hpp>
#include <coracle/exec/static_thread_pool.hpp>
#include <coracle/sync/async_manual_reset_event.hpp>
#include <memory>
#include <stdexcept>
#include <vector>

#include "../support/detached.hpp"
#include "../support/stress.hpp"

namespace {
using coracle::async_scope;
using coracle::static_thread_pool;
using coracle::sync_wait;
using coracle::task;
using coracle_test::detached;

/// The end of the last child races with join(), repeatedly. Returns the number of failed joins.
int race_one_join(int most) {
  struct round {
    async_scope scope;
    coracle::resumption parked;
    int written = 0;
    std::atomic<bool> joined{false};
  };
  struct park {
    explicit park(round& at) noexcept : at_(at) {}
    bool await_ready() const noexcept { return false; }
    void await_suspend(std::coroutine_handle<> h) noexcept { at_.parked.handle = h; }
    void await_resume() const noexcept {}
    round& at_;
  };
  std::vector<std::unique_ptr<round>> all(static_cast<std::size_t>(most));
  const auto child = [](round& r) -> task<> {
    co_await park{r};
    r.written = 1;
  };
  const auto join = [](round& r) -> detached {
    co_await r.scope.join();
    r.joined = r.written == 1;
  };
  for (auto& each : all) {
    each = std::make_unique<round>();
    each->scope.spawn(child(*each));
  }
  const int rounds = coracle_test::side_by_side(
      most, [&](int i) { join(*all[static_cast<std::size_t>(i)]); },
      [&](int i) { coracle::resume(all[static_cast<std::size_t>(i)]->parked.handle); });
  int wrong = 0;
  for (int i = 0; i != most; ++i) {
    round& r = *all[static_cast<std::size_t>(i)];
    if (i >= rounds) {
      join(r);
      coracle::resume(r.parked.handle);
    }
    wrong += !r.joined;
  }
  return wrong;
}

/// A tree of children of the given depth: each spawns two, and hops between two pools.
struct tree {
  static_thread_pool first{2}, second{1};
  async_scope scope;
  std::atomic<long long> ended{0};

  task<> grow(int depth) {
    co_await (depth % 2 == 0 ? first : second).schedule();
    if (depth != 0) {
      scope.spawn(grow(depth - 1));
      scope.spawn(grow(depth - 1));
    }
    ++ended;
  }
};
long long grow_tree(int depth) {
  tree all;
  const auto root = [&]() -> task<> {
    all.scope.spawn(all.grow(depth));
    co_await all.scope.join();
  };
  sync_wait(root());
  return all.ended;
}

/// Short-lived scopes on a pool, with children that hop, and occasionally one that fails.
struct totals {
  std::atomic<long long> ended{0};
  std::atomic<long long> failures{0};
};
void short_scopes(int rounds, totals& all) {
  static_thread_pool pool{3};
  const auto child = [&](int number) -> task<> {
    if (number % 2 == 0) co_await pool.schedule();
    ++all.ended;
    if (number % 8 == 0) throw std::runtime_error("one of eight");
  };
  const auto round = [&](int number) -> task<> {
    co_await pool.schedule();
    async_scope scope{coracle::scope_policy::collect_all()};
    for (int i = 0; i != 4; ++i) scope.spawn(child(4 * number + i));
    try {
      co_await scope.join();
    } catch (const std::runtime_error&) {
      ++all.failures;
    }
  };
  async_scope outer;
  for (int i = 0; i != rounds; ++i) outer.spawn(round(i));
  const auto join = [&]() -> task<> { co_await outer.join(); };
  sync_wait(join());
}

/// Scopes whose children fail, are cancelled, have futures that are awaited or dropped, on three threads,
/// some of them stopped from outside: every error made is caught somewhere, and no object of it stays behind.
struct counted_error {
  static inline std::atomic<long long> made{0}, alive{0};
  counted_error() { ++made, ++alive; }
  counted_error(const counted_error&) { ++alive; }
  counted_error& operator=(const counted_error&) = delete;
  ~counted_error() { --alive; }
};
struct account {
  std::atomic<long long> caught{0}, left_over{0};
  void put(const std::exception_ptr& error) {
    try {
      std::rethrow_exception(error);
    } catch (const counted_error&) {
      ++caught;
    } catch (const coracle::error_group& group) {
      for (const auto& each : group.errors()) put(each);
    } catch (const coracle::operation_cancelled&) {
    } catch (...) {
      ++left_over;
    }
  }
};
task<> fail_somewhere(static_thread_pool& pool, coracle::async_manual_reset_event& never, int number) {
  co_await pool.schedule();
  if (number % 3 == 0) throw counted_error();
  bool stopped = false;
  try {
    co_await coracle::throwing(never);
  } catch (const coracle::operation_cancelled&) {
    stopped = true;
  }
  if (stopped && number % 3 == 1) throw counted_error();
}
task<> one_scope(static_thread_pool& pool, account& all, int number) {
  co_await pool.schedule();
  coracle::async_manual_reset_event never;
  const auto body = [&](async_scope& scope) -> task<> {
    for (int i = 0; i != 4; ++i) scope.spawn(fail_somewhere(pool, never, number + i));
    auto dropped = scope.spawn_future(fail_somewhere(pool, never, number));
    auto awaited = scope.spawn_future(fail_somewhere(pool, never, number + 1));
    if (number % 2 == 0) scope.request_stop();
    try {
      co_await std::move(awaited);
    } catch (const counted_error&) {
      ++all.caught;
    }
  };
  try {
    co_await coracle::with_scope(body);
  } catch (...) {
    all.put(std::current_exception());
  }
}
void failing_scopes(int rounds, account& all) {
  static_thread_pool pool{3};
  coracle::async_manual_reset_event none;
  const auto handler = [&](const std::exception_ptr& error) { all.put(error); };
  const auto every = [&](async_scope& scope) -> task<> {
    for (int i = 0; i != rounds; ++i) scope.spawn(one_scope(pool, all, i));
    co_return;
  };
  sync_wait(coracle::with_scope(coracle::scope_policy::supervise(handler), every));
}
}  // namespace

int main(int argc, char** argv) {
  coracle_test::stress run("async_scope", argc, argv, 10'000);
  const long long n = run.int_count();
  run.expect("joins wrong", race_one_join(5 * run.int_count()), 0);
  int depth = 0;
  while (depth < 24 && (2LL << depth) < 8 * n) ++depth;
  run.expect("children in a tree", grow_tree(depth), (2LL << depth) - 1);
  totals all;
  short_scopes(4 * run.int_count(), all);
  run.expect("children in short scopes", all.ended.load(), 16 * n);
  run.expect("scopes that failed", all.failures.load(), 2 * n);
  account errors;
  failing_scopes(run.int_count() / 10 + 1, errors);
  run.expect("errors caught", errors.caught.load(), counted_error::made.load());
  run.expect("errors left", counted_error::alive + errors.left_over, 0);
  return run.finish();
}
