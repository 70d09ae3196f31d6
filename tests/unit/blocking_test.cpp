// tests/unit/blocking_test.cpp -- calls that block, on threads of their own.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <coracle/compose/when_all.hpp>
#include <coracle/core/operation_cancelled.hpp>
#include <coracle/core/sync_wait.hpp>
#include <coracle/core/task.hpp>
#include <coracle/core/with_environment.hpp>
#include <coracle/exec/blocking.hpp>
#include <coracle/exec/run_loop.hpp>
#include <coracle/testing/allocations.hpp>
#include <latch>
#include <memory>
#include <optional>
#include <semaphore>
#include <stdexcept>
#include <thread>
#include <vector>

#include "../support/abort_message.hpp"
#include "../support/detached.hpp"

namespace {
using coracle::blocking;
using coracle::blocking_pool;
using coracle::stop_reason;
using coracle::stop_source;
using coracle::sync_wait;
using coracle::task;
using coracle_test::detached;
using namespace std::chrono_literals;

TEST_CASE("blocking: calls the function on a thread of the pool, and gives what it returns") {
  blocking_pool pool{1};
  std::thread::id there;
  const auto call = [&] {
    there = std::this_thread::get_id();
    return 42;
  };
  CHECK(sync_wait(blocking(pool, call)) == 42);
  CHECK(there != std::this_thread::get_id());
  CHECK(there != std::thread::id{});
  CHECK(pool.thread_count() == 1);
}

TEST_CASE("blocking: on the program's own pool") {
  const auto call = [] { return std::make_unique<int>(7); };
  CHECK(*sync_wait(blocking(call)) == 7);
  CHECK(coracle::default_blocking_pool().thread_count() >= 1);
}

TEST_CASE("blocking: gives references, move-only values and nothing") {
  blocking_pool pool{1};
  int number = 1;
  const auto reference = [&]() -> int& { return number; };
  CHECK(&sync_wait(blocking(pool, reference)) == &number);
  const auto nothing = [&] { ++number; };
  sync_wait(blocking(pool, nothing));
  CHECK(number == 2);
  auto owner = std::make_unique<int>(3);
  auto moves = [owner = std::move(owner)]() mutable { return std::move(owner); };
  CHECK(*sync_wait(blocking(pool, std::move(moves))) == 3);
}

TEST_CASE("blocking: throws what the function threw") {
  blocking_pool pool{1};
  const auto call = []() -> int { throw std::runtime_error("no such file"); };
  CHECK_THROWS_WITH_AS(sync_wait(blocking(pool, call)), "no such file", std::runtime_error);
}

TEST_CASE("blocking: comes back to the executor on which it was awaited") {
  coracle::run_loop loop;
  blocking_pool pool{1};
  const coracle::executor* after = nullptr;
  const coracle::executor* there = &loop;
  const auto work = [&]() -> task<> {
    co_await loop.schedule();
    const auto call = [&] { there = coracle::current_executor(); };
    co_await blocking(pool, call);
    after = coracle::current_executor();
    loop.stop();
  };
  coracle_test::run_detached(work());
  loop.run();
  CHECK(there == nullptr);
  CHECK(after == &loop);
}

TEST_CASE("blocking: outside any executor it goes on on the thread that made the call") {
  blocking_pool pool{1};
  std::thread::id there, after;
  const auto work = [&]() -> task<> {
    const auto call = [&] { there = std::this_thread::get_id(); };
    co_await blocking(pool, call);
    after = std::this_thread::get_id();
  };
  sync_wait(work());
  CHECK(there == after);
}

TEST_CASE("blocking: a call that would have to wait gets another thread, up to the limit") {
  blocking_pool pool{2};
  std::atomic<int> inside{0}, most{0};
  std::latch both{2};
  const auto call = [&] {
    both.count_down();
    both.wait();  // ends only where two are called at the same time
  };
  sync_wait(coracle::when_all(blocking(pool, call), blocking(pool, call)));
  CHECK(pool.thread_count() == 2);
  const auto count = [&] {
    const int now = ++inside;
    for (int seen = most; seen < now && !most.compare_exchange_weak(seen, now);) {
    }
    std::this_thread::yield();
    --inside;
  };
  std::vector<task<>> all;
  const auto await_count = [&]() -> task<> { co_await blocking(pool, count); };
  for (int i = 0; i != 50; ++i) all.push_back(await_count());
  sync_wait(coracle::when_all(std::move(all)));
  CHECK(most <= 2);
  CHECK(pool.thread_count() <= 2);
}

TEST_CASE("blocking: first called, first begun") {
  blocking_pool pool{1};
  std::binary_semaphore begin{0};
  std::vector<int> order;
  const auto call = [&](int number) -> task<> {
    const auto note = [&order, &begin, number] {
      if (number == 0) begin.acquire();
      order.push_back(number);
    };
    co_await blocking(pool, note);
  };
  const auto let_go = [&]() -> task<> {
    begin.release();
    co_return;
  };
  sync_wait(coracle::when_all(call(0), call(1), call(2), call(3), let_go()));
  CHECK(order == std::vector{0, 1, 2, 3});
}

TEST_CASE("blocking: a thread that has had nothing to do for a while ends, and comes again") {
  blocking_pool pool{4, 1ms};
  const auto call = [] { return 1; };
  CHECK(sync_wait(blocking(pool, call)) == 1);
  while (pool.thread_count() != 0) std::this_thread::yield();
  CHECK(sync_wait(blocking(pool, call)) == 1);
}

TEST_CASE("blocking: a thread whose idle time is the longest that the clock can express stays") {
  blocking_pool pool{1, std::chrono::milliseconds::max()};
  sync_wait(blocking(pool, [] {}));
  for (int look = 0; look != 1000; ++look) {
    REQUIRE(pool.thread_count() == 1);
    std::this_thread::yield();
  }
}

TEST_CASE("blocking: a thread that is to wait for less than no time does not wait") {
  blocking_pool pool{1, std::chrono::milliseconds::min()};
  CHECK(sync_wait(blocking(pool, [] { return 1; })) == 1);
  while (pool.thread_count() != 0) std::this_thread::yield();
  CHECK(sync_wait(blocking(pool, [] { return 2; })) == 2);
}

TEST_CASE("blocking: the program's pool has threads of its own in the child that fork() makes" *
          doctest::skip(!coracle::testing::allocations_are_counted)) {
  // Not under ThreadSanitizer, which does not support threads in the child of a process with threads.
  const auto call = [] { return 7; };
  for (int times = 0; times != 5; ++times) {
    CHECK(sync_wait(blocking(call)) == 7);
    for (int turns = 0; turns != 1000; ++turns) std::this_thread::yield();  // so that its thread is idle
    const pid_t child = ::fork();
    if (child == 0) {
      ::alarm(10);
      ::_exit(sync_wait(blocking(call)));
    }
    int status = -1;
    CHECK(::waitpid(child, &status, 0) == child);
    REQUIRE(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == 7);
  }
}

TEST_CASE("blocking: a pool that was never used starts no thread") {
  blocking_pool pool{3};
  CHECK(pool.thread_count() == 0);
}

TEST_CASE("blocking: to destroy a pool on its own thread ends the program with one line") {
  CHECK(coracle_test::abort_message([] {
          auto pool = std::make_unique<blocking_pool>(1);
          sync_wait(blocking(*pool, [&] { pool.reset(); }));
        }) == "coracle: deadlock: threads for blocking calls were joined on one of them\n");
}

/// A pool of one thread, which is busy until the end of the scope.
class busy_pool {
 public:
  busy_pool() {
    coracle_test::run_detached(hold());
    begun_.acquire();
  }
  /// Lets all pending calls end.
  ~busy_pool() {
    hold_.release();
    const auto last = [] {};
    sync_wait(blocking(pool, last));
  }
  blocking_pool pool{1};

