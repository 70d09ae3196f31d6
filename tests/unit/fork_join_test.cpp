// tests/unit/fork_join_test.cpp
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <coracle/compose/as_outcome.hpp>
#include <coracle/compose/fork_join.hpp>
#include <coracle/compose/via.hpp>
#include <coracle/compose/when_all.hpp>
#include <coracle/core/sync_wait.hpp>
#include <coracle/core/with_environment.hpp>
#include <coracle/core/yield.hpp>
#include <coracle/exec/run_loop.hpp>
#include <coracle/exec/static_thread_pool.hpp>
#include <coracle/exec/strand.hpp>
#include <coracle/sync/async_manual_reset_event.hpp>
#include <coracle/testing/manual_scheduler.hpp>
#include <coracle/testing/virtual_time_loop.hpp>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "../support/test_coroutine.hpp"

using coracle::fork_join;
using coracle::static_thread_pool;
using coracle::sync_wait;
using coracle::task;

namespace {
using coracle::async_manual_reset_event;

task<int> answer() { co_return 42; }
task<int> failing(const char* text = "child") {
  throw std::runtime_error(text);
  co_return 0;
}
task<int> after(async_manual_reset_event& event, int value) {
  co_await event;
  co_return value;
}
task<int> sets(async_manual_reset_event& event, int value) {
  event.set();
  co_return value;
}
task<int> noted(bool& ran) {
  ran = true;
  co_return 1;
}
task<int> one_waits_for_the_other() {
  async_manual_reset_event event;
  const auto [a, b] = co_await fork_join(after(event, 3), sets(event, 4));
  co_return a + b;
}
task<long> fibonacci(int n) {
  if (n < 2) co_return n;
  const auto [left, right] = co_await fork_join(fibonacci(n - 1), fibonacci(n - 2));
  co_return left + right;
}
/// A chain of `depth` levels, each of which awaits the next one beside a task that ends at once.
task<int> chain(int depth) {
  if (depth == 0) co_return 0;
  const auto [below, other] = co_await fork_join(chain(depth - 1), answer());
  co_return 1 + below + other - 42;
}
struct counted {
  int& count;
  explicit counted(int& of) : count(of) { __atomic_add_fetch(&count, 1, __ATOMIC_RELAXED); }
  counted(const counted&) = delete;
  ~counted() { __atomic_sub_fetch(&count, 1, __ATOMIC_RELAXED); }
};
/// Fails at the leaves.
task<int> failing_tree(int depth, int& alive) {
  const counted here{alive};
  if (depth == 0) throw std::runtime_error("leaf");
  const auto [left, right] =
      co_await fork_join(failing_tree(depth - 1, alive), failing_tree(depth - 1, alive));
  co_return left + right;
}
template <class Scheduler, class T>
auto on(Scheduler& place, task<T> work) {
  return coracle::schedule_on(std::move(work), place);
}
/// Runs `make()` outside any executor, on a loop, a strand, and pools of several sizes.
template <class Make, class Check>
void everywhere(Make make, Check check) {
  check([&] { return sync_wait(make()); });
  check([&] { return coracle::testing::virtual_time_loop().run(make()); });
  for (const std::size_t threads : {1u, 2u, 4u}) {
    static_thread_pool pool{threads};
    check([&] { return sync_wait(on(pool, make())); });
    coracle::strand serial{pool};
    check([&] { return sync_wait(on(serial, make())); });
  }
}
template <class Make, class T>
void everywhere_is(Make make, const T& expected) {
  everywhere(make, [&](auto run) { CHECK(run() == expected); });
}
template <class Make>
void everywhere_throws(Make make, const char* text) {
  everywhere(make, [&](auto run) { CHECK_THROWS_WITH(run(), text); });
}
}  // namespace

TEST_CASE("fork_join: the results come back in order") {
  everywhere_is(
      []() -> task<std::string> {
        const auto text = []() -> task<std::string> { co_return "text"; };
        const auto [a, b, c] = co_await fork_join(answer(), text(), answer());
        co_return std::to_string(a) + b + std::to_string(c);
      },
      "42text42");
}

TEST_CASE("fork_join: a reference, nothing and a move-only result come back") {
  everywhere_is(
      []() -> task<int> {
        static int there = 0;
        const auto reference = []() -> task<int&> { co_return there; };
        const auto nothing = []() -> task<> { co_return; };
        const auto pointer = []() -> task<std::unique_ptr<int>> { co_return std::make_unique<int>(3); };
        auto [same, none, mine] = co_await fork_join(reference(), nothing(), pointer());
        static_assert(std::is_same_v<decltype(none), coracle::void_value>);
        CHECK(&same.get() == &there);
        co_return *mine;
      },
      3);
}

TEST_CASE("fork_join: of one task") {
  everywhere_is([]() -> task<int> { co_return std::get<0>(co_await fork_join(answer())); }, 42);
  everywhere_throws([]() -> task<int> { co_return std::get<0>(co_await fork_join(failing())); }, "child");
}

