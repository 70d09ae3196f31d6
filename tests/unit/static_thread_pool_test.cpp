// tests/unit/static_thread_pool_test.cpp -- a pool of threads that share their work.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <atomic>
#include <coracle/compose/async_scope.hpp>
#include <coracle/compose/fork_join.hpp>
#include <coracle/compose/via.hpp>
#include <coracle/compose/when_all.hpp>
#include <coracle/core/sync_wait.hpp>
#include <coracle/core/task.hpp>
#include <coracle/core/yield.hpp>
#include <coracle/exec/run_loop.hpp>
#include <coracle/exec/static_thread_pool.hpp>
#include <coracle/sync/async_manual_reset_event.hpp>
#include <coracle/testing/allocations.hpp>
#include <cstdlib>
#include <latch>
#include <mutex>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "../support/abort_message.hpp"
#include "../support/detached.hpp"

namespace {
using coracle::static_thread_pool;
using coracle::sync_wait;
using coracle::task;
using coracle::when_all;
using coracle_test::detached;

detached count_on(static_thread_pool& pool, std::latch& ran) {
  co_await pool.schedule();
  ran.count_down();
}

TEST_CASE("static_thread_pool: schedule() moves onto a thread of the pool, and the coroutine stays there") {
  for (const std::size_t threads : {1u, 2u, 5u}) {
    static_thread_pool pool{threads};
    CHECK(pool.thread_count() == threads);
    coracle::async_manual_reset_event set{true};
    bool moved = false, on_pool = false, still_on_pool = false;
    const auto work = [&, caller = std::this_thread::get_id()]() -> task<> {
      co_await pool.schedule();
      moved = std::this_thread::get_id() != caller;
      on_pool = coracle::current_executor() == &pool;
      co_await set;
      still_on_pool = coracle::current_executor() == &pool;
    };
    sync_wait(work());
    CHECK(moved);
    CHECK(on_pool);
    CHECK(still_on_pool);
    CHECK(coracle::current_executor() == nullptr);
  }
}

TEST_CASE("static_thread_pool: by default it has at least one thread") {
  static_thread_pool pool;
  CHECK(pool.thread_count() >= 1);
}

TEST_CASE("static_thread_pool: a waiter on the pool resumes on the pool, whoever wakes it") {
  static_thread_pool pool{1};
  coracle::async_manual_reset_event event;
  const coracle::executor* resumed_on = nullptr;
  std::thread::id before, after;
  const auto wait = [&]() -> task<> {
    co_await pool.schedule();
    before = std::this_thread::get_id();
    co_await event;
    after = std::this_thread::get_id();
    resumed_on = coracle::current_executor();
  };
  std::latch waiting{1}, ended{1};
  const auto work = [&]() -> detached {
    co_await wait();
    ended.count_down();
  };
  work();
  count_on(pool, waiting);
  waiting.wait();  // the one thread has suspended the waiter by now
  event.set();
  ended.wait();
  CHECK(resumed_on == &pool);
  CHECK(before == after);
  CHECK(before != std::this_thread::get_id());
}

TEST_CASE("static_thread_pool: all threads work at the same time") {
  constexpr int threads = 4;
  static_thread_pool pool{threads};
  std::latch all_here{threads};
  std::mutex mutex;
  std::set<std::thread::id> ids;
  const auto meet = [&]() -> task<> {
    co_await pool.schedule();
    {
      const std::lock_guard lock(mutex);
      ids.insert(std::this_thread::get_id());
    }
    all_here.arrive_and_wait();
  };
  sync_wait(when_all(meet(), meet(), meet(), meet()));
  CHECK(ids.size() == threads);
  CHECK(ids.count(std::this_thread::get_id()) == 0);
}

TEST_CASE("static_thread_pool: work queued behind a busy thread is taken by another one") {
  static_thread_pool pool{2};
  std::latch stolen{100};
  const auto stay_busy = [&]() -> task<> {
    co_await pool.schedule();
    for (int i = 0; i != 100; ++i) count_on(pool, stolen);
    stolen.wait();  // this thread runs nothing else meanwhile
  };
  sync_wait(stay_busy());
  CHECK(stolen.try_wait());
}

/// While the owner takes entries before the other thread can, that thread naps, and is not woken for a lone
/// entry.
TEST_CASE(
    "static_thread_pool: one alone behind a busy thread is taken, also where the other has come too late for "
    "many") {
  static_thread_pool pool{2};
  int taken = 0;
  const auto hand_over_and_stay_busy = [&]() -> task<> {
    for (int round = 0; round != 10; ++round) {
      for (int i = 0; i != 20'000; ++i) co_await pool.schedule();
      std::latch stolen{1};
      count_on(pool, stolen);
      stolen.wait();
      ++taken;
    }
  };
  sync_wait(hand_over_and_stay_busy());
  CHECK(taken == 10);
}

TEST_CASE("static_thread_pool: work from outside reaches the free thread though the other is busy") {
  static_thread_pool pool{2};
  std::latch ran{100}, busy{1};
  const auto stay_busy = [&]() -> task<> {
    co_await pool.schedule();
    busy.count_down();
    ran.wait();
  };
  const auto post = [&]() -> task<> {
    busy.wait();
    for (int i = 0; i != 100; ++i) count_on(pool, ran);
    co_return;
  };
  sync_wait(when_all(stay_busy(), post()));
  CHECK(ran.try_wait());
}

TEST_CASE("static_thread_pool: more work than a thread's own queue holds is neither lost nor stuck") {
  for (const std::size_t threads : {1u, 2u}) {
    static_thread_pool pool{threads};
    std::latch ran{5000};
    const auto post = [&]() -> task<> {
      co_await pool.schedule();
      for (int i = 0; i != 5000; ++i) count_on(pool, ran);
    };
    sync_wait(post());
    ran.wait();
    CHECK(ran.try_wait());
  }
}

TEST_CASE("static_thread_pool: with one thread two coroutines that reschedule themselves alternate") {
  static_thread_pool pool{1};
  std::string log;
  int begun = 0;
  const auto hop = [&](char name) -> task<> {
    // A coroutine that calls schedule() for the first time waits on the thread's stack, and one that calls it
    // again in its queue: which of the two has its turn next depends on time.
    co_await pool.schedule();
    ++begun;
    while (begun != 2) co_await pool.schedule();
    for (int i = 0; i != 5; ++i) {
      co_await pool.schedule();
      log += name;
    }
  };
  const auto work = [&]() -> task<> {
    co_await pool.schedule();
    co_await when_all(hop('a'), hop('b'));
  };
  sync_wait(work());
  CHECK(log.size() == 10);
  CHECK(log.find("aaa") == std::string::npos);
  CHECK(log.find("bbb") == std::string::npos);
}

/// A tree whose every call goes through the pool, and the maximum number of active calls.
struct scheduled_tree {
  static_thread_pool& pool;
  std::atomic<int> calls{0}, most_calls{0}, leaves{0};

  struct counted {
    explicit counted(scheduled_tree& its_tree) : tree(its_tree) {
      const int now = ++tree.calls;
      int most = tree.most_calls;
      while (now > most && !tree.most_calls.compare_exchange_weak(most, now)) {
      }
    }
    counted(const counted&) = delete;
    counted& operator=(const counted&) = delete;
    ~counted() { --tree.calls; }
    scheduled_tree& tree;
  };
  /// One leaf in 16 gives way to others, as any coroutine does once its turn has been long. The pool then
  /// runs what is on the stack: the start of the leaf's sibling.
  task<int> leaf() {
    if (++leaves % 16 == 0) co_await coracle::this_task::yield();
    co_return 1;
  }
  task<int> leaves_by_schedule(int depth) {
    const counted me{*this};
    co_await pool.schedule();
    if (depth == 0) co_return co_await leaf();
    auto [a, b] = co_await when_all(leaves_by_schedule(depth - 1), leaves_by_schedule(depth - 1));
    co_return a + b;
  }
  task<int> leaves_by_schedule_on(int depth) {
    const counted me{*this};
    if (depth == 0) co_return co_await leaf();
    auto [a, b] = co_await when_all(coracle::schedule_on(leaves_by_schedule_on(depth - 1), pool),
                                    coracle::schedule_on(leaves_by_schedule_on(depth - 1), pool));
    co_return a + b;
  }
  task<int> leaves_by_fork(int depth) {
    const counted me{*this};
    co_await pool.schedule();
    if (depth == 0) co_return co_await leaf();
    auto [a, b] = co_await coracle::fork_join(leaves_by_fork(depth - 1), leaves_by_fork(depth - 1));
    co_return a + b;
  }
  task<int> leaves_by_spawn(int depth) {
    const counted me{*this};
    if (depth == 0) co_return co_await leaf();
    coracle::async_scope scope;
    int left = 0, right = 0;
    const auto count = [&](int& sum) -> task<> { sum = co_await leaves_by_spawn(depth - 1); };
    scope.spawn(pool, count(left));
    scope.spawn(pool, count(right));
    co_await scope.join();
    co_return left + right;
  }
};
TEST_CASE("static_thread_pool: a tree that schedules each of its calls unfolds depth first") {
  constexpr int depth = 14, leaves = 1 << depth;
  for (const std::size_t threads : {1u, 2u}) {
    static_thread_pool pool{threads};
    for (const auto walk : {&scheduled_tree::leaves_by_schedule, &scheduled_tree::leaves_by_schedule_on,
                            &scheduled_tree::leaves_by_fork, &scheduled_tree::leaves_by_spawn}) {
      scheduled_tree tree{pool};
      CHECK(sync_wait(coracle::schedule_on((tree.*walk)(depth), pool)) == leaves);
      // Some 50 per thread. Breadth first, it would be all of them; a busy machine adds one path of 14 calls
      // every 10 ms, because the oldest entry ages.
      CHECK(tree.most_calls <= leaves / 16);
    }
  }
}

/// Children that schedule themselves, and how many of them are started before the previous one has ended.
struct children_in_order {
  static_thread_pool& pool;
  int started = 0, ended = 0, too_early = 0;

  task<> child() {
    too_early += ended != started++;
    co_await pool.schedule();
    ++ended;
  }
  task<> await_all(int count) {
    std::vector<task<>> children;
    for (int i = 0; i != count; ++i) children.push_back(child());
    co_await when_all(std::move(children));
  }
  task<> fork_all(int count) {
    if (count == 1) co_return co_await child();
    co_await coracle::fork_join(child(), fork_all(count - 1));
  }
};
TEST_CASE("static_thread_pool: each child that schedules itself ends before the next is started") {
  for (const auto start : {&children_in_order::await_all, &children_in_order::fork_all}) {
    static_thread_pool pool{1};
    children_in_order children{pool};
    const auto work = [&]() -> task<> {
      co_await pool.schedule();
      for (int round = 0; round != 300; ++round) co_await (children.*start)(10);
    };
    sync_wait(work());
    CHECK(children.ended == 3000);
    CHECK(children.too_early == 0);
  }
}

TEST_CASE(
    "static_thread_pool: a coroutine that reschedules itself 10000 times lets in another of its thread") {
  static_thread_pool pool{1};
  int turns_before_other = -1, turns = 0;
  const auto other = [&]() -> detached {
    co_await pool.schedule();
    turns_before_other = turns;
  };
  const auto reschedule = [&]() -> task<> { co_await pool.schedule(); };
  const auto work = [&](bool by_child) -> task<> {
    co_await pool.schedule();
    other();
    for (turns = 0; turns != 10000; ++turns) {
      if (by_child) {
        co_await reschedule();
      } else {
        co_await pool.schedule();
      }
    }
  };
  for (const bool by_child : {false, true}) {
    sync_wait(work(by_child));
    CHECK(std::exchange(turns_before_other, -1) == 0);
  }
}

TEST_CASE("static_thread_pool: a coroutine that reschedules itself lets in those from outside") {
  static_thread_pool pool{1};
  std::latch started{1}, posted{1};
  int others = 0;
  const auto other = [&]() -> detached {
    co_await pool.schedule();
    ++others;
  };
  const auto hop = [&]() -> task<> {
    co_await pool.schedule();
    started.count_down();
    posted.wait();  // from here on the pool always has work of its own
    for (int turns = 0; turns != 5'000'000 && others != 10; ++turns) co_await pool.schedule();
  };
  std::thread outside([&] {
    started.wait();
    for (int i = 0; i != 10; ++i) other();
    posted.count_down();
  });
  sync_wait(hop());
  outside.join();
  CHECK(others == 10);
}

TEST_CASE("static_thread_pool: the destructor runs what is queued, and what that posts, to its end") {
  for (const std::size_t threads : {1u, 2u, 3u}) {
    std::atomic<int> ended{0};
    const auto hop = [&](static_thread_pool& pool) -> detached {
      for (int i = 0; i != 3; ++i) co_await pool.schedule();
      ++ended;
    };
    {
      static_thread_pool pool{threads};
      for (int i = 0; i != 2000; ++i) hop(pool);
    }
    CHECK(ended == 2000);
  }
}

TEST_CASE("static_thread_pool: a coroutine goes to another pool, and both know their own") {
  static_thread_pool first{1}, second{1};
  std::vector<const coracle::executor*> places;
  const auto travel = [&]() -> task<> {
    for (int i = 0; i != 2; ++i) {
      co_await first.schedule();
      places.push_back(coracle::current_executor());
      co_await second.schedule();
      places.push_back(coracle::current_executor());
    }
  };
  sync_wait(travel());
  CHECK(places == std::vector<const coracle::executor*>{&first, &second, &first, &second});
}

TEST_CASE("static_thread_pool: hops and wake-ups on the pool allocate nothing" *
          doctest::skip(!coracle::testing::allocations_are_counted)) {
  static_thread_pool pool{1};
  std::size_t before = 0, after = 1;
  const auto work = [&]() -> task<> {
    coracle::async_manual_reset_event event;
    co_await pool.schedule();
    const auto set = [&]() -> detached {
      co_await pool.schedule();
      event.set();
    };
    set();
    before = coracle::testing::allocations();
    co_await event;
    for (int i = 0; i != 1000; ++i) co_await pool.schedule();
    after = coracle::testing::allocations();
  };
  sync_wait(work());
  CHECK(after == before);
}

task<> leave_on_a_pool_of_its_own() {
  static_thread_pool pool{1};
  co_await pool.schedule();
}
TEST_CASE("static_thread_pool: to destroy it on its own thread ends the program with one line") {
  CHECK(coracle_test::abort_message([] { sync_wait(leave_on_a_pool_of_its_own()); }) ==
        "coracle: deadlock: a static_thread_pool was destroyed on one of its own threads: destroy it on a "
        "thread outside it\n");
}

TEST_CASE("static_thread_pool: std::exit() on a thread of one that is a static object does so, too") {
  CHECK(coracle_test::abort_message([] {
          static static_thread_pool pool{1};
          const auto leave = []() -> task<> {
            co_await pool.schedule();
            std::exit(0);
          };
          sync_wait(leave());
        }) ==
        "coracle: deadlock: a static_thread_pool was destroyed on one of its own threads: destroy it on a "
        "thread outside it\n");
}

// The static guarantees of the header.
static_assert(coracle::scheduler<static_thread_pool>);
static_assert(!std::is_copy_constructible_v<static_thread_pool> &&
              !std::is_move_constructible_v<static_thread_pool>);
static_assert(noexcept(std::declval<static_thread_pool&>().schedule()) &&
              noexcept(std::declval<const static_thread_pool&>().thread_count()) &&
              noexcept(std::declval<static_thread_pool&>().post(std::declval<coracle::resumption&>())));

/// A tree that runs depth first, so that coroutines scheduled before it would run last.
task<> tree_until(static_thread_pool& pool, const bool& over, int depth, long& calls) {
  co_await pool.schedule();
  ++calls;
  if (over || depth == 0) co_return;
  co_await when_all(tree_until(pool, over, depth - 1, calls), tree_until(pool, over, depth - 1, calls));
}
TEST_CASE(
    "static_thread_pool: the oldest of what a thread has scheduled does not wait for all that is newer") {
  constexpr int far_too_deep = 40;
  static_thread_pool pool{1};
  bool ran = false;
  long calls = 0;
  const auto note = [&]() -> task<> {
    ran = true;
    co_return;
  };
  const auto work = [&]() -> task<> {
    co_await pool.schedule();
    coracle::async_scope scope;
    scope.spawn(pool, note());
    co_await tree_until(pool, ran, far_too_deep, calls);
    co_await scope.join();
  };
  sync_wait(work());
  CHECK(ran);
  CHECK(calls > 256);  // the tree was newer, and so first
}
}  // namespace
