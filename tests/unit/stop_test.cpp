// tests/unit/stop_test.cpp -- stop requests, their reasons and callbacks, and when these run.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <coracle/core/linked_stop_source.hpp>
#include <coracle/core/operation_cancelled.hpp>
#include <coracle/core/stop.hpp>
#include <coracle/core/sync_wait.hpp>
#include <coracle/core/task.hpp>
#include <coracle/exec/static_thread_pool.hpp>
#include <coracle/sync/async_manual_reset_event.hpp>
#include <coracle/testing/allocations.hpp>
#include <latch>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

#include "../support/abort_message.hpp"
#include "../support/detached.hpp"

namespace {
using coracle::stop_callback;
using coracle::stop_reason;
using coracle::stop_source;
using coracle::stop_token;
using coracle::detail::linked_stop_source;
using coracle_test::detached;

static_assert(sizeof(stop_token) == sizeof(void*));
static_assert(std::is_nothrow_copy_constructible_v<stop_token>);
static_assert(!std::is_copy_constructible_v<stop_callback<void (*)()>>);

TEST_CASE("stop_token: an empty one is never requested and never will be") {
  const stop_token token;
  CHECK_FALSE(token.stop_requested());
  CHECK_FALSE(token.stop_possible());
  CHECK(token == stop_token());
}

TEST_CASE(
    "stop_source: a request reaches each token, however it was copied, and only the first request counts") {
  stop_source source;
  const stop_token token = source.get_token();
  const stop_token copy = token;
  const stop_source other = source;
  CHECK(token.stop_possible());
  CHECK_FALSE(copy.stop_requested());
  CHECK(source.request_stop());
  CHECK_FALSE(source.request_stop());
  CHECK(copy.stop_requested());
  CHECK(other.stop_requested());
  CHECK(other.get_token() == token);
}

TEST_CASE("stop_token: stop is not possible any more once the last source has gone") {
  std::optional<stop_source> first(std::in_place);
  const stop_token token = first->get_token();
  {
    const stop_source second = *first;
    first.reset();
    CHECK(token.stop_possible());
  }
  CHECK_FALSE(token.stop_possible());
  CHECK_FALSE(token.stop_requested());
}

TEST_CASE("stop_token: a request outlives its source") {
  std::optional<stop_source> source(std::in_place);
  const stop_token token = source->get_token();
  source->request_stop();
  source.reset();
  CHECK(token.stop_requested());
  CHECK(token.stop_possible());
}

TEST_CASE("stop_source: one that was moved from gives an empty token and refuses to request") {
  stop_source source;
  stop_source moved = std::move(source);
  CHECK_FALSE(source.request_stop());
  CHECK_FALSE(source.get_token().stop_possible());
  source = moved;
  CHECK(source == moved);
  CHECK(moved.request_stop());
  CHECK(source.stop_requested());
}

TEST_CASE("stop_callback: callbacks run once, in the order of their registration, inside request_stop()") {
  stop_source source;
  std::string order;
  const auto appends = [&](char c) { return [&order, c]() noexcept { order += c; }; };
  const stop_callback a{source.get_token(), appends('a')};
  std::optional<stop_callback<decltype(appends(' '))>> b;
  b.emplace(source.get_token(), appends('b'));
  const stop_callback c{source.get_token(), appends('c')};
  b.reset();
  const stop_callback d{source.get_token(), appends('d')};
  CHECK(order.empty());
  source.request_stop();
  CHECK(order == "acd");
  source.request_stop();
  CHECK(order == "acd");
}

TEST_CASE("stop_callback: registered after the request it runs at once; with an empty token never") {
  int calls = 0;
  const auto count = [&]() noexcept { ++calls; };
  stop_source source;
  source.request_stop();
  const stop_callback late{source.get_token(), count};
  CHECK(calls == 1);
  {
    const stop_callback never{stop_token(), count};
  }
  CHECK(calls == 1);
}

TEST_CASE("stop_callback: the first and the last of three can be deregistered") {
  for (int gone = 0; gone != 3; ++gone) {
    stop_source source;
    std::string order;
    const auto appends = [&](char c) { return [&order, c]() noexcept { order += c; }; };
    std::optional<stop_callback<decltype(appends(' '))>> all[3];
    for (int i = 0; i != 3; ++i) all[i].emplace(source.get_token(), appends(static_cast<char>('0' + i)));
    all[gone].reset();
    source.request_stop();
    CHECK(order == (gone == 0 ? "12" : gone == 1 ? "02" : "01"));
  }
}

TEST_CASE(
    "stop_callback: deregistering from inside its own call does not wait, and the next callbacks still run") {
  struct holder {
    struct function {
      std::unique_ptr<holder>& self;
      void operator()() const noexcept { self.reset(); }
    };
    stop_callback<function> callback;
  };
  stop_source source;
  std::unique_ptr<holder> first;
  int later = 0;
  first = std::unique_ptr<holder>(new holder{{source.get_token(), holder::function{first}}});
  const stop_callback second{source.get_token(), [&]() noexcept { ++later; }};
  source.request_stop();
  CHECK(first == nullptr);
  CHECK(later == 1);
}

TEST_CASE("stop_callback: a callback may deregister one that has not run yet") {
  stop_source source;
  bool second_ran = false;
  const auto sets = [&]() noexcept { second_ran = true; };
  std::optional<stop_callback<decltype(sets)>> second;
  const stop_callback first{source.get_token(), [&]() noexcept { second.reset(); }};
  second.emplace(source.get_token(), sets);
  source.request_stop();
  CHECK_FALSE(second_ran);
}

TEST_CASE("stop_callback: a callback may register another, which runs at once, and request again in vain") {
  stop_source source;
  std::string order;
  const stop_callback first{source.get_token(), [&]() noexcept {
                              order += '<';
                              const stop_callback inner{source.get_token(), [&]() noexcept { order += 'i'; }};
                              order += source.request_stop() ? '!' : '>';
                            }};
  source.request_stop();
  CHECK(order == "<i>");
}

TEST_CASE("stop_source: a callback may destroy the last source") {
  auto source = std::make_unique<stop_source>();
  bool after = false;
  const stop_callback first{source->get_token(), [&]() noexcept { source.reset(); }};
  const stop_callback second{source->get_token(), [&]() noexcept { after = true; }};
  source->request_stop();
  CHECK(after);
  CHECK(source == nullptr);
}

TEST_CASE("stop_callback: the destructor waits for a call on another thread") {
  stop_source source;
  std::latch inside{1}, let_go{1};
  bool returned = false;
  const auto slow = [&]() noexcept {
    inside.count_down();
    let_go.wait();
    returned = true;
  };
  std::optional<stop_callback<decltype(slow)>> callback;
  callback.emplace(source.get_token(), slow);
  std::thread requester([&] { source.request_stop(); });
  inside.wait();
  std::thread helper([&] { let_go.count_down(); });
  callback.reset();
  CHECK(returned);
  requester.join();
  helper.join();
}

TEST_CASE("stop_callback: a coroutine that a callback wakes outside any executor runs after the callbacks") {
  stop_source source;
  coracle::async_manual_reset_event event;
  std::string order;
  const auto wait = [&]() -> detached {
    co_await event;
    order += 'c';
  };
  wait();
  const stop_callback first{source.get_token(), [&]() noexcept {
                              event.set();
                              order += '1';
                            }};
  const stop_callback second{source.get_token(), [&]() noexcept { order += '2'; }};
  source.request_stop();
  CHECK(order == "12c");
}

TEST_CASE("stop_callback: a request inside a callback leaves its wake-ups to the outermost request") {
  stop_source outer, inner;
  coracle::async_manual_reset_event event;
  std::string order;
  const auto wait = [&]() -> detached {
    co_await event;
    order += 'c';
  };
  wait();
  const stop_callback sets{inner.get_token(), [&]() noexcept { event.set(); }};
  const stop_callback first{outer.get_token(), [&]() noexcept {
                              inner.request_stop();
                              order += '1';
                            }};
  outer.request_stop();
  CHECK(order == "1c");
}

TEST_CASE(
    "stop_callback: two coroutines whose callbacks wake each other end, on whatever threads they are "
    "stopped") {
  for (int round = 0; round != 200; ++round) {
    coracle::async_manual_reset_event wakes_first, wakes_second;
    stop_source stops_first, stops_second;
    std::latch ended{2};
    const auto run = [&](stop_source& mine, coracle::async_manual_reset_event& sets,
                         coracle::async_manual_reset_event& waits_for) -> detached {
      {
        const stop_callback guard{mine.get_token(), [&sets]() noexcept { sets.set(); }};
        co_await waits_for;
      }
      ended.count_down();
    };
    run(stops_first, wakes_second, wakes_first);
    run(stops_second, wakes_first, wakes_second);
    std::thread other([&] { stops_first.request_stop(); });
    stops_second.request_stop();
    other.join();
    // Whoever was woken before it was stopped has deregistered and wakes nobody.
    wakes_first.set();
    wakes_second.set();
    ended.wait();
  }
}

TEST_CASE("stop_callback: the same on a thread pool") {
  coracle::static_thread_pool pool{3};
  for (int round = 0; round != 200; ++round) {
    coracle::async_manual_reset_event wakes_first, wakes_second;
    stop_source stops_first, stops_second;
    std::latch stopped{2}, ended{2};
    const auto run = [&](stop_source& mine, coracle::async_manual_reset_event& sets,
                         coracle::async_manual_reset_event& waits_for) -> detached {
      co_await pool.schedule();
      {
        const stop_callback guard{mine.get_token(), [&sets]() noexcept { sets.set(); }};
        co_await waits_for;
      }
      ended.count_down();
    };
    const auto stop = [&](stop_source& which) -> detached {
      co_await pool.schedule();
      which.request_stop();
      stopped.count_down();
    };
    run(stops_first, wakes_second, wakes_first);
    run(stops_second, wakes_first, wakes_second);
    stop(stops_first);
    stop(stops_second);
    stopped.wait();
    wakes_first.set();
    wakes_second.set();
    ended.wait();
  }
}

TEST_CASE("stop_token: one from a std::stop_token is requested with it") {
  std::stop_source source;
  const stop_token token = source.get_token();
  int calls = 0;
  const stop_callback callback{token, [&]() noexcept { ++calls; }};
  CHECK(token.stop_possible());
  CHECK_FALSE(token.stop_requested());
  source.request_stop();
  CHECK(token.stop_requested());
  CHECK(calls == 1);
  CHECK(stop_token(source.get_token()).stop_requested());
}

TEST_CASE("stop_token: one from a std::stop_token that cannot be requested is empty") {
  CHECK(stop_token(std::stop_token()) == stop_token());
  CHECK_FALSE(stop_token(std::stop_token()).stop_possible());
}

TEST_CASE("stop_token: its callback may drop the last token that follows a std::stop_token") {
  std::stop_source source;
  auto token = std::make_unique<stop_token>(source.get_token());
  const auto drop = [&]() noexcept { token.reset(); };
  std::optional<stop_callback<decltype(drop)>> callback;
  callback.emplace(*token, drop);
  source.request_stop();
  CHECK(token == nullptr);
  callback.reset();

  token = std::make_unique<stop_token>(source.get_token());
  CHECK(token->stop_requested());
}

TEST_CASE("stop_token: a std::stop_source follows one through a callback") {
  stop_source source;
  std::stop_source follower;
  const stop_callback relay{source.get_token(), [&]() noexcept { follower.request_stop(); }};
  source.request_stop();
  CHECK(follower.stop_requested());
}

TEST_CASE("stop_source: allocates once, tokens and callbacks not at all" *
          doctest::skip(!coracle::testing::allocations_are_counted)) {
  coracle::trim_frame_memory();
  const std::size_t before = coracle::testing::allocations();
  stop_source source;
  const std::size_t made = coracle::testing::allocations();
  {
    const stop_token token = source.get_token();
    const stop_callback callback{token, []() noexcept {}};
    source.request_stop();
  }
  const std::size_t used = coracle::testing::allocations();
  CHECK(made - before == 1);
  CHECK(used - made == 0);
}

TEST_CASE("stop_source: failed allocations leave nothing behind" *
          doctest::skip(!coracle::testing::allocations_are_counted)) {
  std::stop_source foreign;
  const int failed = coracle::testing::fail_each_allocation([&] {
    try {
      const stop_source source;
      const stop_token token = foreign.get_token();
    } catch (const std::bad_alloc&) {
    }
  });
  CHECK(failed == 2);
}

TEST_CASE("stop_callback: an exception of its function's copy is passed on, and nothing stays registered") {
  struct refuses {
    refuses() = default;
    refuses(const refuses&) { throw 7; }
    void operator()() const noexcept {}
  };
  stop_source source;
  const refuses function;
  const auto registers = [&] { const stop_callback<refuses> callback{source.get_token(), function}; };
  CHECK_THROWS_AS(registers(), int);
  CHECK(source.request_stop());
}

TEST_CASE("stop_reason: the first request gives it, tokens, the source and late callbacks see it") {
  stop_source source;
  const stop_token token = source.get_token();
  CHECK(token.reason() == stop_reason::none);
  CHECK(source.reason() == stop_reason::none);
  stop_reason seen = stop_reason::none;
  const stop_callback callback{token, [&]() noexcept { seen = token.reason(); }};
  CHECK(source.request_stop(stop_reason::timed_out));
  CHECK(seen == stop_reason::timed_out);
  CHECK_FALSE(source.request_stop(stop_reason::shutting_down));
  CHECK(token.reason() == stop_reason::timed_out);
  CHECK(source.reason() == stop_reason::timed_out);
}

TEST_CASE("stop_reason: is `requested` unless it is given, also from a std::stop_token") {
  stop_source source;
  source.request_stop();
  CHECK(source.reason() == stop_reason::requested);
  std::stop_source foreign;
  const stop_token token = foreign.get_token();
  foreign.request_stop();
  CHECK(token.reason() == stop_reason::requested);
  CHECK(stop_token().reason() == stop_reason::none);
  const stop_source moved = std::move(source);
  CHECK(source.reason() == stop_reason::none);  // NOLINT(bugprone-use-after-move)
}

TEST_CASE("stop_reason: a request for no reason ends the program and says so" *
          doctest::skip(!CORACLE_CHECKS())) {
  CHECK(coracle_test::abort_message([] { stop_source().request_stop(stop_reason::none); }) ==
        "coracle: a stop was requested for no reason: stop_reason::none\n");
}

TEST_CASE(
    "linked_stop_source: stops with the outer one, for its reason, and before the callbacks that come "
    "later") {
  stop_source outer;
  const stop_token outside = outer.get_token();
  linked_stop_source inner{outside};
  std::vector<int> log;
  const stop_callback within{inner.get_token(), [&]() noexcept { log.push_back(1); }};
  const stop_callback later{outside, [&]() noexcept { log.push_back(2); }};
  CHECK(inner.get_token().stop_possible());
  outer.request_stop(stop_reason::shutting_down);
  CHECK(log == std::vector{1, 2});
  CHECK(inner.reason() == stop_reason::shutting_down);
  CHECK_FALSE(inner.request_stop(stop_reason::lost_race));
}

TEST_CASE("linked_stop_source: its own request stays inside, and the outer one comes too late then") {
  stop_source outer;
  const stop_token outside = outer.get_token();
  linked_stop_source inner{outside};
  CHECK(inner.request_stop(stop_reason::lost_race));
  CHECK_FALSE(outer.stop_requested());
  CHECK(outer.request_stop(stop_reason::timed_out));
  CHECK(inner.reason() == stop_reason::lost_race);
}

TEST_CASE(
    "linked_stop_source: is stopped at once if the outer one is; one that cannot be stopped links to "
    "nothing") {
  stop_source outer;
  outer.request_stop(stop_reason::sibling_failed);
  const stop_token outside = outer.get_token();
  const linked_stop_source inner{outside};
  CHECK(inner.reason() == stop_reason::sibling_failed);
  CHECK(inner.get_token().stop_requested());
  const stop_token never;
  linked_stop_source alone{never};
  CHECK(alone.reason() == stop_reason::none);
  CHECK(alone.request_stop(stop_reason::requested));
}

TEST_CASE(
    "linked_stop_source: a chain of them passes the request down, and leaves nothing behind when it goes") {
  stop_source outer;
  const stop_token outside = outer.get_token();
  int calls = 0;
  {
    const linked_stop_source first{outside};
    const stop_token middle = first.get_token();
    const linked_stop_source second{middle};
    const stop_token inside = second.get_token();
    const linked_stop_source third{inside};
    const stop_callback callback{third.get_token(), [&]() noexcept { ++calls; }};
    SUBCASE("stopped") {
      outer.request_stop();
      CHECK(calls == 1);
    }
    SUBCASE("not stopped") {}
  }
  const int before = calls;
  outer.request_stop();
  CHECK(calls == before);
}

TEST_CASE("linked_stop_source: may go inside a callback of its own request, made by the outer one") {
  stop_source outer;
  const stop_token outside = outer.get_token();
  auto inner = std::make_unique<linked_stop_source>(outside);
  const stop_callback callback{inner->get_token(), [&]() noexcept { inner.reset(); }};
  outer.request_stop();
  CHECK(inner == nullptr);
}

TEST_CASE("operation_cancelled: says what it is, and why") {
  CHECK(std::string(coracle::operation_cancelled().what()) == "operation cancelled");
  CHECK(coracle::operation_cancelled().reason() == stop_reason::requested);
  const auto what = [](stop_reason why) { return std::string(coracle::operation_cancelled(why).what()); };
  CHECK(what(stop_reason::requested) == "operation cancelled");
  CHECK(what(stop_reason::timed_out) == "operation cancelled: its deadline has passed");
  CHECK(what(stop_reason::lost_race) == "operation cancelled: another has won the race");
  CHECK(what(stop_reason::sibling_failed) == "operation cancelled: a sibling has failed");
  CHECK(what(stop_reason::shutting_down) == "operation cancelled: shutting down");
  CHECK(coracle::operation_cancelled(stop_reason::timed_out).reason() == stop_reason::timed_out);
}
}  // namespace