TEST_CASE("fork_join: a task that waits lets the others run, which it may wait for") {
  everywhere_is(&one_waits_for_the_other, 7);
  everywhere_is(
      []() -> task<int> {
        async_manual_reset_event first, second, third;
        const auto then = [](async_manual_reset_event& waits, async_manual_reset_event& opens) -> task<int> {
          co_await waits;
          opens.set();
          co_return 1;
        };
        const auto [a, b, c, d] =
            co_await fork_join(then(first, second), then(third, first), after(second, 1), sets(third, 1));
        co_return a + b + c + d;
      },
      4);
}

TEST_CASE("fork_join: a task that has ended before gives its result, or its error") {
  const auto ended = [](task<int> work) -> task<int> {
    task<int> before = std::move(work), too = answer();
    co_await before.when_ready();
    co_await too.when_ready();
    const auto [a, b, c] = co_await fork_join(std::move(before), answer(), std::move(too));
    co_return a + b + c;
  };
  everywhere_is([&] { return ended(answer()); }, 126);
  everywhere_throws([&] { return ended(failing()); }, "child");
}

TEST_CASE("fork_join: the awaiting coroutine goes on where it was, though tasks have ended elsewhere") {
  coracle::testing::manual_scheduler here, elsewhere;
  const coracle::executor* goes_on = nullptr;
  const auto hops = [&]() -> task<> { co_await elsewhere.schedule(); };
  const auto parent = [&]() -> task<> {
    co_await here.schedule();
    co_await fork_join(hops(), hops());
    goes_on = coracle::current_executor();
  };
  auto root = coracle_test::started(parent());
  here.run_all();
  elsewhere.run_all();
  CHECK(goes_on == nullptr);
  here.run_all();
  CHECK(goes_on == &here);
}

TEST_CASE("fork_join: it goes on on its pool, though the last task has ended elsewhere") {
  static_thread_pool pool{1}, elsewhere{1};
  const coracle::executor* goes_on = nullptr;
  const auto hops = [&]() -> task<> { co_await elsewhere.schedule(); };
  const auto stays = []() -> task<> { co_return; };
  const auto parent = [&](bool first) -> task<> {
    goes_on = nullptr;
    if (first) {
      co_await fork_join(hops(), stays());
    } else {
      co_await fork_join(stays(), hops());
    }
    goes_on = coracle::current_executor();
  };
  for (const bool first : {true, false}) {
    sync_wait(coracle::schedule_on(parent(first), pool));
    CHECK(goes_on == &pool);
  }
}

TEST_CASE("fork_join: a loop of them on a pool of one gives way to another coroutine from time to time") {
  static_thread_pool pool{1};
  constexpr int most = 100'000;
  bool has_run = false;
  int joins = 0;
  const auto other = [&]() -> task<> {
    co_await coracle::this_task::yield();
    has_run = true;
  };
  const auto loop = [&]() -> task<> {
    for (; !has_run && joins != most; ++joins) co_await fork_join(answer(), answer());
  };
  const auto both = [&]() -> task<> { co_await coracle::when_all(other(), loop()); };
  sync_wait(coracle::schedule_on(both(), pool));
  CHECK(joins < most);
}

TEST_CASE("fork_join: an error is thrown after all that were started have ended; the rest is not started") {
  everywhere_throws([]() -> task<int> { co_return std::get<0>(co_await fork_join(answer(), failing())); },
                    "child");
  everywhere(
      []() -> task<int> {
        bool second = false, third = false;  // which may run on two threads
        try {
          co_await fork_join(failing(), noted(second), noted(third));
        } catch (const std::runtime_error&) {
          co_return second || third;
        }
        co_return 2;
      },
      [](auto run) { CHECK(run() <= 1); });  // another thread may have taken the rest before
  bool ran = false;
  CHECK_THROWS_WITH(sync_wait(fork_join(failing(), noted(ran))), "child");
  CHECK_FALSE(ran);
}

TEST_CASE("fork_join: the locals of the awaiting coroutine outlive tasks that fail or wait meanwhile") {
  for (const std::size_t threads : {1u, 2u, 4u}) {
    static_thread_pool pool{threads};
    int alive = 0;
    CHECK_THROWS(sync_wait(on(pool, failing_tree(8, alive))));
    CHECK(__atomic_load_n(&alive, __ATOMIC_RELAXED) == 0);
  }
  everywhere_throws(
      []() -> task<int> {
        async_manual_reset_event event;
        int used = 0;
        const auto uses = [](async_manual_reset_event& waits, int& it) -> task<int> {
          co_await waits;
          co_return ++it;
        };
        const auto fails = [](async_manual_reset_event& opens) -> task<int> {
          co_await coracle::this_task::yield();
          opens.set();
          co_return co_await failing();
        };
        const auto [a, b] = co_await fork_join(uses(event, used), fails(event));
        co_return a + b;
      },
      "child");
}

