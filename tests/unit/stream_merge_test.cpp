// tests/unit/stream_merge_test.cpp -- several streams as one.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <algorithm>
#include <coracle/channels/channel.hpp>
#include <coracle/compose/as_outcome.hpp>
#include <coracle/core/sync_wait.hpp>
#include <coracle/core/with_environment.hpp>
#include <coracle/exec/run_loop.hpp>
#include <coracle/generators/async_generator.hpp>
#include <coracle/streams/buffered.hpp>
#include <coracle/streams/ends.hpp>
#include <coracle/streams/merge.hpp>
#include <coracle/streams/stages.hpp>
#include <coracle/sync/async_manual_reset_event.hpp>
#include <coracle/testing/allocations.hpp>
#include <coracle/testing/lifetime_probe.hpp>
#include <coracle/utility/on_scope_exit.hpp>
#include <coroutine>
#include <memory>
#include <new>
#include <stdexcept>
#include <vector>

#include "../support/detached.hpp"
#include "../support/test_coroutine.hpp"
#include "async_sources.hpp"

namespace {
namespace streams = coracle::streams;
using coracle::async_generator;
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
using streams::collect;
using streams::for_each;
using streams::map;
using streams::merge;
using streams::take;
using streams::zip;

constexpr auto twice = [](int n) -> task<int> { co_return 2 * n; };

TEST_CASE("merge: gives the elements of all streams, each stream's in order, and ends with the last") {
  const ints seen = sync_wait(merge(counting(0, 3), counting(10, 15), counting(20, 20)) | collect());
  CHECK(seen.size() == 8);
  ints small, large;
  for (const int n : seen) (n < 10 ? small : large).push_back(n);
  CHECK(small == ints{0, 1, 2});
  CHECK(large == ints{10, 11, 12, 13, 14});
  CHECK(sync_wait(merge(counting(0, 3)) | collect()) == ints{0, 1, 2});
}

TEST_CASE("merge: streams that have elements all the time take turns") {
  int first = 0, second = 0;
  const auto negative = [](int n) { return -1 - n; };
  const ints seen =
      sync_wait(merge(counting_asked(first), counting_asked(second) | map(negative)) | take(6) | collect());
  CHECK(std::count_if(seen.begin(), seen.end(), [](int n) { return n < 0; }) == 3);
  CHECK(first <= 5);
  CHECK(second <= 5);
}

TEST_CASE("merge: an element is shown as soon as it is there, from whichever stream") {
  coracle::channel<int> first{1}, second{1};
  ints seen;
  coracle_test::run_detached(merge(first, second) | for_each([&seen](int n) { seen.push_back(n); }));
  CHECK(second.try_send(2));
  CHECK(second.try_send(3));
  CHECK(first.try_send(1));
  CHECK(seen == ints{2, 3, 1});
  first.close();
  CHECK(second.try_send(4));
  CHECK(seen == ints{2, 3, 1, 4});
  second.close();
}

TEST_CASE("merge: elements of one type are shown where they stand; of several, as their common type") {
  lifetimes log;
  const auto probes = [](lifetimes& to, int from) -> async_generator<lifetime_probe> {
    for (int i = from; i != from + 2; ++i) {
      lifetime_probe each(to, i);
      co_yield each;
    }
  };
  int sum = 0;
  sync_wait(merge(probes(log, 0), probes(log, 10)) | for_each([&sum](lifetime_probe& p) { sum += p.id(); }));
  CHECK(sum == 22);
  CHECK(log.copies == 0);
  CHECK(log.moves == 0);
  const auto half = [](int n) { return n / 2.0; };
  const auto both = sync_wait(merge(counting(1, 2), counting(1, 2) | map(half)) | collect());
  static_assert(std::is_same_v<decltype(both), const std::vector<double>>);
  CHECK(both.size() == 2);
}

TEST_CASE("merge: elements that can only be moved are moved where only some streams pass them by reference") {
  using box = std::unique_ptr<int>;
  const auto boxes = []() -> coracle::async_generator<box> {
    box mine = std::make_unique<int>(1);
    co_yield mine;
    CHECK(!mine);
  };
  coracle::channel<box> channel{1};
  CHECK(channel.try_send(std::make_unique<int>(2)));
  channel.close();
  int sum = 0;
  sync_wait(merge(channel, boxes()) | for_each([&](const box& each) { sum += *each; }));
  CHECK(sum == 3);
}

TEST_CASE("merge: each stream is at most one element ahead of the consumer") {
  int first = 0, second = 0;
  async_manual_reset_event never;
  coracle::stop_source source;
  const auto wait = [&](int) -> task<> { co_await never; };
  const auto run = [&]() -> task<> {
    try {
      co_await (merge(counting_asked(first), counting_asked(second)) | for_each(wait));
    } catch (const coracle::operation_cancelled&) {
    }
  };
  coracle_test::run_detached(coracle::with_stop(run(), source.get_token()));
  CHECK(first == 1);
  CHECK(second == 1);
  source.request_stop();
  CHECK(first == 1);
}

TEST_CASE("merge: an error of one stream stops and joins the others, and leaves the pipeline") {
  bool joined = false;
  async_manual_reset_event never;
  const auto waiting = [](async_manual_reset_event& event, bool& ended) -> async_generator<int> {
    const auto note = coracle::on_scope_exit([&ended] { ended = true; });
    co_await event;
    co_yield 1;
  };
  CHECK_THROWS_WITH_AS(sync_wait(merge(waiting(never, joined), failing_after(2)) | collect()),
                       "the source fails", std::runtime_error);
  CHECK(joined);
}

TEST_CASE("merge: a stop request ends all streams that wait") {
  coracle::stop_source source;
  coracle::channel<int> first{1}, second{1};
  bool cancelled = false;
  const auto run = [&]() -> task<> {
    try {
      co_await (merge(first, second | buffered(2)) | collect());
    } catch (const coracle::operation_cancelled&) {
      cancelled = true;
    }
  };
  coracle_test::run_detached(coracle::with_stop(run(), source.get_token()));
  CHECK_FALSE(cancelled);
  source.request_stop();
  CHECK(cancelled);
}

TEST_CASE("merge, zip and buffered: a stop request ends a source that never waits while a stage drops all") {
  int asked = 0;
  const auto elements_until_stopped = [&](auto stages) {
    asked = 0;
    coracle::stop_source source;
    const auto drop = [&](int n) {
      if (n == 10) source.request_stop();
      return n == 1000;
    };
    auto none = counting_asked(asked) | streams::filter(drop);
    const auto end = sync_wait(coracle::as_outcome(
        coracle::with_stop(stages(std::move(none)) | for_each([](auto&&) {}), source.get_token())));
    CHECK(end.is_cancelled());
    return asked;
  };
  CHECK(elements_until_stopped([](auto none) { return std::move(none) | buffered(2); }) == 11);
  CHECK(elements_until_stopped([](auto none) { return merge(std::move(none)); }) == 11);
  CHECK(elements_until_stopped([](auto none) { return zip(std::move(none), counting(0, 1)); }) == 11);
  CHECK(elements_until_stopped([](auto none) { return zip(counting(0, 1), std::move(none)); }) == 11);
}

TEST_CASE("merge: a pipeline that needs no more ends a source that never waits while a stage drops all") {
  coracle::run_loop loop;
  const auto none = [](int) { return false; };
  int asked = 0;
  ints seen;
  const auto run = [&]() -> task<> {
    co_await loop.schedule();
    seen =
        co_await (merge(counting_asked(asked) | streams::filter(none), counting(5, 7)) | take(2) | collect());
    loop.stop();
  };
  coracle_test::run_detached(run());
  for (int turns = 0; turns != 100 && seen.empty(); ++turns) loop.run_pending();
  REQUIRE(seen == ints{5, 6});
}

TEST_CASE("merge, zip and buffered inside one another") {
  const auto add = [](std::pair<int, int> both) { return both.first + both.second; };
  const ints sums =
      sync_wait(zip(counting(0, 4) | buffered(2), merge(counting(0, 2), counting(0, 2)) | buffered(3)) |
                map(add) | buffered(2) | collect());
  CHECK(sums.size() == 4);
  int sum = 0;
  for (const int each : sums) sum += each;
  CHECK(sum == 8);
}

TEST_CASE("merge: the pipeline resumes on its own executor whoever sends") {
  coracle::run_loop loop;
  coracle::channel<int> first{1}, second{1};
  std::vector<bool> at_home;
  const auto see = [&](int) { at_home.push_back(coracle::current_executor() == &loop); };
  coracle_test::run_detached_on(loop, merge(first, second) | take(2) | for_each(see));
  while (loop.run_one()) {
  }
  CHECK(second.try_send(1));
  CHECK(first.try_send(2));
  CHECK(at_home.empty());
  while (loop.run_one()) {
  }
  CHECK(at_home == std::vector{true, true});
}

TEST_CASE("buffered and merge: a failed allocation leaves the pipeline as an error, and nothing behind" *
          doctest::skip(!coracle::testing::allocations_are_counted)) {
  CHECK(coracle::testing::fail_each_allocation([] {
          try {
            static_cast<void>(
                sync_wait(merge(counting(0, 2) | map(twice) | buffered(2), counting(0, 2)) | collect()));
          } catch (const std::bad_alloc&) {
          }
        }) > 10);
}

/// Suspends its coroutine, which the test resumes.
struct suspended_at {
  std::coroutine_handle<>& handle;
  bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<> self) const noexcept { handle = self; }
  void await_resume() const noexcept {}
};

TEST_CASE("buffered: where there is no memory to wait for room, the pipeline ends all the same" *
          doctest::skip(!coracle::testing::allocations_are_counted)) {
  CHECK(coracle::testing::fail_each_allocation([] {
          std::coroutine_handle<> first;
          const auto element = [&](int n) -> task<int> {
            if (n == 0) co_await suspended_at{first};
            co_return n;
          };
          bool over = false;
          const auto run = [&]() -> task<> {
            try {
              co_await (counting(0, 3) | map(element) | buffered(1) | collect());
            } catch (const std::bad_alloc&) {
            }
            over = true;
          };
          try {
            const auto running = coracle_test::started(run());
            if (first) coracle::resume(first);
            CHECK(over);
          } catch (const std::bad_alloc&) {
          }
        }) > 5);
}
}  // namespace
