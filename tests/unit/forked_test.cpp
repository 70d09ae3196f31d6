// tests/unit/forked_test.cpp
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <atomic>
#include <coracle/compose/forked.hpp>
#include <coracle/compose/via.hpp>
#include <coracle/compose/when_all.hpp>
#include <coracle/core/sync_wait.hpp>
#include <coracle/core/with_environment.hpp>
#include <coracle/exec/run_loop.hpp>
#include <coracle/exec/static_thread_pool.hpp>
#include <coracle/exec/strand.hpp>
#include <coracle/sync/async_manual_reset_event.hpp>
#include <coracle/testing/manual_scheduler.hpp>
#include <coracle/testing/virtual_time_loop.hpp>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "../support/abort_message.hpp"
#include "../support/faster_thread.hpp"
#include "../support/test_coroutine.hpp"

using coracle::forked;
using coracle::static_thread_pool;
using coracle::sync_wait;
using coracle::task;

namespace {
task<int> answer() { co_return 42; }
task<int> failing() {
  throw std::runtime_error("child");
  co_return 0;
}
task<int> after(coracle::async_manual_reset_event& event, int value) {
  co_await event;
  co_return value;
}

task<int> fork_and_join(task<int> work) {
  forked child{std::move(work)};
  co_await child.fork();
  co_return co_await child.join();
}
task<int> opens_for_its_child() {
  coracle::async_manual_reset_event event;
  forked child{after(event, 7)};
  co_await child.fork();
  event.set();
  co_return co_await child.join();
}
task<long> fibonacci(int n) {
  if (n < 2) co_return n;
  forked left{fibonacci(n - 1)};
  co_await left.fork();
  const long right = co_await fibonacci(n - 2);
  co_return right + co_await left.join();
}
/// A chain of `depth` levels, each of which has forked the next one.
task<int> chain(int depth) {
  if (depth == 0) co_return 0;
  forked below{chain(depth - 1)};
  co_await below.fork();
  co_return 1 + co_await below.join();
}
/// Fails at some leaves; the siblings of a failed leaf are joined.
task<int> tree(int depth, int& alive) {
  struct counted {
    int& count;
    explicit counted(int& of) : count(of) { __atomic_add_fetch(&count, 1, __ATOMIC_RELAXED); }
    ~counted() { __atomic_sub_fetch(&count, 1, __ATOMIC_RELAXED); }
  } here{alive};
  if (depth == 0) throw std::runtime_error("leaf");
  forked left{tree(depth - 1, alive)};
  co_await left.fork();
  const int right = co_await tree(depth - 1, alive);
  co_return right + co_await left.join();
}
task<> forgets_a_failure() {
  forked child{failing()};
  co_await child.fork();
}
template <class Scheduler>
auto on(Scheduler& place, task<int> work) {
  return coracle::schedule_on(std::move(work), place);
}
}  // namespace

TEST_CASE("forked: outside any executor the child runs before the parent goes on") {
  CHECK(sync_wait(fork_and_join(answer())) == 42);
}

TEST_CASE("forked: on a pool of one thread the parent goes on while its child waits for it") {
  static_thread_pool pool{1};
  CHECK(sync_wait(on(pool, opens_for_its_child())) == 7);
}

TEST_CASE("forked: on a run_loop and on a strand the parent goes on while its child waits for it") {
  coracle::testing::virtual_time_loop loop;
  CHECK(loop.run(opens_for_its_child()) == 7);
  static_thread_pool pool{2};
  coracle::strand serial{pool};
  CHECK(sync_wait(on(serial, opens_for_its_child())) == 7);
}