 private:
  task<> hold() {
    const auto call = [this] {
      begun_.release();
      hold_.acquire();
    };
    co_await blocking(pool, call);
  }
  std::binary_semaphore begun_{0}, hold_{0};
};

struct ending {
  bool over = false, called = false;
  std::optional<stop_reason> cancelled;
};
detached watch(blocking_pool& pool, stop_source& source, ending& seen) {
  const auto call = [&] { seen.called = true; };
  try {
    co_await coracle::with_stop(blocking(pool, call), source.get_token());
  } catch (const coracle::operation_cancelled& e) {
    seen.cancelled = e.reason();
  }
  seen.over = true;
}

TEST_CASE("blocking: stop requested before: not called") {
  blocking_pool pool{1};
  stop_source source;
  source.request_stop(stop_reason::shutting_down);
  ending seen;
  watch(pool, source, seen);
  CHECK(seen.over);
  CHECK(seen.cancelled == stop_reason::shutting_down);
  CHECK_FALSE(seen.called);
  CHECK(pool.thread_count() == 0);
}

TEST_CASE("blocking: stop requested while it waits for a thread: it ends at once, not called") {
  stop_source source, other;
  ending first, second;
  {
    busy_pool busy;
    watch(busy.pool, source, first);
    watch(busy.pool, other, second);
    CHECK_FALSE(first.over);
    source.request_stop(stop_reason::timed_out);
    CHECK(first.over);
    CHECK(first.cancelled == stop_reason::timed_out);
    CHECK_FALSE(second.over);
  }
  CHECK_FALSE(first.called);
  CHECK(second.called);
  CHECK_FALSE(second.cancelled);
}

TEST_CASE("blocking: stop requested while it runs: the await waits for its end and gives its result") {
  blocking_pool pool{1};
  stop_source source;
  std::binary_semaphore begun{0}, go_on{0};
  const auto call = [&] {
    begun.release();
    go_on.acquire();
    return 5;
  };
  const auto stop = [&] {
    begun.acquire();
    source.request_stop();
    go_on.release();
  };
  std::thread stopper{stop};
  CHECK(sync_wait(coracle::with_stop(blocking(pool, call), source.get_token())) == 5);
  stopper.join();
}

TEST_CASE("blocking: the function may look at the stop token") {
  blocking_pool pool{1};
  stop_source source;
  std::binary_semaphore begun{0};
  const auto call = [&](const coracle::stop_token& token) {
    begun.release();
    while (!token.stop_requested()) std::this_thread::yield();
    return token.reason();
  };
  std::thread stopper{[&] {
    begun.acquire();
    source.request_stop(stop_reason::lost_race);
  }};
  CHECK(sync_wait(coracle::with_stop(blocking(pool, call), source.get_token())) == stop_reason::lost_race);
  stopper.join();
}

TEST_CASE("blocking: the function gets an empty token where none is inherited") {
  blocking_pool pool{1};
  const auto call = [](const coracle::stop_token& token) { return token.stop_possible(); };
  CHECK_FALSE(sync_wait(blocking(pool, call)));
}

TEST_CASE("blocking: allocates nothing on the side of the caller, once there is a thread" *
          doctest::skip(!coracle::testing::allocations_are_counted)) {
  blocking_pool pool{1};
  const auto call = [] {};
  std::size_t allocated = 1;
  const auto work = [&]() -> task<> {
    co_await blocking(pool, call);
    const std::size_t before = coracle::testing::allocations();
    co_await blocking(pool, call);
    allocated = coracle::testing::allocations() - before;
  };
  sync_wait(work());
  CHECK(allocated == 0);
}
}  // namespace
