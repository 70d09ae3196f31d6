// tests/unit/channel_test.cpp -- elements in order, and which end waits for the other.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <coracle/channels/channel.hpp>
#include <coracle/compose/when_all.hpp>
#include <coracle/core/sync_wait.hpp>
#include <coracle/exec/run_loop.hpp>
#include <coracle/exec/static_thread_pool.hpp>
#include <coracle/testing/allocations.hpp>
#include <coracle/testing/lifetime_probe.hpp>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "../support/many.hpp"
#include "../support/run_on_stack.hpp"
#include "channel_kinds.hpp"

namespace {
using coracle::channel;
using coracle::task;
using coracle_test::detached;
using coracle_test::drain;
using coracle_test::log_of;
using coracle_test::of;
using coracle_test::recv_and_log;
using coracle_test::send_and_log;

TEST_CASE_TEMPLATE("channel: as many sends as it has room for do not wait, the next one does", Kind,
                   CHANNEL_KINDS) {
  of<Kind, int> ch{2};
  log_of log;
  for (int i = 1; i != 4; ++i) send_and_log(ch, i, log);
  CHECK(log == log_of{"sent 1", "sent 2"});
  CHECK(ch.capacity() == 2);
  CHECK(ch.try_recv() == 1);
  CHECK(log == log_of{"sent 1", "sent 2", "sent 3"});
  CHECK(drain(ch) == std::vector{2, 3});
}

TEST_CASE_TEMPLATE("channel: an element that is there is received without waiting, in the order of the sends",
                   Kind, CHANNEL_KINDS) {
  of<Kind, int> ch{3};
  log_of log;
  for (int i = 1; i != 4; ++i) REQUIRE(ch.try_send(i));
  for (int i = 1; i != 4; ++i) recv_and_log(ch, i, log);
  CHECK(log == log_of{"1 got 1", "2 got 2", "3 got 3"});
}

TEST_CASE_TEMPLATE("channel: an element goes straight to the receiver that has waited longest", Kind,
                   CHANNEL_KINDS) {
  of<Kind, int> ch{1};
  log_of log;
  for (int i = 1; i != 4; ++i) recv_and_log(ch, i, log);
  CHECK(log.empty());
  for (int i = 7; i != 10; ++i) CHECK(ch.try_send(i));
  CHECK(log == log_of{"1 got 7", "2 got 8", "3 got 9"});
  CHECK_FALSE(ch.try_recv());
}

TEST_CASE_TEMPLATE("channel: the sender that has waited longest fills the place that becomes free", Kind,
                   CHANNEL_KINDS) {
  of<Kind, int> ch{1};
  log_of log;
  for (int i = 1; i != 5; ++i) send_and_log(ch, i, log);
  CHECK(log == log_of{"sent 1"});
  CHECK(drain(ch) == std::vector{1, 2, 3, 4});
  CHECK(log == log_of{"sent 1", "sent 2", "sent 3", "sent 4"});
}

TEST_CASE_TEMPLATE("channel: its ring goes round, whatever its size", Kind, CHANNEL_KINDS) {
  for (const std::size_t capacity : {1u, 2u, 3u, 5u, 8u}) {
    of<Kind, int> ch{capacity};
    int next_in = 0, next_out = 0;
    for (int round = 0; round != 20; ++round) {
      while (ch.try_send(next_in)) ++next_in;
      CHECK(next_in - next_out == static_cast<int>(capacity));
      for (int i = 0; i <= round % static_cast<int>(capacity); ++i) CHECK(ch.try_recv() == next_out++);
    }
    for (const int each : drain(ch)) CHECK(each == next_out++);
  }
}

TEST_CASE_TEMPLATE("channel: with capacity 0 sender and receiver wait for each other", Kind, CHANNEL_KINDS) {
  of<Kind, int> ch{0};
  log_of log;
  CHECK_FALSE(ch.try_send(1));
  CHECK_FALSE(ch.try_recv());
  send_and_log(ch, 1, log);
  send_and_log(ch, 2, log);
  CHECK(log.empty());
  recv_and_log(ch, 1, log);
  CHECK(log == log_of{"sent 1", "1 got 1"});
  CHECK(ch.try_recv() == 2);
  recv_and_log(ch, 2, log);
  CHECK(ch.try_send(3));
  CHECK(log == log_of{"sent 1", "1 got 1", "sent 2", "2 got 3"});
  CHECK_FALSE(ch.try_send(4));
}

TEST_CASE_TEMPLATE("channel: nobody gets ahead of a waiter that is served but has not run yet", Kind,
                   CHANNEL_KINDS) {
  coracle::run_loop loop;
  of<Kind, int> ch{1};
  log_of log;
  const auto recv_there = [&]() -> detached {
    co_await loop.schedule();
    const auto got = co_await ch.recv();
    log.push_back("there " + std::to_string(got.value_or(-1)));
  };
  recv_there();
  CHECK(loop.run_one());
  CHECK(ch.try_send(5));
  CHECK_FALSE(ch.try_recv());
  CHECK(log.empty());
  CHECK(loop.run_one());
  CHECK(log == log_of{"there 5"});
}

TEST_CASE_TEMPLATE("channel: values are moved, never copied, and each is destroyed once", Kind,
                   CHANNEL_KINDS) {
  coracle::testing::lifetimes log;
  {
    of<Kind, coracle::testing::lifetime_probe> ch{2};
    CHECK(ch.try_send(coracle::testing::lifetime_probe{log, 1}));
    CHECK(ch.try_send(coracle::testing::lifetime_probe{log, 2}));
    int got = 0;
    const auto receive = [&]() -> task<> {
      const auto one = co_await ch.recv();
      got = one->id();
    };
    coracle::sync_wait(receive());
    CHECK(got == 1);
    CHECK(log.destroyed == std::vector{1});
    CHECK(ch.try_send(coracle::testing::lifetime_probe{log, 3}));
  }
  CHECK(log.destroyed == std::vector{1, 2, 3});
  CHECK(log.alive == 0);
  CHECK(log.copies == 0);
}

TEST_CASE_TEMPLATE("channel: an lvalue is copied once, when the send is made", Kind, CHANNEL_KINDS) {
  coracle::testing::lifetimes log;
  {
    of<Kind, coracle::testing::lifetime_probe> ch{0};
    coracle::testing::lifetime_probe mine{log, 7};
    const auto send = [&]() -> detached { co_await ch.send(std::as_const(mine)); };
    send();
    CHECK(log.copies == 1);
    CHECK(ch.try_recv()->id() == 7);
    CHECK_FALSE(mine.moved_from());
  }
  CHECK(log.copies == 1);
  CHECK(log.alive == 0);
}

TEST_CASE_TEMPLATE("channel: waiters resume on their executors, no call runs them", Kind, CHANNEL_KINDS) {
  coracle::run_loop first, second;
  of<Kind, int> ch{1};
  std::vector<const coracle::executor*> resumed;
  const auto recv_on = [&](coracle::run_loop& loop) -> detached {
    co_await loop.schedule();
    static_cast<void>(co_await ch.recv());
    resumed.push_back(coracle::current_executor());
  };
  recv_on(first);
  recv_on(second);
  CHECK(first.run_one());
  CHECK(second.run_one());
  CHECK(ch.try_send(1));
  ch.close();
  CHECK(resumed.empty());
  CHECK(second.run_one());
  CHECK(first.run_one());
  CHECK(resumed == std::vector<const coracle::executor*>{&second, &first});
}

TEST_CASE_TEMPLATE("channel: a sender that waits resumes on its executor", Kind, CHANNEL_KINDS) {
  coracle::run_loop loop;
  of<Kind, int> ch{0};
  bool there = false;
  const auto send = [&]() -> detached {
    co_await loop.schedule();
    co_await ch.send(1);
    there = coracle::current_executor() == &loop;
  };
  send();
  CHECK(loop.run_one());
  CHECK(ch.try_recv() == 1);
  CHECK_FALSE(there);
  CHECK(loop.run_one());
  CHECK(there);
}

TEST_CASE_TEMPLATE(
    "channel: producer and consumer on two threads see every element, and what was written before it", Kind,
    CHANNEL_KINDS) {
  coracle::static_thread_pool one{1}, two{1};
  of<Kind, std::unique_ptr<int>> ch{4};
  long sum = 0;
  const auto produce = [&]() -> task<> {
    co_await one.schedule();
    for (int i = 0; i != 1000; ++i) co_await ch.send(std::make_unique<int>(i));
    ch.close();
  };
  const auto consume = [&]() -> task<> {
    co_await two.schedule();
    while (const auto got = co_await ch.recv()) sum += **got;
  };
  coracle::sync_wait(coracle::when_all(produce(), consume()));
  CHECK(sum == 999 * 1000 / 2);
}

TEST_CASE_TEMPLATE("channel: a producer and a consumer that never wait give way to others now and then", Kind,
                   CHANNEL_KINDS) {
  coracle::run_loop loop;
  of<Kind, int> ch{1000};
  bool other_ran = false;
  int sent_before = -1;
  const auto send = [&]() -> detached {
    co_await loop.schedule();
    for (int i = 0; i != 1000; ++i) {
      if (other_ran && sent_before < 0) sent_before = i;
      co_await ch.send(i);
    }
  };
  const auto other = [&]() -> detached {
    co_await loop.schedule();
    other_ran = true;
  };
  send();
  other();
  while (loop.run_one()) {
  }
  CHECK(sent_before > 0);
  CHECK(sent_before <= 128);
}

TEST_CASE_TEMPLATE("channel: a chain of 100,000 elements without an executor uses constant stack", Kind,
                   CHANNEL_KINDS) {
  constexpr int count = coracle_test::many(100'000);
  of<Kind, int> ch{0};
  long sum = 0;
  const auto produce = [&]() -> detached {
    for (int i = 0; i != count; ++i) co_await ch.send(1);
    ch.close();
  };
  const auto consume = [&]() -> detached {
    while (const auto got = co_await ch.recv()) sum += *got;
  };
  CHECK(coracle_test::run_on_stack(256 * 1024, [&] {
    consume();
    produce();
  }));
  CHECK(sum == count);
}

TEST_CASE_TEMPLATE("channel: after its construction it allocates nothing" *
                       doctest::skip(!coracle::testing::allocations_are_counted),
                   Kind, CHANNEL_KINDS) {
  of<Kind, int> ch{2};
  long sum = 0;
  const auto consume = [&]() -> detached {
    while (const auto got = co_await ch.recv()) sum += *got;
  };
  const auto produce = [&](int n) -> detached {
    for (int i = 0; i != n; ++i) co_await ch.send(i);
  };
  produce(10);
  consume();
  const auto before = coracle::testing::allocations();
  for (int i = 0; i != 10; ++i) static_cast<void>(ch.try_send(i));
  ch.close();
  const auto after = coracle::testing::allocations();
  CHECK(after == before);
  CHECK(sum == 90);
}

TEST_CASE_TEMPLATE("channel: a constructor that gets no memory leaves nothing behind" *
                       doctest::skip(!coracle::testing::allocations_are_counted),
                   Kind, CHANNEL_KINDS) {
  CHECK(coracle::testing::fail_each_allocation([] {
          try {
            const of<Kind, int> ch{16};
          } catch (const std::bad_alloc&) {
          }
        }) == 1);
}

TEST_CASE_TEMPLATE("channel: is full again once a sender that waited has filled the place that became free",
                   Kind, CHANNEL_KINDS) {
  of<Kind, int> ch{2};
  log_of log;
  for (int round = 0; round != 3; ++round) {
    while (ch.try_send(0)) {
    }
    send_and_log(ch, 1, log);
    CHECK(ch.try_recv() == 0);
    CHECK(log.size() == 1);
    CHECK_FALSE(ch.try_send(2));
    CHECK(drain(ch) == std::vector<int>{0, 1});
    log.clear();
  }
}

static_assert(!std::is_copy_constructible_v<channel<int>> && !std::is_move_constructible_v<channel<int>>);
static_assert(!std::is_convertible_v<std::size_t, channel<int>>);
static_assert(std::is_void_v<coracle::await_result_t<channel<int>::send_operation>>);
static_assert(std::is_same_v<coracle::await_result_t<channel<int>::recv_operation>, std::optional<int>>);
static_assert(requires(channel<std::unique_ptr<int>>& ch, std::unique_ptr<int>& named) {
  ch.send(std::move(named));
  ch.try_send(nullptr);
});
template <class Channel, class Value>
concept sends = requires(Channel& ch, Value&& value) { ch.send(static_cast<Value&&>(value)); };
static_assert(sends<channel<int>, int&> && !sends<channel<std::unique_ptr<int>>, std::unique_ptr<int>&>);
static_assert(noexcept(std::declval<channel<int>&>().recv()) &&
              noexcept(std::declval<channel<int>&>().close()) &&
              noexcept(std::declval<channel<int>&>().try_recv()) &&
              noexcept(std::declval<channel<int>&>().try_send(1)));

TEST_CASE("channel: a send() of a copy may be moved before it is awaited") {
  coracle::channel<std::string> ch{1};
  const std::string text(40, 'x');
  const auto work = [&]() -> coracle::task<> {
    auto made = ch.send(text);
    auto moved = std::move(made);
    co_await std::move(moved);
  };
  coracle::sync_wait(work());
  CHECK(ch.try_recv() == text);
}
}  // namespace
