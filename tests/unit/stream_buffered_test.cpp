// tests/unit/stream_buffered_test.cpp -- pipelines that run ahead of their consumer: buffered and merge.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <algorithm>
#include <coracle/channels/channel.hpp>
#include <coracle/core/shared_task.hpp>
#include <coracle/core/sync_wait.hpp>
#include <coracle/core/with_environment.hpp>
#include <coracle/exec/static_thread_pool.hpp>
#include <coracle/generators/async_generator.hpp>
#include <coracle/streams/buffered.hpp>
#include <coracle/streams/ends.hpp>
#include <coracle/streams/stages.hpp>
#include <coracle/sync/async_manual_reset_event.hpp>
#include <coracle/testing/lifetime_probe.hpp>
#include <coracle/utility/on_scope_exit.hpp>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "../support/abort_message.hpp"
#include "../support/detached.hpp"
#include "../support/test_coroutine.hpp"
#include "async_sources.hpp"

namespace {
namespace streams = coracle::streams;
using coracle::async_manual_reset_event;
using coracle::sync_wait;
using coracle::task;
using coracle::testing::lifetime_probe;
using coracle::testing::lifetimes;
using coracle_test::async_sources::counting;
using coracle_test::async_sources::counting_asked;
using coracle_test::async_sources::failing_after;
using coracle_test::async_sources::ints;
using streams::buffered;
using streams::chunk;
using streams::collect;
using streams::filter;
using streams::fold;
using streams::for_each;
using streams::map;
using streams::take;

constexpr auto is_even = [](int n) { return n % 2 == 0; };
constexpr auto twice = [](int n) -> task<int> { co_return 2 * n; };

/// Elements that complete when the test decides.
struct jobs {
  explicit jobs(std::size_t count) : may_end(count) {}
  task<int> run(int n) {
    const auto i = static_cast<std::size_t>(n);
    ++running;
    most = std::max(most, running);
    started.push_back(n);
    bool over = false;
    const auto on_end = coracle::on_scope_exit([&] {
      --running;
      cancelled += over ? 0 : 1;
    });
    co_await may_end[i];
    over = true;
    co_return 10 * n;
  }
  auto starter() {
    return [this](int n) { return run(n); };
  }

