// tests/unit/parallel_for_test.cpp -- a plain function for each element, on all threads of a pool.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <array>
#include <atomic>
#include <coracle/core/sync_wait.hpp>
#include <coracle/core/with_environment.hpp>
#include <coracle/exec/parallel_for.hpp>
#include <coracle/exec/run_loop.hpp>
#include <coracle/testing/allocations.hpp>
#include <deque>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <thread>
#include <vector>

#include "../support/abort_message.hpp"
#include "../support/detached.hpp"

namespace {
using coracle::parallel_for;
using coracle::static_thread_pool;
using coracle::sync_wait;
using coracle::task;
using coracle::detail::next_chunk_size;
using coracle::detail::untaken_numbers;
using namespace std::chrono_literals;

TEST_CASE("parallel_for: each element once, however many there are and on however many threads") {
  for (const std::size_t threads : {1U, 2U, 5U}) {
    static_thread_pool pool{threads};
    for (const std::size_t size : {0U, 1U, 2U, 3U, 17U, 5000U}) {
      std::vector<int> calls(size);
      sync_wait(parallel_for(pool, calls, [](int& each) { ++each; }));
      CHECK(calls == std::vector<int>(size, 1));
    }
  }
}

TEST_CASE("parallel_for: indices, from the first up to the last, which is left out") {
  static_thread_pool pool{2};
  std::array<std::atomic<int>, 20> calls{};
  const auto count = [&](int i) { ++calls.at(static_cast<std::size_t>(i + 10)); };
  sync_wait(parallel_for(pool, -5, std::int8_t{7}, count));
  for (int i = -10; i != 10; ++i)
    CHECK(calls.at(static_cast<std::size_t>(i + 10)) == (-5 <= i && i < 7 ? 1 : 0));
  sync_wait(parallel_for(pool, 3, 3, count));
  sync_wait(parallel_for(pool, 3, -3, count));
  CHECK(std::accumulate(calls.begin(), calls.end(), 0) == 12);
  std::atomic<std::size_t> sum{0};
  sync_wait(parallel_for(pool, 1, std::size_t{4}, [&](std::size_t i) { sum += i; }));
  CHECK(sum == 6);
  sum = 0;
  sync_wait(parallel_for(pool, ~0UL - 3, ~0UL, [&](unsigned long i) { sum += ~0UL - i; }));
  CHECK(sum == 6);
}

TEST_CASE("parallel_for: an rvalue range and the function are moved in, an lvalue range is referred to") {
  static_thread_pool pool{2};
  std::atomic<int> sum{0};
  const auto add = [&sum, owned = std::make_unique<int>(0)](const int each) { sum += each + *owned; };
  task<> later =
      parallel_for(pool, std::vector<int>{1, 2, 3},
                   [&sum, factor = std::make_unique<int>(10)](int each) { sum += each * *factor; });
  sync_wait(std::move(later));
  CHECK(sum == 60);
  const std::deque<int> constant{1, 1};
  sync_wait(parallel_for(pool, constant, [&add](const int& each) { add(each); }));
  CHECK(sum == 62);
  int array[] = {1, 2, 3};
  sync_wait(parallel_for(pool, array, [](int& each) { each *= 2; }));
  CHECK(array[2] == 6);
}

TEST_CASE("parallel_for: a range that is referred to has the elements that it has once this is awaited") {
  static_thread_pool pool{2};
  std::vector<int> calls(3);
  task<> later = parallel_for(pool, calls, [](int& each) { ++each; });
  calls.resize(5);
  sync_wait(std::move(later));
  CHECK(calls == std::vector<int>(5, 1));
}

TEST_CASE("parallel_for: all threads of the pool take part") {
  static_thread_pool pool{2};
  // Each waits for the other: with one thread this would deadlock.
  std::atomic<int> arrived{0};
  sync_wait(parallel_for(pool, 0, 2, [&](int) {
    ++arrived;
    while (arrived != 2) std::this_thread::yield();
  }));
  CHECK(arrived == 2);
}

TEST_CASE("parallel_for: the function runs on the pool, and the awaiter goes on where it was") {
  coracle::run_loop loop;
  static_thread_pool pool{2};
  std::atomic<int> elsewhere{0};
  bool in_place = false;
  const auto run = [&]() -> task<> {
    co_await parallel_for(pool, 0, 100, [&](int) { elsewhere += coracle::current_executor() != &pool; });
    in_place = coracle::current_executor() == &loop;
    loop.stop();
  };
  coracle_test::run_detached_on(loop, run());
  loop.run();
  CHECK(elsewhere == 0);
  CHECK(in_place);
}

TEST_CASE(
    "parallel_for: the first error ends it, with the elements after it in its chunk and all that follow left "
    "out") {
  static_thread_pool pool{1};
  int calls = 0;
  const auto work = [&](int i) {
    ++calls;
    if (i == 2) throw std::runtime_error("two");
  };
  CHECK_THROWS_WITH_AS(sync_wait(parallel_for(pool, 0, 1000, work)), "two", std::runtime_error);
  CHECK(calls == 3);
}

TEST_CASE("parallel_for: errors on several threads come as an error_group") {
  static_thread_pool pool{2};
  std::atomic<int> arrived{0};
  const auto work = [&](int) {
    ++arrived;
    while (arrived != 2) std::this_thread::yield();
    throw std::runtime_error("both");
  };
  CHECK_THROWS_WITH_AS(sync_wait(parallel_for(pool, 0, 2, work)), "2 errors: both; both",
                       coracle::error_group);
}

TEST_CASE("parallel_for: stop requested before: the function is not called") {
  static_thread_pool pool{2};
  coracle::stop_source source;
  source.request_stop();
  int calls = 0;
  CHECK_THROWS_AS(
      sync_wait(coracle::with_stop(parallel_for(pool, 0, 10, [&](int) { ++calls; }), source.get_token())),
      coracle::operation_cancelled);
  CHECK(calls == 0);
}

TEST_CASE("parallel_for: stop requested during: no chunk begins any more") {
  static_thread_pool pool{1};
  coracle::stop_source source;
  int calls = 0;
  const auto work = [&](int) {
    ++calls;
    source.request_stop();
  };
  CHECK_THROWS_AS(sync_wait(coracle::with_stop(parallel_for(pool, 0, 10, work), source.get_token())),
                  coracle::operation_cancelled);
  CHECK(calls == 1);  // the first chunk is one element
}

TEST_CASE("parallel_for: a stop request that finds nothing left has no effect") {
  static_thread_pool pool{1};
  coracle::stop_source source;
  int calls = 0;
  const auto work = [&](int i) {
    ++calls;
    if (i == 9) source.request_stop();
  };
  sync_wait(coracle::with_stop(parallel_for(pool, 0, 10, work), source.get_token()));
  CHECK(calls == 10);
}

TEST_CASE("parallel_for: a worker that is stopped when nothing is left does not cancel what is complete") {
  std::atomic<bool> occupied{false}, free{false};
  const auto occupy = [&]() -> task<> {
    occupied = true;
    while (!free) std::this_thread::yield();
    co_return;
  };
  static_thread_pool pool{2};  // whose end waits for occupy()
  coracle_test::run_detached_on(pool, occupy());
  while (!occupied) std::this_thread::yield();

  coracle::stop_source source;
  int calls = 0;
  const auto work = [&](int) {
    if (++calls == 2) source.request_stop();  // the worker of the first element waits for the one free thread
  };
  const auto run = [&] { sync_wait(coracle::with_stop(parallel_for(pool, 0, 2, work), source.get_token())); };
  CHECK_NOTHROW(run());
  CHECK(calls == 2);
  free = true;
}

TEST_CASE("parallel_for: others on the pool get their turn between chunks") {
  static_thread_pool pool{1};
  std::atomic<bool> other_ran{false};
  bool ran_meanwhile = false;
  const auto other = [&]() -> task<> {
    other_ran = true;
    co_return;
  };
  const auto work = [&](long i) {
    if (i == 0) coracle_test::run_detached_on(pool, other());
    ran_meanwhile = other_ran;
  };
  sync_wait(parallel_for(pool, 0L, 1L << 20, work));
  CHECK(ran_meanwhile);
}

TEST_CASE("parallel_for: where an allocation fails that is thrown, and nothing is left running" *
          doctest::skip(!coracle::testing::allocations_are_counted)) {
  static_thread_pool pool{2};
  int failed = 0;
  for (std::size_t k = 1;; ++k) {
    coracle::trim_frame_memory();
    std::atomic<int> calls{0};
    bool happened = false;
    {
      const coracle::testing::failing_allocation failing{k};
      try {
        sync_wait(parallel_for(pool, 0, 10, [&](int) { ++calls; }));
      } catch (const std::bad_alloc&) {
        ++failed;
      }
      happened = failing.happened();
    }
    if (!happened) {
      CHECK(calls == 10);
      break;
    }
    CHECK(failed == static_cast<int>(k));
    CHECK(calls == 0);
  }
  CHECK(failed >= 4);  // its frame, the vector, a frame for each thread
}

TEST_CASE("parallel_for: a negative index and an unsigned one") {
  CHECK(coracle_test::abort_message([] {
          static_thread_pool pool{1};
          sync_wait(parallel_for(pool, -1, 5U, [](unsigned) {}));
        }) ==
        "coracle: parallel_for() with a negative index and an unsigned one, which have no common type: cast "
        "both to a signed type\n");
  static_thread_pool pool{1};
  int calls = 0;
  sync_wait(parallel_for(pool, 0, 5U, [&](unsigned) { ++calls; }));
  sync_wait(parallel_for(pool, -5L, 5U, [&](long) { ++calls; }));
  CHECK(calls == 15);
}

TEST_CASE("parallel_for: chunks grow while they are short, and shrink to what fits the time") {
  CHECK(next_chunk_size(1, 0ns) == 2);
  CHECK(next_chunk_size(64, 10us) == 128);
  CHECK(next_chunk_size(64, 16us) == 80);
  CHECK(next_chunk_size(64, 40us) == 32);
  CHECK(next_chunk_size(1000, 1s) == 1);
}

TEST_CASE("parallel_for: towards the end the chunks get smaller, down to one, then there are none") {
  untaken_numbers all{100, 2};
  auto chunk = all.take(10);
  CHECK(chunk.begin == 0);
  CHECK(chunk.end == 10);
  chunk = all.take(1000);
  CHECK(chunk.begin == 10);
  CHECK(chunk.end == 33);  // a quarter of what is left, and one
  std::size_t last = 0;
  while (!all.none_left()) {
    const std::size_t begin = chunk.end;
    chunk = all.take(1000);
    CHECK(chunk.begin == begin);
    last = chunk.end - chunk.begin;
  }
  CHECK(last == 1);
  CHECK(chunk.end == 100);
  chunk = all.take(1);
  CHECK(chunk.begin == chunk.end);
}
}  // namespace
