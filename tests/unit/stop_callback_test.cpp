// tests/unit/stop_callback_test.cpp -- the callbacks of a stop_token: order, registration, what they may do.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <coracle/core/detail/linked_stop_source.hpp>
#include <coracle/core/stop.hpp>
#include <coracle/exec/static_thread_pool.hpp>
#include <coracle/sync/async_manual_reset_event.hpp>
#include <latch>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "../support/detached.hpp"

namespace {
using coracle::stop_callback;
using coracle::stop_source;
using coracle::stop_token;
using coracle_test::detached;

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

TEST_CASE("stop_callback: a coroutine that a callback has woken wakes the next before its set() returns") {
  stop_source source;
  coracle::async_manual_reset_event first, second;
  std::string order;
  const auto waits = [&]() -> detached {
    co_await second;
    order += 'b';
  };
  const auto wakes = [&]() -> detached {
    co_await first;
    second.set();
    order += 'c';
  };
  waits();
  wakes();
  const stop_callback callback{source.get_token(), [&] {
                                 first.set();
                                 order += 'a';
                               }};
  source.request_stop();
  CHECK(order == "abc");
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

TEST_CASE("stop_callback: so does one that a callback wakes which was registered after the request") {
  coracle::async_manual_reset_event event;
  std::string log;
  const auto waits = [&]() -> detached {
    co_await event;
    log += "woken";
  };
  waits();
  stop_source source;
  source.request_stop();
  const auto wake = [&]() noexcept {
    event.set();
    log += "called ";
  };
  const stop_callback late{source.get_token(), wake};
  CHECK(log == "called woken");
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
    // A waiter that was woken before it was stopped has deregistered, and wakes no other.
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
}  // namespace
