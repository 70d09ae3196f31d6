// tests/unit/broadcast_test.cpp -- values for all subscribers.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <coracle/channels/broadcast.hpp>
#include <coracle/core/sync_wait.hpp>
#include <coracle/core/task.hpp>
#include <coracle/core/with_environment.hpp>
#include <coracle/exec/run_loop.hpp>
#include <coracle/exec/static_thread_pool.hpp>
#include <coracle/testing/allocations.hpp>
#include <coracle/testing/lifetime_probe.hpp>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

#include "../support/abort_message.hpp"
#include "../support/detached.hpp"

namespace {
using coracle::broadcast;
using coracle::broadcast_subscription;
using coracle::sync_wait;
using coracle::task;
using coracle::testing::lifetime_probe;
using coracle::testing::lifetimes;
using coracle_test::detached;
using ints = std::vector<int>;

detached receive_all(broadcast_subscription<int> from, ints& seen) {
  while (auto value = co_await from.recv()) seen.push_back(*value);
  seen.push_back(-1);
}
int receive(broadcast_subscription<int>& from) { return sync_wait(from.recv()).value_or(-1); }

TEST_CASE("broadcast: every subscriber receives what is sent after it has subscribed, in order") {
  broadcast<int> values{8};
  auto early = values.subscribe();
  values.send(1);
  auto late = values.subscribe();
  values.send(2);
  values.send(3);
  CHECK(receive(early) == 1);
  CHECK(receive(early) == 2);
  CHECK(receive(late) == 2);
  CHECK(receive(late) == 3);
  CHECK(receive(early) == 3);
}

TEST_CASE("broadcast: subscribers that wait are woken in the order of their arrival, each with the value") {
  broadcast<int> values{1};
  ints seen;
  const auto wait = [&](int name) -> detached {
    auto mine = values.subscribe();
    const auto value = co_await mine.recv();
    seen.push_back(name);
    seen.push_back(value.value_or(-1));
  };
  wait(1);
  wait(2);
  CHECK(seen.empty());
  values.send(7);
  CHECK(seen == ints{1, 7, 2, 7});
}

TEST_CASE("broadcast: a subscriber that waits receives value after value, then the end") {
  broadcast<int> values{2};
  ints seen;
  receive_all(values.subscribe(), seen);
  values.send(1);
  values.send(2);
  values.send(3);
  CHECK(seen == ints{1, 2, 3});
  values.close();
  CHECK(seen == ints{1, 2, 3, -1});
}

TEST_CASE(
    "broadcast: a slow subscriber is told how many it has lost, and goes on with the oldest that is left") {
  broadcast<int> values{3};
  auto slow = values.subscribe();
  for (int i = 0; i != 3; ++i) values.send(i);
  auto in_time = slow;
  CHECK(receive(in_time) == 0);
  for (int i = 3; i != 8; ++i) values.send(i);
  const auto lost = [](broadcast_subscription<int>& from) -> std::uint64_t {
    try {
      receive(from);
    } catch (const coracle::lagged& lag) {
      return lag.lost();
    }
    return 0;
  };
  CHECK(lost(slow) == 5);
  CHECK(lost(in_time) == 4);
  for (int i = 5; i != 8; ++i) CHECK(receive(slow) == i);
  for (int i = 5; i != 8; ++i) CHECK(receive(in_time) == i);
  CHECK(std::string(coracle::lagged(1).what()) ==
        "a subscriber of a broadcast was too slow: values were overwritten before it received them");
}

TEST_CASE("broadcast: a subscriber that was woken and not resumed in time has lost as well") {
  coracle::run_loop loop;
  broadcast<int> values{1};
  std::uint64_t lost = 0;
  std::optional<int> next;
  const auto wait = [&]() -> task<> {
    auto mine = values.subscribe();
    try {
      static_cast<void>(co_await mine.recv());
    } catch (const coracle::lagged& lag) {
      lost = lag.lost();
    }
    next = co_await mine.recv();
  };
  coracle_test::run_detached_on(loop, wait());
  CHECK(loop.run_one());
  values.send(1);
  values.send(2);
  CHECK(lost == 0);
  CHECK(loop.run_one());
  CHECK(lost == 1);
  CHECK(next == 2);
}

TEST_CASE("broadcast: once closed what was sent is received, then nothing; sending is an error") {
  broadcast<int> values{4};
  auto mine = values.subscribe();
  values.send(1);
  values.close();
  values.close();
  CHECK_THROWS_AS(values.send(2), coracle::channel_closed);
  CHECK(receive(mine) == 1);
  CHECK(sync_wait(mine.recv()) == std::nullopt);
  CHECK(sync_wait(mine.recv()) == std::nullopt);
  auto late = values.subscribe();
  CHECK(sync_wait(late.recv()) == std::nullopt);
}

TEST_CASE("broadcast: a value that is refused takes no other's place") {
  broadcast<int> values{1};
  auto mine = values.subscribe();
  values.send(1);
  values.close();
  CHECK_THROWS_AS(values.send(2), coracle::channel_closed);
  CHECK(receive(mine) == 1);
}

TEST_CASE("broadcast: its end closes it, and subscriptions outlive it") {
  auto values = std::make_optional<broadcast<int>>(std::size_t{4});
  auto mine = values->subscribe();
  ints seen;
  receive_all(values->subscribe(), seen);
  values->send(1);
  values.reset();
  CHECK(seen == ints{1, -1});
  CHECK(receive(mine) == 1);
  CHECK(sync_wait(mine.recv()) == std::nullopt);
}

TEST_CASE("broadcast: the last subscriber to be woken may destroy it") {
  auto values = std::make_optional<broadcast<int>>(std::size_t{1});
  const auto wait = [&](bool is_last) -> detached {
    auto mine = values->subscribe();
    static_cast<void>(co_await mine.recv());
    if (is_last) values.reset();
  };
  wait(false);
  wait(true);
  values->send(1);
  CHECK_FALSE(values.has_value());
}

TEST_CASE("broadcast: each subscriber resumes on its own executor, send() runs none of them") {
  coracle::run_loop first, second;
  broadcast<int> values{1};
  ints log;
  const auto wait = [&](int name) -> task<> {
    auto mine = values.subscribe();
    static_cast<void>(co_await mine.recv());
    log.push_back(name);
  };
  coracle_test::run_detached_on(first, wait(1));
  coracle_test::run_detached_on(second, wait(2));
  CHECK(first.run_one());
  CHECK(second.run_one());
  values.send(0);
  CHECK(log.empty());
  CHECK(second.run_one());
  CHECK(first.run_one());
  CHECK(log == ints{2, 1});
}

TEST_CASE("broadcast: a stop request ends the wait, and the value that comes then is the next") {
  broadcast<int> values{2};
  auto mine = values.subscribe();
  coracle::stop_source source;
  bool cancelled = false;
  const auto wait = [&]() -> task<> {
    try {
      static_cast<void>(co_await mine.recv());
    } catch (const coracle::operation_cancelled&) {
      cancelled = true;
    }
  };
  coracle_test::run_detached(coracle::with_stop(wait(), source.get_token()));
  source.request_stop();
  CHECK(cancelled);
  values.send(5);
  CHECK_THROWS_AS(sync_wait(coracle::with_stop(mine.recv(), source.get_token())),
                  coracle::operation_cancelled);
  CHECK(receive(mine) == 5);
}

TEST_CASE("broadcast: a value is copied once for each subscriber, and destroyed when it is overwritten") {
  lifetimes log;
  {
    broadcast<lifetime_probe> values{1};
    auto first = values.subscribe();
    auto second = values.subscribe();
    values.send(lifetime_probe(log, 1));
    CHECK(log.copies == 0);
    CHECK(sync_wait(first.recv())->id() == 1);
    CHECK(sync_wait(second.recv())->id() == 1);
    CHECK(log.copies == 2);
    log.destroyed.clear();
    values.send(lifetime_probe(log, 2));
    CHECK(log.destroyed == ints{1});
  }
  CHECK(log.alive == 0);
}

TEST_CASE("broadcast: a copy that throws leaves the value to the next recv()") {
  lifetimes log;
  broadcast<lifetime_probe> values{2};
  auto mine = values.subscribe();
  values.send(lifetime_probe(log, 1));
  log.copies_until_throw = 0;
  CHECK_THROWS_AS(sync_wait(mine.recv()), coracle::testing::copy_failed);
  log.copies_until_throw = -1;
  CHECK(sync_wait(mine.recv())->id() == 1);
}

TEST_CASE("broadcast: subscribers on a pool receive what another thread sends") {
  coracle::static_thread_pool pool{2};
  broadcast<int> values{256};
  const auto add_up = [&](broadcast_subscription<int> mine) -> task<int> {
    co_await pool.schedule();
    int sum = 0;
    while (auto value = co_await mine.recv()) sum += *value;
    co_return sum;
  };
  auto first = add_up(values.subscribe());
  auto second = add_up(values.subscribe());
  std::thread sender([&] {
    for (int i = 1; i != 101; ++i) values.send(i);
    values.close();
  });
  CHECK(sync_wait(std::move(first)) == 5050);
  CHECK(sync_wait(std::move(second)) == 5050);
  sender.join();
}

TEST_CASE("broadcast: waiting and receiving allocate nothing; a failed allocation sends nothing" *
          doctest::skip(!coracle::testing::allocations_are_counted)) {
  CHECK(coracle::testing::fail_each_allocation([] {
          try {
            broadcast<int> values{2};
            auto mine = values.subscribe();
            try {
              values.send(1);
            } catch (const std::bad_alloc&) {
              values.send(2);
            }
            CHECK(receive(mine) != -1);
          } catch (const std::bad_alloc&) {
          }
        }) == 3);
  broadcast<int> values{2};
  auto mine = values.subscribe();
  values.send(1);
  values.send(2);
  const auto before = coracle::testing::allocations();
  const int sum = receive(mine) + receive(mine);
  const auto after = coracle::testing::allocations();
  CHECK(sum == 3);
  CHECK(after == before);
}

TEST_CASE("broadcast: an operation receives what is next when it is awaited, not when it was created") {
  broadcast<int> values{4};
  auto mine = values.subscribe();
  auto later = mine.recv();
  values.send(1);
  CHECK(receive(mine) == 1);
  int seen = 0;
  const auto wait = [&]() -> detached {
    const auto value = co_await later;
    seen = value.value_or(-1);
  };
  wait();
  CHECK(seen == 0);
  values.send(2);
  CHECK(seen == 2);
}

TEST_CASE("broadcast: receiving from a subscription that was moved from ends the program and says so") {
  CHECK(coracle_test::abort_message([] {
          broadcast<int> values{1};
          auto mine = values.subscribe();
          auto moved = std::move(mine);
          receive(mine);
        }) ==
        "coracle: recv() of a broadcast_subscription that was moved from: use the one it was moved to\n");
}

TEST_CASE("broadcast: two consumers of one subscription, and one that moves it, end the program" *
          doctest::skip(!CORACLE_CHECKS())) {
  CHECK(
      coracle_test::abort_message([] {
        broadcast<int> values{1};
        auto mine = values.subscribe();
        const auto wait = [&]() -> detached { static_cast<void>(co_await mine.recv()); };
        wait();
        wait();
        values.send(1);
      }) ==
      "coracle: concurrent recv() of a broadcast_subscription, which has one consumer: give each its own, or "
      "a copy\n");
  CHECK(coracle_test::abort_message([] {
          broadcast<int> values{1};
          auto mine = values.subscribe();
          const auto wait = [&]() -> detached { static_cast<void>(co_await mine.recv()); };
          wait();
          const auto moved = std::move(mine);
          values.send(1);
        }) ==
        "coracle: a broadcast_subscription was moved while a coroutine waits for its next value: "
        "move it before that\n");
}

TEST_CASE("broadcast: no capacity ends the program and says so") {
  CHECK(coracle_test::abort_message([] { broadcast<int> values{0}; }) ==
        "coracle: a broadcast was constructed with a capacity of 0: it must be at least 1\n");
}

static_assert(!std::is_copy_constructible_v<broadcast<int>>);
static_assert(std::is_copy_constructible_v<broadcast_subscription<int>> &&
              std::is_nothrow_move_constructible_v<broadcast_subscription<int>>);
static_assert(
    std::is_same_v<coracle::await_result_t<broadcast_subscription<int>::recv_operation>, std::optional<int>>);
}  // namespace