TEST_CASE("forked: join() goes on where it was awaited, though the child has ended on another executor") {
  coracle::testing::manual_scheduler here;
  coracle::testing::manual_scheduler elsewhere;
  coracle::async_manual_reset_event event;
  const coracle::executor* goes_on = nullptr;
  const auto child = [&]() -> task<> {
    co_await elsewhere.schedule();
    co_await event;
  };
  const auto parent = [&]() -> task<> {
    co_await here.schedule();
    forked hops{child()};
    co_await hops.fork();
    co_await hops.join();
    goes_on = coracle::current_executor();
  };
  auto root = coracle_test::started(parent());
  here.run_all();
  elsewhere.run_all();
  event.set();
  elsewhere.run_all();
  CHECK(goes_on == nullptr);
  here.run_all();
  CHECK(goes_on == &here);
}

TEST_CASE(
    "forked: a child may end on another thread before its parent goes on, and while that waits for it") {
  coracle_test::faster_thread elsewhere;
  static_thread_pool pool{1};
  coracle::async_manual_reset_event event;
  const auto hop = [&]() -> task<int> {
    co_await elsewhere.schedule();
    co_return 1;
  };
  const auto hop_and_wait = [&]() -> task<int> {
    co_await elsewhere.schedule();
    co_await event;
    co_return 2;
  };
  const coracle::executor* joined_on = nullptr;
  const auto work = [&]() -> task<int> {
    forked early{hop()}, late{hop_and_wait()};
    co_await early.fork();
    co_await late.fork();
    event.set();
    const int sum = co_await early.join() + co_await late.join();
    joined_on = coracle::current_executor();
    co_return sum;
  };
  CHECK(sync_wait(coracle::schedule_on(work(), pool)) == 3);
  CHECK(joined_on == &pool);
}

TEST_CASE("forked: join() throws what the child has thrown") {
  static_thread_pool pool{2};
  CHECK_THROWS_WITH(sync_wait(fork_and_join(failing())), "child");
  CHECK_THROWS_WITH(sync_wait(on(pool, fork_and_join(failing()))), "child");
}

TEST_CASE("forked: a value, a reference, nothing and a move-only result come back") {
  static int there = 0;
  const auto all = []() -> task<int> {
    const auto reference = []() -> task<int&> { co_return there; };
    const auto nothing = []() -> task<> { co_return; };
    const auto pointer = []() -> task<std::unique_ptr<int>> { co_return std::make_unique<int>(3); };
    forked a{reference()};
    forked b{nothing()};
    forked c{pointer()};
    co_await a.fork();
    co_await b.fork();
    co_await c.fork();
    const std::unique_ptr<int> mine = co_await c.join();
    co_await b.join();
    int& same = co_await a.join();
    CHECK(&same == &there);
    co_return *mine;
  };
  CHECK(sync_wait(all()) == 3);
  static_thread_pool pool{2};
  CHECK(sync_wait(on(pool, all())) == 3);
}

TEST_CASE("forked: a recursion gives the same on any number of threads") {
  for (const std::size_t threads : {1u, 2u, 5u}) {
    static_thread_pool pool{threads};
    const auto run = [](static_thread_pool& on) -> task<long> {
      co_await on.schedule();
      co_return co_await fibonacci(20);
    };
    CHECK(sync_wait(run(pool)) == 6765);
  }
}

