// tests/unit/channel_test.cpp -- elements, in order, and who waits for whom.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <coracle/compose/channel.hpp>
#include <coracle/compose/when_all.hpp>
#include <coracle/core/sync_wait.hpp>
#include <coracle/core/with_environment.hpp>
#include <coracle/exec/run_loop.hpp>
#include <coracle/exec/static_thread_pool.hpp>
#include <coracle/testing/allocations.hpp>
#include <coracle/testing/lifetime_probe.hpp>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "../support/abort_message.hpp"
#include "../support/detached.hpp"

namespace {
using coracle::channel;
using coracle::task;
using coracle_test::detached;
using coracle_test::run_detached;
using log_of = std::vector<std::string>;

detached send_and_log(channel<int>& to, int value, log_of& log) {
  try {
    co_await to.send(value);
    log.push_back("sent " + std::to_string(value));
  } catch (const coracle::channel_closed&) {
    log.push_back("refused " + std::to_string(value));
  }
}
detached recv_and_log(channel<int>& from, int name, log_of& log) {
  const std::optional<int> got = co_await from.recv();
  log.push_back(std::to_string(name) + (got ? " got " + std::to_string(*got) : " got nothing"));
}
task<> try_to_send(channel<int>& to, int value, log_of& log) {
  try {
    co_await to.send(value);
    log.push_back("sent " + std::to_string(value));
  } catch (const coracle::operation_cancelled&) {
    log.push_back("cancelled " + std::to_string(value));
  }
}
task<> try_to_recv(channel<int>& from, log_of& log) {
  try {
    const std::optional<int> got = co_await from.recv();
    log.push_back(got ? "got " + std::to_string(*got) : "got nothing");
  } catch (const coracle::operation_cancelled&) {
    log.push_back("cancelled");
  }
}
std::vector<int> drain(channel<int>& from) {
  std::vector<int> all;
  while (const auto got = from.try_recv()) all.push_back(*got);
  return all;
}

TEST_CASE("channel: as many sends as it has room for do not wait, the next one does") {
  channel<int> ch{2};
  log_of log;
  for (int i = 1; i != 4; ++i) send_and_log(ch, i, log);
  CHECK(log == log_of{"sent 1", "sent 2"});
  CHECK(ch.capacity() == 2);
  CHECK(ch.try_recv() == 1);
  CHECK(log == log_of{"sent 1", "sent 2", "sent 3"});
  CHECK(drain(ch) == std::vector{2, 3});
}

TEST_CASE("channel: an element that is there is received without waiting, in the order of the sends") {
  channel<int> ch{3};
  log_of log;
  for (int i = 1; i != 4; ++i) REQUIRE(ch.try_send(i));
  for (int i = 1; i != 4; ++i) recv_and_log(ch, i, log);
  CHECK(log == log_of{"1 got 1", "2 got 2", "3 got 3"});
}

TEST_CASE("channel: an element goes straight to the receiver that has waited longest") {
  channel<int> ch{1};
  log_of log;
  for (int i = 1; i != 4; ++i) recv_and_log(ch, i, log);
  CHECK(log.empty());
  for (int i = 7; i != 10; ++i) CHECK(ch.try_send(i));
  CHECK(log == log_of{"1 got 7", "2 got 8", "3 got 9"});
  CHECK_FALSE(ch.try_recv());
}

TEST_CASE("channel: the sender that has waited longest fills the place that becomes free") {
  channel<int> ch{1};
  log_of log;
  for (int i = 1; i != 5; ++i) send_and_log(ch, i, log);
  CHECK(log == log_of{"sent 1"});
  CHECK(drain(ch) == std::vector{1, 2, 3, 4});
  CHECK(log == log_of{"sent 1", "sent 2", "sent 3", "sent 4"});
}

TEST_CASE("channel: its ring goes round, whatever its size") {
  for (const std::size_t capacity : {1u, 2u, 3u, 5u, 8u}) {
    channel<int> ch{capacity};
    int next_in = 0, next_out = 0;
    for (int round = 0; round != 20; ++round) {
      while (ch.try_send(next_in)) ++next_in;
      CHECK(next_in - next_out == static_cast<int>(capacity));
      for (int i = 0; i <= round % static_cast<int>(capacity); ++i) CHECK(ch.try_recv() == next_out++);
    }
    for (const int each : drain(ch)) CHECK(each == next_out++);
  }
}

TEST_CASE("channel: with capacity 0 sender and receiver wait for each other") {
  channel<int> ch{0};
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

TEST_CASE("channel: nobody gets ahead of a waiter that is served but has not run yet") {
  coracle::run_loop loop;
  channel<int> ch{1};
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

TEST_CASE("channel: after close() receivers get what is in it, then nothing") {
  channel<int> ch{3};
  log_of log;
  CHECK(ch.try_send(1));
  CHECK(ch.try_send(2));
  CHECK_FALSE(ch.is_closed());
  ch.close();
  ch.close();
  CHECK(ch.is_closed());
  for (int name = 1; name != 5; ++name) recv_and_log(ch, name, log);
  CHECK(log == log_of{"1 got 1", "2 got 2", "3 got nothing", "4 got nothing"});
  CHECK_FALSE(ch.try_recv());
}

TEST_CASE("channel: after close() a send is refused also where there is room") {
  channel<int> ch{2};
  log_of log;
  ch.close();
  CHECK_FALSE(ch.try_send(1));
  send_and_log(ch, 2, log);
  CHECK(log == log_of{"refused 2"});
  CHECK_FALSE(ch.try_recv());
}

TEST_CASE("channel: close() wakes all who wait: receivers get nothing, senders channel_closed") {
  for (const std::size_t capacity : {0u, 1u}) {
    channel<int> ch{capacity};
    log_of log;
    recv_and_log(ch, 1, log);
    recv_and_log(ch, 2, log);
    ch.close();
    CHECK(log == log_of{"1 got nothing", "2 got nothing"});
  }
  channel<int> full{1};
  log_of log;
  for (int i = 1; i != 4; ++i) send_and_log(full, i, log);
  full.close();
  send_and_log(full, 4, log);
  CHECK(log == log_of{"sent 1", "refused 2", "refused 3", "refused 4"});
  CHECK_FALSE(full.try_send(5));
  CHECK(drain(full) == std::vector{1});
}

TEST_CASE("channel: a value that was refused is still the sender's") {
  channel<std::unique_ptr<int>> ch{1};
  auto mine = std::make_unique<int>(1), kept = std::make_unique<int>(2);
  CHECK(ch.try_send(std::move(mine)));
  CHECK_FALSE(mine);
  CHECK_FALSE(ch.try_send(std::move(kept)));
  REQUIRE(kept);
  const auto send = [&]() -> task<> { co_await ch.send(std::move(kept)); };
  bool refused = false;
  const auto wait = [&]() -> detached {
    try {
      co_await send();
    } catch (const coracle::channel_closed& e) {
      refused = std::string(e.what()) == "a value was sent into a closed channel";
    }
  };
  wait();
  CHECK(kept);
  ch.close();
  CHECK(refused);
  REQUIRE(kept);
  CHECK(*kept == 2);
  CHECK(**ch.try_recv() == 1);
}

TEST_CASE("channel: values are moved, never copied, and each is destroyed once") {
  coracle::testing::lifetimes log;
  {
    channel<coracle::testing::lifetime_probe> ch{2};
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

TEST_CASE("channel: an lvalue is copied once, when the send is made") {
  coracle::testing::lifetimes log;
  {
    channel<coracle::testing::lifetime_probe> ch{0};
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

TEST_CASE("channel: stop requested before: nothing is sent and nothing taken, though it could be") {
  channel<int> ch{2};
  coracle::stop_source source;
  source.request_stop();
  log_of log;
  run_detached(coracle::with_stop(try_to_send(ch, 1, log), source.get_token()));
  CHECK(drain(ch).empty());
  CHECK(ch.try_send(2));
  run_detached(coracle::with_stop(try_to_recv(ch, log), source.get_token()));
  CHECK(log == log_of{"cancelled 1", "cancelled"});
  CHECK(drain(ch) == std::vector{2});
}

TEST_CASE("channel: stop requested during: the wait ends, the others keep their turn, nothing is lost") {
  channel<int> ch{1};
  coracle::stop_source source;
  log_of log;
  for (int i = 1; i != 3; ++i) send_and_log(ch, i, log);
  run_detached(coracle::with_stop(try_to_send(ch, 3, log), source.get_token()));
  send_and_log(ch, 4, log);
  source.request_stop();
  CHECK(log == log_of{"sent 1", "cancelled 3"});
  CHECK(drain(ch) == std::vector{1, 2, 4});

  coracle::stop_source other;
  log.clear();
  recv_and_log(ch, 1, log);
  run_detached(coracle::with_stop(try_to_recv(ch, log), other.get_token()));
  recv_and_log(ch, 2, log);
  other.request_stop();
  CHECK(ch.try_send(5));
  CHECK(ch.try_send(6));
  CHECK(log == log_of{"cancelled", "1 got 5", "2 got 6"});
}

TEST_CASE("channel: when the last waiter was stopped, the next operation finds it as if nobody had waited") {
  channel<int> ch{1};
  coracle::stop_source source;
  log_of log;
  run_detached(coracle::with_stop(try_to_recv(ch, log), source.get_token()));
  source.request_stop();
  CHECK(ch.try_send(1));
  CHECK_FALSE(ch.try_send(2));
  CHECK(ch.try_recv() == 1);
  CHECK_FALSE(ch.try_recv());
}

TEST_CASE("channel: stop requested after it was served has no effect") {
  coracle::run_loop loop;
  channel<int> ch{1};
  coracle::stop_source source;
  log_of log;
  const auto there = [&](task<> work) -> detached {
    co_await loop.schedule();
    co_await coracle::with_stop(std::move(work), source.get_token());
  };
  there(try_to_recv(ch, log));
  CHECK(loop.run_one());
  CHECK(ch.try_send(1));
  source.request_stop();
  CHECK(loop.run_one());
  CHECK(log == log_of{"got 1"});
}

TEST_CASE("channel: a cancelled send leaves its value to the sender") {
  channel<std::unique_ptr<int>> ch{0};
  coracle::stop_source source;
  auto value = std::make_unique<int>(3);
  bool kept = false;
  const auto send = [&]() -> task<> {
    try {
      co_await ch.send(std::move(value));
    } catch (const coracle::operation_cancelled&) {
      kept = value && *value == 3;
    }
  };
  run_detached(coracle::with_stop(send(), source.get_token()));
  source.request_stop();
  CHECK(kept);
}

TEST_CASE("channel: waiters resume on their executors, no call runs them") {
  coracle::run_loop first, second;
  channel<int> ch{1};
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

TEST_CASE("channel: a sender that waits resumes on its executor") {
  coracle::run_loop loop;
  channel<int> ch{0};
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

TEST_CASE("channel: producer and consumer on two threads see every element, and what was written before it") {
  coracle::static_thread_pool one{1}, two{1};
  channel<std::unique_ptr<int>> ch{4};
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

TEST_CASE("channel: a producer and a consumer that never wait give way to others now and then") {
  coracle::run_loop loop;
  channel<int> ch{1000};
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

TEST_CASE("channel: a chain of a million elements without an executor uses constant stack") {
  channel<int> ch{0};
  long sum = 0;
  const auto produce = [&]() -> detached {
    for (int i = 0; i != 100'000; ++i) co_await ch.send(1);
    ch.close();
  };
  const auto consume = [&]() -> detached {
    while (const auto got = co_await ch.recv()) sum += *got;
  };
  consume();
  produce();
  CHECK(sum == 100'000);
}

TEST_CASE("channel: the last waiter to be woken may destroy it") {
  auto ch = std::make_optional<channel<int>>(0u);
  const auto recv = [&]() -> detached {
    static_cast<void>(co_await ch->recv());
    ch.reset();
  };
  recv();
  CHECK(ch->try_send(1));
  CHECK_FALSE(ch);
  ch.emplace(0u);
  const auto recv_until_closed = [&](bool last) -> detached {
    static_cast<void>(co_await ch->recv());
    if (last) ch.reset();
  };
  recv_until_closed(false);
  recv_until_closed(true);
  ch->close();
  CHECK_FALSE(ch);
}

TEST_CASE("channel: operations are awaitables that others can hold: when_all, with_stop") {
  channel<std::string> ch{0};
  std::string text = "hello";
  const auto both = [&]() -> task<std::string> {
    auto [nothing, got] = co_await coracle::when_all(ch.send(std::move(text)), ch.recv());
    static_cast<void>(nothing);
    co_return *got;
  };
  CHECK(coracle::sync_wait(both()) == "hello");
  coracle::stop_source source;
  const auto copy = [&]() -> task<std::string> {
    auto [got, nothing] = co_await coracle::when_all(
        ch.recv(), coracle::with_stop(ch.send(std::string("again")), source.get_token()));
    static_cast<void>(nothing);
    co_return *got;
  };
  CHECK(coracle::sync_wait(copy()) == "again");
}

TEST_CASE("channel: after its construction it allocates nothing" *
          doctest::skip(!coracle::testing::allocations_are_counted)) {
  channel<int> ch{2};
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

TEST_CASE("channel: a constructor that gets no memory leaves nothing behind" *
          doctest::skip(!coracle::testing::allocations_are_counted)) {
  CHECK(coracle::testing::fail_each_allocation([] {
          try {
            const channel<int> ch{16};
          } catch (const std::bad_alloc&) {
          }
        }) == 1);
}

TEST_CASE("channel: destroyed while a coroutine waits ends the program and says so" *
          doctest::skip(!CORACLE_CHECKS())) {
  CHECK(coracle_test::abort_message([] {
          channel<int> ch{1};
          log_of log;
          recv_and_log(ch, 1, log);
        }) == "coracle: a channel was destroyed while coroutines wait for it\n");
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
TEST_CASE("channel: is full again once a sender that waited has filled the place that became free") {
  channel<int> ch{2};
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
}  // namespace
