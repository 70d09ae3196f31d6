// tests/unit/for_each_concurrent_test.cpp -- concurrency limits, and results in the order of completion.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <algorithm>
#include <coracle/compose/as_outcome.hpp>
#include <coracle/compose/for_each_concurrent.hpp>
#include <coracle/core/sync_wait.hpp>
#include <coracle/core/with_environment.hpp>
#include <coracle/exec/run_loop.hpp>
#include <coracle/exec/static_thread_pool.hpp>
#include <coracle/generators/generator.hpp>
#include <coracle/sync/async_manual_reset_event.hpp>
#include <coracle/testing/allocations.hpp>
#include <coracle/testing/virtual_time_loop.hpp>
#include <coracle/time/sleep.hpp>
#include <list>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "../support/abort_message.hpp"
#include "../support/detached.hpp"
#include "../support/run_on_stack.hpp"

namespace {
using namespace std::chrono_literals;
using coracle::for_each_concurrent;
using coracle::sleep_for;
using coracle::task;
using coracle::testing::virtual_time_loop;

/// The number of children that run, and its maximum.
struct crowd {
  int now = 0, most = 0, begun = 0, ended = 0, cancelled = 0;
  task<> stay(std::chrono::milliseconds time) {
    ++begun;
    most = std::max(most, ++now);
    try {
      co_await coracle::throwing(sleep_for(time));
      ++ended;
    } catch (const coracle::operation_cancelled&) {
      ++cancelled;
      --now;
      throw;
    }
    --now;
  }
};

TEST_CASE("for_each_concurrent: at most so many run at the same time, and all come to their end") {
  virtual_time_loop loop;
  crowd people;
  const std::vector<int> times{50, 10, 10, 10, 20, 5};
  const auto stay = [&](int time) { return people.stay(std::chrono::milliseconds(time)); };
  const auto begin = loop.now();
  loop.run(for_each_concurrent(times, 2, stay));
  CHECK(people.most == 2);
  CHECK(people.ended == 6);
  CHECK(loop.now() - begin == 55ms);
}

TEST_CASE("for_each_concurrent: the function is called in the order of the range, as places become free") {
  virtual_time_loop loop;
  std::vector<int> begun, ended;
  const auto work = [&](int time) -> task<> {
    begun.push_back(time);
    co_await sleep_for(std::chrono::milliseconds(time));
    ended.push_back(time);
  };
  loop.run(for_each_concurrent(std::vector{30, 10, 5, 1}, 2, work));
  CHECK(begun == std::vector{30, 10, 5, 1});
  CHECK(ended == std::vector{10, 5, 1, 30});
}

TEST_CASE("for_each_concurrent: an empty range, and children that are over at once") {
  int calls = 0;
  const auto count = [&](int) -> task<> {
    ++calls;
    co_return;
  };
  coracle::sync_wait(for_each_concurrent(std::vector<int>{}, 1, count));
  CHECK(calls == 0);
  coracle::sync_wait(for_each_concurrent(std::vector<int>(1000, 1), 3, count));
  CHECK(calls == 1000);
}

TEST_CASE("for_each_concurrent: an endless range is looked at only as far as there is room") {
  virtual_time_loop loop;
  int made = 0;
  const auto numbers = [&]() -> coracle::generator<int> {
    for (;;) co_yield made++;
  };
  crowd people;
  const auto stay = [&](int number) -> task<> {
    if (number == 10) throw std::runtime_error("ten");
    co_await people.stay(1ms);
  };
  CHECK_THROWS_WITH_AS(loop.run(for_each_concurrent(numbers(), 4, stay)), "ten", std::runtime_error);
  CHECK(made <= 12);
  CHECK(people.now == 0);
}

TEST_CASE("for_each_concurrent: an element that does not stay in the range lives as long as its child") {
  virtual_time_loop loop;
  const auto names = []() -> coracle::generator<std::string> {
    for (int i = 0; i != 5; ++i)
      co_yield "a name that is too long to be kept in the string itself " + std::to_string(i);
  };
  std::string last;
  const auto read = [&](const std::string& name) -> task<> {
    co_await sleep_for(10ms);
    last = name;
  };
  loop.run(for_each_concurrent(names(), 3, read));
  CHECK(last == "a name that is too long to be kept in the string itself 4");
}

TEST_CASE("for_each_concurrent: an lvalue range is referred to, and its elements may be changed") {
  std::list<int> numbers{1, 2, 3};
  const auto twice = [](int& number) -> task<> {
    number *= 2;
    co_return;
  };
  coracle::sync_wait(for_each_concurrent(numbers, 2, twice));
  CHECK(numbers == std::list{2, 4, 6});
}

TEST_CASE("for_each_concurrent: any awaitable, and what it gives is dropped") {
  coracle::async_manual_reset_event open{true};
  int calls = 0;
  const auto wait = [&](int) -> coracle::async_manual_reset_event& {
    ++calls;
    return open;
  };
  const auto give = [&](int) -> task<std::unique_ptr<int>> {
    ++calls;
    co_return nullptr;
  };
  coracle::sync_wait(for_each_concurrent(std::vector{1, 2}, 2, wait));
  coracle::sync_wait(for_each_concurrent(std::vector{1, 2}, 2, give));
  CHECK(calls == 4);
}

TEST_CASE("for_each_concurrent: the first error stops the others, which are joined, and starts no more") {
  virtual_time_loop loop;
  crowd people;
  const auto work = [&](int number) -> task<> {
    if (number == 2) {
      co_await sleep_for(5ms);
      throw std::runtime_error("two");
    }
    co_await people.stay(100ms);
  };
  const auto begin = loop.now();
  CHECK_THROWS_WITH_AS(loop.run(for_each_concurrent(std::vector{1, 2, 3, 4, 5}, 3, work)), "two",
                       std::runtime_error);
  CHECK(loop.now() - begin == 5ms);
  CHECK(people.begun == 2);
  CHECK(people.cancelled == 2);
}

TEST_CASE("for_each_concurrent: several errors come as an error_group, the first in time first") {
  virtual_time_loop loop;
  const auto work = [&](int number) -> task<> {
    try {
      co_await coracle::throwing(sleep_for(std::chrono::milliseconds(number)));
    } catch (const coracle::operation_cancelled&) {  // and fails all the same
    }
    throw std::runtime_error(std::to_string(number));
  };
  CHECK_THROWS_WITH_AS(loop.run(for_each_concurrent(std::vector{3, 1, 2}, 3, work)), "3 errors: 1; 3; 2",
                       coracle::error_group);
}

TEST_CASE("for_each_concurrent: an error of the function or of the range is one of them") {
  virtual_time_loop loop;
  crowd people;
  const auto refuse = [&](int number) -> task<> {
    if (number == 2) throw std::runtime_error("no task");
    return people.stay(10ms);
  };
  CHECK_THROWS_WITH_AS(loop.run(for_each_concurrent(std::vector{1, 2}, 3, refuse)), "no task",
                       std::runtime_error);
  const auto numbers = []() -> coracle::generator<int> {
    co_yield 1;
    throw std::runtime_error("no number");
  };
  const auto stay = [&](int) { return people.stay(10ms); };
  CHECK_THROWS_WITH_AS(loop.run(for_each_concurrent(numbers(), 3, stay)), "no number", std::runtime_error);
  CHECK(people.cancelled == 2);
  CHECK(people.now == 0);
}

TEST_CASE("for_each_concurrent: a child that is cancelled by itself cancels the rest") {
  virtual_time_loop loop;
  crowd people;
  const auto work = [&](int number) -> task<> {
    if (number == 1) throw coracle::operation_cancelled{coracle::stop_reason::shutting_down};
    co_await people.stay(10ms);
  };
  CHECK_THROWS_WITH_AS(loop.run(for_each_concurrent(std::vector{0, 1, 2}, 3, work)),
                       "operation cancelled: shutting down", coracle::operation_cancelled);
  CHECK(people.cancelled == 1);
}

TEST_CASE("for_each_concurrent: stop requested before: the range is not looked at") {
  coracle::stop_source source;
  source.request_stop();
  int made = 0;
  const auto numbers = [&]() -> coracle::generator<int> { co_yield ++made; };
  const auto work = [](int) -> task<> { co_return; };
  CHECK_THROWS_AS(
      coracle::sync_wait(coracle::with_stop(for_each_concurrent(numbers(), 1, work), source.get_token())),
      coracle::operation_cancelled);
  CHECK(made == 0);
}

TEST_CASE(
    "for_each_concurrent: stop requested during: the running ones are stopped and joined, no more started") {
  virtual_time_loop loop;
  coracle::stop_source source;
  crowd people;
  const auto work = [&](int number) -> task<> {
    if (number == 2) source.request_stop(coracle::stop_reason::timed_out);
    co_await people.stay(10ms);
  };
  auto all = coracle::with_stop(for_each_concurrent(std::vector{1, 2, 3, 4}, 2, work), source.get_token());
  CHECK_THROWS_WITH_AS(loop.run(std::move(all)), "operation cancelled: its deadline has passed",
                       coracle::operation_cancelled);
  CHECK(people.ended == 0);
  CHECK(people.now == 0);
}

TEST_CASE("for_each_concurrent: a stop request that cancels nothing any more has no effect") {
  coracle::stop_source source;
  const auto work = [&](int number) -> task<> {
    if (number == 3) source.request_stop();
    co_return;
  };
  coracle::sync_wait(
      coracle::with_stop(for_each_concurrent(std::vector{1, 2, 3}, 1, work), source.get_token()));
}

TEST_CASE("for_each_concurrent: goes on on its own executor, whatever threads the children end on") {
  coracle::run_loop loop;
  coracle::static_thread_pool pool{2};
  bool in_place = true, over = false;
  const auto work = [&](int) -> task<> {
    in_place = in_place && coracle::current_executor() == &loop;
    co_await pool.schedule();
  };
  const auto run = [&]() -> task<> {
    co_await for_each_concurrent(std::vector<int>(100), 7, work);
    in_place = in_place && coracle::current_executor() == &loop;
    over = true;
    loop.stop();
  };
  coracle_test::run_detached_on(loop, run());
  loop.run();
  CHECK(over);
  CHECK(in_place);
}

TEST_CASE("for_each_concurrent: children that are always over at once let others run") {
  virtual_time_loop loop;
  bool other_ran = false, ran_meanwhile = false;
  const auto work = [&](int) -> task<> {
    ran_meanwhile = ran_meanwhile || other_ran;
    co_return;
  };
  const auto other = [&]() -> task<> {
    other_ran = true;
    co_return;
  };
  coracle_test::run_detached_on(loop, other());
  loop.run(for_each_concurrent(std::vector<int>(1000), 2, work));
  CHECK(ran_meanwhile);
}

TEST_CASE("for_each_concurrent: 10,000 inside one another on 1 MiB of stack") {
  int deepest = 0;
  const bool ran = coracle_test::run_on_stack(1024 * 1024, [&] {
    struct nest {
      static task<> go(int depth, int& found) {
        found = std::max(found, depth);
        if (depth == 10'000) co_return;
        const auto deeper = [&](int) { return go(depth + 1, found); };
        co_await for_each_concurrent(std::vector<int>(1), 1, deeper);
      }
    };
    coracle::sync_wait(nest::go(0, deepest));
  });
  REQUIRE(ran);
  CHECK(deepest == 10'000);
}

TEST_CASE("for_each_concurrent: where an allocation fails all that was started is joined" *
          doctest::skip(!coracle::testing::allocations_are_counted)) {
  int failed = 0;
  const int failures = coracle::testing::fail_each_allocation([&] {
    const auto work = [](int) -> task<> { co_return; };
    const int numbers[] = {1, 2, 3};
    try {
      coracle::sync_wait(for_each_concurrent(numbers, 2, work));
    } catch (const std::bad_alloc&) {
      ++failed;
    }
  });
  CHECK(failures >= 4);
  CHECK(failed == failures);
}

TEST_CASE("for_each_concurrent: an element costs no allocation but its child's frame" *
          doctest::skip(!coracle::testing::allocations_are_counted)) {
  const auto count = [](std::size_t elements) {
    const std::vector<int> numbers(elements, 1);
    const auto work = [](int) -> task<> { co_return; };
    coracle::sync_wait(for_each_concurrent(numbers, 4, work));  // fills the recycler
    const auto before = coracle::testing::allocations();
    coracle::sync_wait(for_each_concurrent(numbers, 4, work));
    return coracle::testing::allocations() - before;
  };
  CHECK(count(10) == count(1000));
}

TEST_CASE("for_each_concurrent: a limit of none ends the program and says so") {
  CHECK(coracle_test::abort_message([] {
          const auto work = [](int) -> task<> { co_return; };
          coracle::sync_wait(for_each_concurrent(std::vector{1}, 0, work));
        }) == "coracle: a concurrency limit of 0 never starts a child: it has to be at least 1\n");
}

TEST_CASE("for_each_concurrent: what a child holds is gone once it has ended, though others still run") {
  const auto owner = std::make_shared<int>(0);
  coracle::async_manual_reset_event event;
  const auto hold = [&](std::shared_ptr<int>, bool waits) -> coracle::task<> {
    if (waits) co_await event;
  };
  const auto work = [&](int i) { return hold(owner, i == 1); };
  coracle_test::run_detached(for_each_concurrent(std::vector{1, 2, 3}, 2, work));
  CHECK(owner.use_count() == 2);
  event.set();
  CHECK(owner.use_count() == 1);
}

TEST_CASE("child_group: awaiting one without children ends the program with a message") {
  CHECK(coracle_test::abort_message([] {
          const coracle::environment outside;
          coracle::detail::child_group none{coracle::detail::parent_of_children(outside)};
          static_cast<void>(none.next());
        }).find("coracle: a child_group without children was waited for") == 0);
}
}  // namespace