TEST_CASE("forked: a recursion 50,000 deep takes no stack to speak of, beyond the queue's capacity") {
  static_thread_pool pool{2};
  for (int i = 0; i != 3; ++i) CHECK(sync_wait(on(pool, chain(50'000))) == 50'000);
}

TEST_CASE("forked: an exception leaves the parent only after its child is over") {
  for (const std::size_t threads : {1u, 2u, 4u}) {
    static_thread_pool pool{threads};
    int alive = 0;
    CHECK_THROWS_WITH(sync_wait(on(pool, tree(8, alive))), "leaf");
    CHECK(__atomic_load_n(&alive, __ATOMIC_RELAXED) == 0);
  }
}

TEST_CASE("forked: who waits for a child in unwinding runs other work of the pool meanwhile") {
  static_thread_pool pool{1};
  coracle::async_manual_reset_event event;
  const auto fails = [](coracle::async_manual_reset_event& opened) -> task<int> {
    forked child{after(opened, 1)};
    co_await child.fork();
    throw std::runtime_error("parent");
  };
  const auto opens = [](static_thread_pool& on_pool,
                        coracle::async_manual_reset_event& to_open) -> task<int> {
    co_await on_pool.schedule();
    to_open.set();
    co_return 0;
  };
  const auto both = [&](static_thread_pool& on_pool) -> task<int> {
    co_await on_pool.schedule();
    auto [a, b] = co_await coracle::when_all_ready(opens(on_pool, event), fails(event));
    CHECK(a.has_value());
    co_return std::move(b).get();
  };
  CHECK_THROWS_WITH(sync_wait(both(pool)), "parent");
}

namespace {
/// The message if a parent on a loop does not join its child, which the loop would resume next.
template <class Leave>
std::string blocks_its_loop(Leave) {
  return coracle_test::first_message([] {
    coracle::run_loop loop;
    coracle::async_manual_reset_event event;
    const auto leaves = [&]() -> task<> {
      co_await loop.schedule();
      forked child{after(event, 1)};
      co_await child.fork();
      event.set();
      Leave{}();
    };
    auto root = coracle_test::started(leaves());
    loop.run();
  });
}
}  // namespace

TEST_CASE("forked: who leaves a child unjoined on a loop blocks its thread for that, and says so" *
          doctest::skip(!CORACLE_CHECKS())) {
  const std::string says =
      "coracle: a coroutine has left the scope of a forked child without joining it, by an exception or a "
      "return, and has blocked the thread for a second: a deadlock, if the child must run there\n";
  CHECK(blocks_its_loop([] { throw std::runtime_error("parent"); }) == says);
  CHECK(blocks_its_loop([] {}) == says);
}

TEST_CASE("forked: two parents, one above the other, that both fail block the pool's thread, which says so" *
          doctest::skip(!CORACLE_CHECKS())) {
  const std::string written = coracle_test::first_message([] {
    static_thread_pool pool{1}, elsewhere{1};
    coracle::async_manual_reset_event inner_fails, outer_goes_on, outer_fails, child_goes_on;
    const auto inner = [&]() -> task<> {
      forked child{after(child_goes_on, 1)};
      co_await child.fork();
      inner_fails.set();
      throw std::runtime_error("inner");
    };
    const auto outer = [&]() -> task<> {
      forked child{inner()};
      co_await child.fork();
      co_await outer_goes_on;
      outer_fails.set();
      throw std::runtime_error("outer");  // on top of the inner one, for which it waits
    };
    const auto sets_all = [&]() -> task<> {
      co_await inner_fails;
      outer_goes_on.set();
      co_await outer_fails;
      child_goes_on.set();
    };
    sync_wait(
        coracle::when_all(coracle::schedule_on(sets_all(), elsewhere), coracle::schedule_on(outer(), pool)));
  });
  CHECK(written.find("has blocked the thread for a second") != std::string::npos);
}

TEST_CASE("forked: the child inherits the environment") {
  coracle::stop_source source;
  source.request_stop();
  const auto asks = []() -> task<bool> {
    co_return (co_await coracle::this_task::stop_token()).stop_requested();
  };
  const auto parent = [&]() -> task<bool> {
    forked child{asks()};
    co_await child.fork();
    co_return co_await child.join();
  };
  CHECK(sync_wait(coracle::with_stop(parent(), source.get_token())));
}

TEST_CASE("forked: one that is never forked does nothing") {
  bool ran = false;
  const auto work = [](bool& flag) -> task<> {
    flag = true;
    co_return;
  };
  {
    forked child{work(ran)};
  }
  CHECK_FALSE(ran);
}

TEST_CASE("forked: a child that need not be joined is one that has not failed, or that was stopped") {
  bool stopped = false;
  const auto stops = [](bool& seen) -> task<> {
    co_await coracle::this_task::throw_if_stopped();
    seen = true;
  };
  const auto forgets = [&]() -> task<int> {
    forked child{answer()};
    co_await child.fork();
    forked other{stops(stopped)};
    co_await other.fork();
    co_return 1;
  };
  coracle::stop_source source;
  source.request_stop();
  CHECK(sync_wait(coracle::with_stop(forgets(), source.get_token())) == 1);
  CHECK_FALSE(stopped);
}

TEST_CASE("forked: misuse ends the program with one line") {
  if constexpr (CORACLE_CHECKS()) {
    CHECK(coracle_test::abort_message([] {
            forked child{answer()};
            static_cast<void>(child.join());
          }).find("a child was joined that had not been forked: await fork() first") != std::string::npos);
    CHECK(coracle_test::abort_message([] {
            sync_wait(forgets_a_failure());
          }).find("a forked child has failed, and its parent has not joined it") != std::string::npos);
  }
}

TEST_CASE("forked: an error that comes while the leaving parent waits for its child ends the program, too") {
  if constexpr (CORACLE_CHECKS()) {
    CHECK(coracle_test::abort_message([] {
            static_thread_pool pool{1};
            coracle::async_manual_reset_event event;
            std::atomic<bool> leaves{false};
            const auto fails_late = [&]() -> task<int> {
              co_await event;
              throw std::runtime_error("late");
            };
            const auto forgets = [&]() -> task<int> {
              forked child{fails_late()};
              co_await child.fork();
              leaves = true;
              co_return 1;
            };
            std::thread setter{[&] {
              while (!leaves) std::this_thread::yield();
              event.set();
            }};
            sync_wait(coracle::schedule_on(forgets(), pool));
            setter.join();
          }).find("a forked child has failed, and its parent has not joined it") != std::string::npos);
  }
}

TEST_CASE("when_all: on a pool the children are divided among its threads, and each runs once") {
  static_thread_pool pool{3};
  const auto one = [](std::vector<int>& seen, std::size_t which) -> task<> {
    ++seen[which];
    co_return;
  };
  const auto all = [&](static_thread_pool& on_pool) -> task<> {
    co_await on_pool.schedule();
    for (int round = 0; round != 50; ++round) {
      std::vector<int> seen(1000);
      std::vector<task<>> children;
      for (std::size_t i = 0; i != seen.size(); ++i) children.push_back(one(seen, i));
      co_await coracle::when_all(std::move(children));
      CHECK(seen == std::vector<int>(1000, 1));
    }
  };
  sync_wait(all(pool));
}

TEST_CASE("when_all: on a pool a recursion 20,000 deep takes no stack to speak of") {
  struct deep {
    static task<int> go(int depth) {
      if (depth == 0) co_return 0;
      auto [below, other] = co_await coracle::when_all(go(depth - 1), answer());
      co_return 1 + below + other - 42;
    }
  };
  static_thread_pool pool{2};
  CHECK(sync_wait(on(pool, deep::go(20'000))) == 20'000);
}

TEST_CASE("when_all: on a pool errors, values and children that wait meet as elsewhere") {
  static_thread_pool pool{2};
  coracle::async_manual_reset_event event;
  const auto set = [](coracle::async_manual_reset_event& to_open) -> task<int> {
    to_open.set();
    co_return 1;
  };
  const auto all = [&](static_thread_pool& on_pool) -> task<int> {
    co_await on_pool.schedule();
    auto [a, b, c] = co_await coracle::when_all_ready(after(event, 5), failing(), set(event));
    CHECK(a.has_value());
    CHECK(b.has_error());
    co_return std::move(a).get() + std::move(c).get();
  };
  CHECK(sync_wait(all(pool)) == 6);
  const auto fails = [&](static_thread_pool& on_pool) -> task<int> {
    co_await on_pool.schedule();
    coracle::async_manual_reset_event never;
    auto [a, b] = co_await coracle::when_all(after(never, 5), failing());
    co_return a + b;
  };
  CHECK_THROWS_WITH(sync_wait(fails(pool)), "child");
}