TEST_CASE("fork_join: several errors are thrown as an error_group") {
  everywhere(
      []() -> task<std::size_t> {
        async_manual_reset_event event;
        const auto fails_after = [](async_manual_reset_event& waits) -> task<int> {
          co_await waits;
          co_return co_await failing("first");
        };
        const auto sets_and_fails = [](async_manual_reset_event& opens) -> task<int> {
          opens.set();
          co_return co_await failing("second");
        };
        try {
          co_await fork_join(fails_after(event), sets_and_fails(event));
        } catch (const coracle::error_group& group) {
          co_return group.errors().size();
        }
        co_return std::size_t{0};
      },
      [](auto run) { CHECK(run() == 2); });
}

TEST_CASE("fork_join: a recursion gives the same everywhere") {
  everywhere_is([] { return fibonacci(16); }, 987L);
}

TEST_CASE("fork_join: a recursion 50,000 deep takes no stack to speak of, beyond the queue's capacity") {
  static_thread_pool pool{2};
  for (int i = 0; i != 3; ++i) CHECK(sync_wait(on(pool, chain(50'000))) == 50'000);
  CHECK(sync_wait(chain(50'000)) == 50'000);
}

TEST_CASE("fork_join: as an argument of others, and stored before it is awaited") {
  static_thread_pool pool{2};
  CHECK(std::get<0>(sync_wait(fork_join(answer(), answer()))) == 42);
  CHECK(std::get<1>(sync_wait(coracle::schedule_on(fork_join(answer(), answer()), pool))) == 42);
  const auto nested = []() -> task<int> {
    auto stored = fork_join(answer(), answer());
    const auto [one, other] = co_await coracle::when_all(std::move(stored), answer());
    co_return std::get<0>(one) + other;
  };
  everywhere_is(nested, 84);
}

TEST_CASE("fork_join: a task that is never started does nothing") {
  bool ran = false;
  {
    [[maybe_unused]] const auto never = fork_join(noted(ran), noted(ran));
  }
  CHECK_FALSE(ran);
}

TEST_CASE("fork_join: the tasks inherit the environment") {
  coracle::stop_source source;
  source.request_stop();
  const auto asks = []() -> task<bool> {
    co_return (co_await coracle::this_task::stop_token()).stop_requested();
  };
  const auto [a, b] = sync_wait(coracle::with_stop(fork_join(asks(), asks()), source.get_token()));
  CHECK((a && b));
}

namespace {
/// Work that a stop request from the other thread ends.
struct stopped_work {
  coracle::stop_source source;
  async_manual_reset_event never, waits;
  int alive = 0, caught = 0;

  task<int> waiting() {
    const counted here{alive};
    try {
      waits.set();
      co_await never;
    } catch (const coracle::operation_cancelled&) {
      __atomic_add_fetch(&caught, 1, __ATOMIC_RELAXED);
      throw;
    }
    co_return 0;
  }
  task<int> stopping() {
    co_await waits;
    source.request_stop();
    co_return 1;
  }
  task<int> parent() {
    const counted here{alive};
    const auto [a, b] = co_await fork_join(waiting(), waiting());
    co_return a + b;
  }
  template <class Work>
  task<int> both(Work work) {
    auto end = coracle::with_stop(coracle::as_outcome(work()), source.get_token());
    const auto [left, right] = co_await coracle::when_all(std::move(end), stopping());
    CHECK(left.is_cancelled());
    co_return right;
  }
};
}  // namespace

TEST_CASE(
    "fork_join: below as_outcome() a stop request ends the tasks and the awaiting one without a throw") {
  everywhere(
      []() -> task<int> {
        stopped_work all;
        const auto work = [&all] { return all.parent(); };
        co_await all.both(work);
        CHECK(all.alive == 0);
        co_return all.caught;
      },
      [](auto run) { CHECK(run() == 0); });
}

TEST_CASE("fork_join: below as_outcome() an error beside a task that is stopped is the outcome") {
  everywhere(
      []() -> task<bool> {
        stopped_work all;
        const auto fails_when_stopped = [&]() -> task<int> {
          try {
            co_return co_await coracle::throwing(all.waiting());
          } catch (const coracle::operation_cancelled&) {
          }
          co_return co_await failing();
        };
        const auto work = [&]() -> task<int> {
          const auto [a, b] = co_await fork_join(all.waiting(), fails_when_stopped());
          co_return a + b;
        };
        auto end = coracle::with_stop(coracle::as_outcome(work()), all.source.get_token());
        const auto [left, right] = co_await coracle::when_all(std::move(end), all.stopping());
        co_return left.has_error();
      },
      [](auto run) { CHECK(run()); });
}

TEST_CASE("fork_join: without as_outcome() the tasks that are stopped throw, and so does the await") {
  stopped_work all;
  coracle::testing::virtual_time_loop loop;
  const auto work = [&]() -> task<int> {
    try {
      co_return co_await coracle::with_stop(all.parent(), all.source.get_token());
    } catch (const coracle::operation_cancelled&) {
      co_return 5;
    }
  };
  CHECK(std::get<0>(loop.run(coracle::when_all(work(), all.stopping()))) == 5);
  CHECK(all.caught == 2);
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
  const auto all = [&](static_thread_pool& on_pool) -> task<int> {
    co_await on_pool.schedule();
    auto [a, b, c] = co_await coracle::when_all_ready(after(event, 5), failing(), sets(event, 1));
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