  std::vector<async_manual_reset_event> may_end;
  ints started;
  int running = 0, most = 0, cancelled = 0;
};

TEST_CASE("buffered: the elements are the same, in the same order, whatever the limit") {
  for (const std::size_t limit : {1u, 2u, 3u, 100u}) {
    CHECK(sync_wait(counting(0, 5) | buffered(limit) | collect()) == ints{0, 1, 2, 3, 4});
    CHECK(sync_wait(counting(0, 5) | map(twice) | buffered(limit) | collect()) == ints{0, 2, 4, 6, 8});
    CHECK(sync_wait(counting(0, 5) | filter(is_even) | buffered(limit) | chunk(2) | collect()) ==
          std::vector<ints>{{0, 2}, {4}});
    CHECK(sync_wait(counting(0, 0) | buffered(limit) | collect()).empty());
  }
}

TEST_CASE("buffered: so many awaitables are on their way at a time, and their results keep the order") {
  jobs all(5);
  ints seen;
  coracle_test::run_detached(counting(0, 5) | map(all.starter()) | buffered(2) |
                             for_each([&seen](int n) { seen.push_back(n); }));
  CHECK(all.started == ints{0, 1});
  all.may_end[1].set();
  CHECK(seen.empty());
  CHECK(all.started == ints{0, 1});
  all.may_end[0].set();
  CHECK(seen == ints{0, 10});
  CHECK(all.started == ints{0, 1, 2, 3});
  for (async_manual_reset_event& each : all.may_end) each.set();
  CHECK(seen == ints{0, 10, 20, 30, 40});
  CHECK(all.most == 2);
  CHECK(all.running == 0);
}

TEST_CASE("buffered: the source runs ahead by so many elements and not by one more") {
  int asked = 0;
  async_manual_reset_event go_on;
  ints seen;
  const auto see = [&](int n) -> task<> {
    seen.push_back(n);
    co_await go_on;
  };
  coracle_test::run_detached(counting_asked(asked) | buffered(3) | take(2) | for_each(see));
  CHECK(seen == ints{0});
  CHECK(asked == 4);
  go_on.set();
  CHECK(seen == ints{0, 1});
  CHECK(asked == 5);
}

TEST_CASE("buffered: an element that is there is given out while the source still waits for the next") {
  coracle::channel<int> numbers{4};
  ints seen;
  coracle_test::run_detached(numbers | map(twice) | buffered(3) |
                             for_each([&seen](int n) { seen.push_back(n); }));
  CHECK(numbers.try_send(1));
  CHECK(seen == ints{2});
  CHECK(numbers.try_send(2));
  CHECK(seen == ints{2, 4});
  numbers.close();
}

TEST_CASE("buffered: awaitables of nothing, of references and of what can only be moved") {
  int done = 0;
  const auto work = [&](int) -> task<> {
    ++done;
    co_return;
  };
  CHECK(sync_wait(counting(0, 3) | map(work) | buffered(2) | collect()).size() == 3);
  CHECK(done == 3);
  ints numbers{1, 2, 3};
  const auto at = [&](int i) -> task<int&> { co_return numbers[static_cast<std::size_t>(i)]; };
  sync_wait(counting(0, 3) | map(at) | buffered(2) | for_each([](int& n) { n = 0; }));
  CHECK(numbers == ints{0, 0, 0});
  const auto box = [](int n) -> task<std::unique_ptr<int>> { co_return std::make_unique<int>(n); };
  CHECK(*sync_wait(counting(7, 8) | map(box) | buffered(2) | collect()).at(0) == 7);
}

TEST_CASE("buffered: awaitables that the source shows in place are moved or copied, and awaited") {
  std::vector<coracle::shared_task<int>> kept;
  jobs all(3);
  const auto start = [&]() -> coracle::async_generator<task<int>> {
    for (int n = 0; n != 3; ++n) co_yield all.run(n);
  };
  const auto share = [&]() -> coracle::async_generator<coracle::shared_task<int>> {
    for (int n = 0; n != 3; ++n) {
      coracle::shared_task<int> own = coracle::make_shared_task(all.run(n));
      kept.push_back(own);
      co_yield own;
    }
  };
  const auto run = [&](auto source) {
    ints seen;
    all.most = 0;
    coracle_test::run_detached(std::move(source) | buffered(2) | for_each([&](int n) { seen.push_back(n); }));
    CHECK(all.running == 2);
    for (async_manual_reset_event& each : all.may_end) each.set();
    CHECK(seen == ints{0, 10, 20});
    CHECK(all.most == 2);
    for (async_manual_reset_event& each : all.may_end) each.reset();
  };
  run(start());
  run(share());
  async_manual_reset_event set{true};
  const auto show = [&](int) -> async_manual_reset_event& { return set; };
  CHECK(sync_wait(counting(0, 3) | map(show) | buffered(2) | collect()).size() == 3);
}

TEST_CASE("buffered: a pipeline that needs no more stops what is on its way and joins it before it ends") {
  jobs all(6);
  ints seen;
  bool ended = false;
  const auto run = [&]() -> task<> {
    seen = co_await (counting(0, 6) | map(all.starter()) | buffered(3) | take(1) | collect());
    CHECK(all.running == 0);
    ended = true;
  };
  coracle_test::run_detached(run());
  CHECK(all.running == 3);
  all.may_end[0].set();
  CHECK(ended);
  CHECK(seen == ints{0});
  CHECK(all.cancelled == 3);
}

TEST_CASE("buffered: it joins work that does not obey the stop request") {
  async_manual_reset_event slow_may_end;
  bool ended = false;
  const auto work = [&](int n) -> task<int> {
    if (n == 1) co_await coracle::shielded(slow_may_end);
    co_return n;
  };
  const auto run = [&]() -> task<> {
    const ints seen = co_await (counting(0, 6) | map(work) | buffered(2) | take(1) | collect());
    CHECK(seen == ints{0});
    ended = true;
  };
  coracle_test::run_detached(run());
  CHECK_FALSE(ended);
  slow_may_end.set();
  CHECK(ended);
}

TEST_CASE("buffered: what a pipeline that needs no more stops is destroyed where it waits") {
  async_manual_reset_event never;
  bool handled = false;
  int destroyed = 0;
  const auto work = [&](int n) -> task<int> {
    if (n == 0) co_return 0;
    const auto on_end = coracle::on_scope_exit([&] { ++destroyed; });
    try {
      co_await never;
    } catch (const coracle::operation_cancelled&) {
      handled = true;
      throw;
    }
    co_return n;
  };
  ints seen;
  const auto see = [&seen](int n) { seen.push_back(n); };
  coracle::sync_wait(counting(0, 3) | map(work) | buffered(3) | take(1) | for_each(see));
  CHECK(seen == ints{0});
  CHECK(destroyed == 2);
  CHECK_FALSE(handled);
}

TEST_CASE("buffered: an element's error comes in its turn, and stops and joins the others") {
  jobs all(6);
  ints seen;
  std::string error;
  const auto work = [&](int n) -> task<int> {
    if (n == 1) throw std::runtime_error("an element fails");
    co_return co_await all.run(n);
  };
  const auto run = [&]() -> task<> {
    const auto see = [&seen](int n) { seen.push_back(n); };
    try {
      co_await (counting(0, 6) | map(work) | buffered(3) | for_each(see));
    } catch (const std::runtime_error& e) {
      error = e.what();
    }
    CHECK(all.running == 0);
  };
  coracle_test::run_detached(run());
  CHECK(error.empty());
  all.may_end[0].set();
  CHECK(seen == ints{0});
  CHECK(error == "an element fails");
}

TEST_CASE("buffered: an error of the source comes behind the elements before it") {
  ints seen;
  const auto see = [&](int n) { seen.push_back(n); };
  CHECK_THROWS_WITH_AS(sync_wait(failing_after(3) | buffered(2) | for_each(see)), "the source fails",
                       std::runtime_error);
  CHECK(seen == ints{0, 1, 2});
  CHECK_THROWS_AS(sync_wait(failing_after(3) | map(twice) | buffered(9) | collect()), std::runtime_error);
}

TEST_CASE("buffered: an error ahead of what the pipeline takes is dropped with the elements there") {
  CHECK(sync_wait(failing_after(3) | buffered(9) | take(2) | collect()) == ints{0, 1});
  const auto fail_at_two = [](int n) -> task<int> {
    if (n == 2) throw std::runtime_error("an element fails");
    co_return n;
  };
  CHECK(sync_wait(counting(0, 5) | map(fail_at_two) | buffered(9) | take(2) | collect()) == ints{0, 1});
  const auto fail = [](int) { throw std::runtime_error("the end fails"); };
  CHECK_THROWS_WITH_AS(sync_wait(failing_after(3) | buffered(9) | for_each(fail)), "the end fails",
                       std::runtime_error);
}

TEST_CASE("buffered: an error of the end stops and joins what is on its way") {
  jobs all(3);
  all.may_end[0].set();
  const auto fail = [](int) { throw std::runtime_error("the end fails"); };
  CHECK_THROWS_WITH_AS(sync_wait(counting(0, 3) | map(all.starter()) | buffered(3) | for_each(fail)),
                       "the end fails", std::runtime_error);
  CHECK(all.running == 0);
  CHECK(all.cancelled == 2);
}

TEST_CASE(
    "buffered: a stop request stops what is on its way and the source; the pipeline ends once they have") {
  coracle::stop_source source;
  jobs all(3);
  async_manual_reset_event ends_late;
  bool cancelled = false;
  const auto work = [&](int n) -> task<int> {
    try {
      co_return co_await all.run(n);
    } catch (...) {
    }
    co_await coracle::shielded(ends_late);
    throw std::runtime_error("dropped, since the pipeline is being stopped");
  };
  const auto run = [&]() -> task<> {
    try {
      co_await (counting(0, 3) | map(work) | buffered(3) | collect());
    } catch (const coracle::operation_cancelled& e) {
      cancelled = e.reason() == coracle::stop_reason::timed_out;
    }
  };
  coracle_test::run_detached(coracle::with_stop(run(), source.get_token()));
  source.request_stop(coracle::stop_reason::timed_out);
  CHECK(all.cancelled == 3);
  CHECK_FALSE(cancelled);
  ends_late.set();
  CHECK(cancelled);
}

TEST_CASE("buffered: elements inherit the environment of the pipeline") {
  const coracle::task_local<int> number{0};
  const auto read = [&](int n) -> task<int> { co_return n + co_await number.value(); };
  CHECK(sync_wait(coracle::with_value(counting(0, 3) | map(read) | buffered(2) | collect(), number, 10)) ==
        ints{10, 11, 12});
}

TEST_CASE("buffered: elements that end on a pool, and stages behind one another") {
  coracle::static_thread_pool pool{2};
  const auto work = [&](int n) -> task<int> {
    co_await pool.schedule();
    co_return n + 1;
  };
  const int sum = sync_wait(counting(0, 200) | map(work) | buffered(8) | map(work) | buffered(3) |
                            fold(0, [](int a, int b) { return a + b; }));
  CHECK(sum == 199 * 100 + 400);
}

TEST_CASE("buffered: each result is moved along and destroyed once") {
  lifetimes log;
  const auto probe = [&](int n) -> task<lifetime_probe> { co_return lifetime_probe(log, n); };
  sync_wait(counting(0, 5) | map(probe) | buffered(2) | take(3) | for_each([](lifetime_probe) {}));
  CHECK(log.copies == 0);
  CHECK(log.alive == 0);
}

TEST_CASE("buffered: what the coroutine of an element owns is gone once the element is taken") {
  lifetimes lives;
  const auto owning = [](lifetime_probe, int n) -> task<int> { co_return n; };
  const auto owning_only = [](lifetime_probe) -> task<> { co_return; };
  int taken = 0, alive_at_last = -1;
  const auto count = [&](auto&&) {
    if (++taken == 4) alive_at_last = lives.alive;
  };
  SUBCASE("of a value") {
    sync_wait(counting(0, 4) | map([&](int n) { return owning(lifetime_probe(lives, n), n); }) | buffered(2) |
              for_each(count));
  }
  SUBCASE("of nothing") {
    sync_wait(counting(0, 4) | map([&](int n) { return owning_only(lifetime_probe(lives, n)); }) |
              buffered(2) | for_each(count));
  }
  CHECK(taken == 4);
  CHECK(alive_at_last == 0);
}

TEST_CASE("buffered: the error of an element that gives nothing comes in its turn") {
  const auto fail_at_two = [](int n) -> task<> {
    if (n == 2) throw std::runtime_error("the element fails");
    co_return;
  };
  int taken = 0;
  CHECK_THROWS_WITH_AS(sync_wait(counting(0, 4) | map(fail_at_two) | buffered(2) |
                                 for_each([&](coracle::void_value) { ++taken; })),
                       "the element fails", std::runtime_error);
  CHECK(taken == 2);
}

TEST_CASE("buffered: a pipeline that is destroyed while it runs ends the program and says so") {
  CHECK(coracle_test::abort_message([] {
          coracle::channel<int> never{1};
          auto running = coracle_test::started(never | buffered(1) | collect());
          running.destroy();
        }) ==
        "coracle: a pipeline was destroyed while its children run: await it to its end; to end it early, "
        "request a stop\n");
}

TEST_CASE("buffered: no limit ends the program and says so") {
  CHECK(coracle_test::abort_message([] { static_cast<void>(buffered(0)); }) ==
        "coracle: buffered(0): the limit must be at least 1\n");
  CHECK(coracle_test::abort_message([] { static_cast<void>(chunk(0)); }) ==
        "coracle: chunk(0): a chunk has at least one element\n");
}
}  // namespace
