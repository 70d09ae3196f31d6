// tests/compat/cppcoro_scheduling_test.cpp -- schedule_on, resume_on, sequencers and async_scope.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <cppcoro/async_generator.hpp>
#include <cppcoro/async_scope.hpp>
#include <cppcoro/inline_scheduler.hpp>
#include <cppcoro/resume_on.hpp>
#include <cppcoro/schedule_on.hpp>
#include <cppcoro/sequence_barrier.hpp>
#include <cppcoro/single_producer_sequencer.hpp>
#include <cppcoro/static_thread_pool.hpp>
#include <cppcoro/sync_wait.hpp>
#include <cppcoro/task.hpp>
#include <cppcoro/when_all.hpp>
#include <stdexcept>
#include <string>
#include <thread>

namespace {
using cppcoro::static_thread_pool;
using cppcoro::sync_wait;
using cppcoro::task;

task<std::thread::id> where() { co_return std::this_thread::get_id(); }
std::thread::id thread_of(static_thread_pool& pool) { return sync_wait(cppcoro::schedule_on(pool, where())); }

TEST_CASE("cppcoro::schedule_on: runs a task, named or piped, on the scheduler") {
  static_thread_pool pool{1};
  const std::thread::id home = std::this_thread::get_id();
  CHECK(thread_of(pool) != home);
  const task<std::thread::id> piped = where() | cppcoro::schedule_on(pool);
  CHECK(sync_wait(piped) == thread_of(pool));
}

TEST_CASE("cppcoro::schedule_on: is found unqualified, with the types of either namespace") {
  static_thread_pool pool{1};
  const std::thread::id there = thread_of(pool);
  CHECK(sync_wait(schedule_on(pool, where())) == there);
  CHECK(sync_wait(where() | schedule_on(pool)) == there);
  CHECK(sync_wait(resume_on(pool, where())) == std::this_thread::get_id());
}

TEST_CASE("cppcoro::resume_on: goes on on the scheduler, after an exception too") {
  static_thread_pool pool{1};
  auto fails = []() -> task<std::string> {
    throw std::runtime_error("no");
    co_return "";
  };
  auto body = [&](std::thread::id there) -> task<> {
    CHECK(co_await cppcoro::resume_on(pool, where()) != there);
    CHECK(std::this_thread::get_id() == there);
  };
  auto failing = [&](std::thread::id there) -> task<> {
    bool caught = false;
    try {
      co_await (fails() | cppcoro::resume_on(pool));
    } catch (const std::runtime_error&) {
      caught = true;
    }
    CHECK(caught);
    CHECK(std::this_thread::get_id() == there);
  };
  const std::thread::id there = thread_of(pool);
  sync_wait(body(there));
  sync_wait(failing(there));
}

TEST_CASE("cppcoro::schedule_on and resume_on: of an async_generator, where its elements are made and used") {
  static_thread_pool maker{1}, user{1};
  const std::thread::id made = thread_of(maker), used = thread_of(user);
  auto numbers = [&]() -> cppcoro::async_generator<int> {
    for (int i = 0; i != 3; ++i) {
      CHECK(std::this_thread::get_id() == made);
      co_yield i;
    }
    throw 4;
  };
  auto consume = [&]() -> task<int> {
    auto all = resume_on(user, schedule_on(maker, numbers()));
    int total = 0;
    try {
      for (auto it = co_await all.begin(); it != all.end(); co_await ++it) {
        CHECK(std::this_thread::get_id() == used);
        total += *it;
      }
    } catch (int error) {
      CHECK(std::this_thread::get_id() == used);
      total += error;
    }
    co_return total;
  };
  CHECK(sync_wait(consume()) == 7);
}

TEST_CASE("cppcoro::single_producer_sequencer: takes a scheduler on which it resumes, as cppcoro's does") {
  static_thread_pool pool{2};
  constexpr std::size_t size = 8, last = 1000;
  std::size_t buffer[size];
  cppcoro::sequence_barrier<std::size_t> consumed;
  cppcoro::single_producer_sequencer<std::size_t> sequencer{consumed, size};
  auto produce = [&]() -> task<> {
    for (std::size_t i = 0; i <= last;) {
      auto claimed = co_await sequencer.claim_up_to(3, pool);
      for (auto sequence : claimed) buffer[sequence % size] = i++;
      sequencer.publish(claimed);
    }
  };
  auto consume = [&]() -> task<std::size_t> {
    std::size_t sum = 0;
    std::size_t next = 0;
    while (next <= last) {
      const std::size_t available = co_await sequencer.wait_until_published(next, pool);
      for (; next <= available && next <= last; ++next) sum += buffer[next % size];
      consumed.publish(available);
    }
    co_return sum;
  };
  auto [sum, none] = sync_wait(cppcoro::when_all(consume(), produce()));
  static_cast<void>(none);
  CHECK(sum == last * (last + 1) / 2);
}

/// How many calls of a tree exist at the same time, at most.
class counted_tree {
 public:
  explicit counted_tree(static_thread_pool& pool) : pool_(pool) {}

  task<int> leaves_by_schedule(int depth) {
    const counted me{*this};
    co_await pool_.schedule();
    if (depth == 0) co_return 1;
    auto [a, b] = co_await cppcoro::when_all(leaves_by_schedule(depth - 1), leaves_by_schedule(depth - 1));
    co_return a + b;
  }
  task<int> leaves_by_schedule_on(int depth) {
    const counted me{*this};
    if (depth == 0) co_return 1;
    auto [a, b] = co_await cppcoro::when_all(cppcoro::schedule_on(pool_, leaves_by_schedule_on(depth - 1)),
                                             cppcoro::schedule_on(pool_, leaves_by_schedule_on(depth - 1)));
    co_return a + b;
  }
  [[nodiscard]] int most_calls() const noexcept { return most_; }

 private:
  /// The pool has one thread.
  struct counted {
    explicit counted(counted_tree& its_tree) : tree(its_tree) {
      if (++tree.calls_ > tree.most_) tree.most_ = tree.calls_;
    }
    counted(const counted&) = delete;
    counted& operator=(const counted&) = delete;
    ~counted() { --tree.calls_; }
    counted_tree& tree;
  };

  static_thread_pool& pool_;
  int calls_ = 0, most_ = 0;
};
TEST_CASE("cppcoro::when_all: a tree that schedules each of its calls on a pool unfolds depth first") {
  constexpr int depth = 12, leaves = 1 << depth;
  static_thread_pool pool{1};
  for (const auto walk : {&counted_tree::leaves_by_schedule, &counted_tree::leaves_by_schedule_on}) {
    counted_tree tree{pool};
    CHECK(sync_wait(cppcoro::schedule_on(pool, (tree.*walk)(depth))) == leaves);
    // Breadth first, it would be all of them. On a busy machine it is a few hundred, because the oldest entry
    // ages.
    CHECK(tree.most_calls() <= leaves / 4);
  }
}

TEST_CASE("cppcoro::async_scope: join() throws what left a child, where cppcoro ends the program") {
  auto fails = []() -> task<> {
    throw 3;
    co_return;
  };
  auto body = [&]() -> task<int> {
    int error = 0;
    cppcoro::async_scope scope;
    scope.spawn(fails());
    scope.spawn(where());
    try {
      co_await scope.join();
    } catch (int thrown) {
      error = thrown;
    }
    co_return error;
  };
  CHECK(sync_wait(body()) == 3);
}
}  // namespace
