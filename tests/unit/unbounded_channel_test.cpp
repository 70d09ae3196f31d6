// tests/unit/unbounded_channel_test.cpp -- a channel that grows.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <coracle/channels/unbounded_channel.hpp>
#include <coracle/compose/when_all.hpp>
#include <coracle/core/sync_wait.hpp>
#include <coracle/core/with_environment.hpp>
#include <coracle/exec/static_thread_pool.hpp>
#include <coracle/testing/allocations.hpp>
#include <coracle/testing/lifetime_probe.hpp>
#include <memory>
#include <vector>

#include "../support/detached.hpp"

namespace {
using coracle::task;
using coracle::unbounded_channel;
using coracle_test::detached;

TEST_CASE("unbounded_channel: takes as many as are sent, and gives them in that order") {
  unbounded_channel<int> ch;
  CHECK_FALSE(ch.try_recv());
  for (int i = 0; i != 10'000; ++i) ch.send(i);
  for (int i = 0; i != 10'000; ++i) REQUIRE(ch.try_recv() == i);
  CHECK_FALSE(ch.try_recv());
}

TEST_CASE("unbounded_channel: grows and shrinks by any number across its chunks") {
  unbounded_channel<long> ch;
  long in = 0, out = 0;
  for (int round = 1; round != 60; ++round) {
    for (int i = 0; i != round * 17; ++i) ch.send(in++);
    for (int i = 0; i != round * 16; ++i) REQUIRE(ch.try_recv() == out++);
  }
  while (const auto got = ch.try_recv()) REQUIRE(*got == out++);
  CHECK(in == out);
}

TEST_CASE("unbounded_channel: an element goes straight to a receiver that waits") {
  unbounded_channel<int> ch;
  std::vector<int> log;
  const auto recv = [&]() -> detached { log.push_back((co_await ch.recv()).value_or(-1)); };
  recv();
  recv();
  ch.send(1);
  CHECK(log == std::vector{1});
  ch.close();
  CHECK(log == std::vector{1, -1});
  recv();
  CHECK(log == std::vector{1, -1, -1});
}

TEST_CASE("unbounded_channel: after close() nothing can be sent, and the value is still the sender's") {
  unbounded_channel<std::unique_ptr<int>> ch;
  auto value = std::make_unique<int>(1);
  ch.send(std::make_unique<int>(0));
  ch.close();
  CHECK(ch.is_closed());
  CHECK_FALSE(ch.try_send(std::move(value)));
  CHECK_THROWS_AS(ch.send(std::move(value)), coracle::channel_closed);
  CHECK(value);
  CHECK(**ch.try_recv() == 0);
  CHECK_FALSE(ch.try_recv());
}

TEST_CASE("unbounded_channel: destroys what nobody has received") {
  coracle::testing::lifetimes log;
  {
    unbounded_channel<coracle::testing::lifetime_probe> ch;
    for (int i = 0; i != 500; ++i) ch.send(coracle::testing::lifetime_probe{log, i});
    for (int i = 0; i != 300; ++i) CHECK(ch.try_recv()->id() == i);
  }
  CHECK(log.alive == 0);
  CHECK(log.copies == 0);
  CHECK(log.destroyed.size() == 500);
}

TEST_CASE("unbounded_channel: a stopped recv() has taken nothing") {
  unbounded_channel<int> ch;
  coracle::stop_source source;
  bool cancelled = false;
  const auto recv = [&]() -> task<> {
    try {
      static_cast<void>(co_await ch.recv());
    } catch (const coracle::operation_cancelled&) {
      cancelled = true;
    }
  };
  coracle_test::run_detached(coracle::with_stop(recv(), source.get_token()));
  source.request_stop();
  CHECK(cancelled);
  ch.send(1);
  CHECK(ch.try_recv() == 1);
}

TEST_CASE("unbounded_channel: a send that gets no memory throws, and has sent nothing" *
          doctest::skip(!coracle::testing::allocations_are_counted)) {
  int failed = 0;
  CHECK(coracle::testing::fail_each_allocation([&] {
          unbounded_channel<std::unique_ptr<int>> ch;
          auto value = std::unique_ptr<int>();
          try {
            ch.send(std::move(value));
          } catch (const std::bad_alloc&) {
            ++failed;
            CHECK_FALSE(ch.try_recv());
          }
        }) == 1);
  CHECK(failed == 1);
}

TEST_CASE("unbounded_channel: what its fullest moment took is used again" *
          doctest::skip(!coracle::testing::allocations_are_counted)) {
  unbounded_channel<int> ch;
  for (int i = 0; i != 5000; ++i) ch.send(i);
  while (ch.try_recv()) {
  }
  const auto before = coracle::testing::allocations();
  for (int round = 0; round != 10; ++round) {
    for (int i = 0; i != 4000; ++i) ch.send(i);
    while (ch.try_recv()) {
    }
  }
  const auto after = coracle::testing::allocations();
  CHECK(after == before);
}

TEST_CASE("unbounded_channel: many threads send, one coroutine receives") {
  coracle::static_thread_pool pool{2};
  unbounded_channel<int> ch;
  long sum = 0;
  const auto send = [&]() -> task<> {
    co_await pool.schedule();
    for (int i = 0; i != 2000; ++i) ch.send(1);
  };
  const auto all = [&]() -> task<> {
    co_await coracle::when_all(send(), send());
    ch.close();
  };
  const auto recv = [&]() -> task<> {
    while (const auto got = co_await ch.recv()) sum += *got;
  };
  coracle::sync_wait(coracle::when_all(recv(), all()));
  CHECK(sum == 4000);
}
}  // namespace
