// tests/unit/channel_end_test.cpp -- close(), stop requests, and destruction.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>
#include <unistd.h>

#include <coracle/channels/channel.hpp>
#include <coracle/compose/when_all.hpp>
#include <coracle/core/sync_wait.hpp>
#include <coracle/core/with_environment.hpp>
#include <coracle/exec/run_loop.hpp>
#include <coracle/testing/allocations.hpp>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "../support/abort_message.hpp"
#include "channel_kinds.hpp"

namespace {
using coracle::task;
using coracle_test::detached;
using coracle_test::drain;
using coracle_test::log_of;
using coracle_test::of;
using coracle_test::recv_and_log;
using coracle_test::run_detached;
using coracle_test::send_and_log;
using coracle_test::try_to_recv;
using coracle_test::try_to_send;

TEST_CASE_TEMPLATE("channel: after close() receivers get what is in it, then nothing", Kind, CHANNEL_KINDS) {
  of<Kind, int> ch{3};
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

TEST_CASE_TEMPLATE("channel: after close() a send is refused also where there is room", Kind, CHANNEL_KINDS) {
  of<Kind, int> ch{2};
  log_of log;
  ch.close();
  CHECK_FALSE(ch.try_send(1));
  send_and_log(ch, 2, log);
  CHECK(log == log_of{"refused 2"});
  CHECK_FALSE(ch.try_recv());
}

TEST_CASE_TEMPLATE("channel: close() wakes all who wait: receivers get nothing, senders channel_closed", Kind,
                   CHANNEL_KINDS) {
  for (const std::size_t capacity : {0u, 1u}) {
    of<Kind, int> ch{capacity};
    log_of log;
    recv_and_log(ch, 1, log);
    recv_and_log(ch, 2, log);
    ch.close();
    CHECK(log == log_of{"1 got nothing", "2 got nothing"});
  }
  of<Kind, int> full{1};
  log_of log;
  for (int i = 1; i != 4; ++i) send_and_log(full, i, log);
  full.close();
  send_and_log(full, 4, log);
  CHECK(log == log_of{"sent 1", "refused 2", "refused 3", "refused 4"});
  CHECK_FALSE(full.try_send(5));
  CHECK(drain(full) == std::vector{1});
}

TEST_CASE_TEMPLATE("channel: a value that was refused is still the sender's", Kind, CHANNEL_KINDS) {
  of<Kind, std::unique_ptr<int>> ch{1};
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

TEST_CASE_TEMPLATE("channel: stop requested before: nothing is sent and nothing taken, though it could be",
                   Kind, CHANNEL_KINDS) {
  of<Kind, int> ch{2};
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

TEST_CASE_TEMPLATE(
    "channel: stop requested during: the wait ends, the others keep their turn, nothing is lost", Kind,
    CHANNEL_KINDS) {
  of<Kind, int> ch{1};
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

TEST_CASE_TEMPLATE(
    "channel: when the last waiter was stopped, the next operation finds it as if nobody had waited", Kind,
    CHANNEL_KINDS) {
  of<Kind, int> ch{1};
  coracle::stop_source source;
  log_of log;
  run_detached(coracle::with_stop(try_to_recv(ch, log), source.get_token()));
  source.request_stop();
  CHECK(ch.try_send(1));
  CHECK_FALSE(ch.try_send(2));
  CHECK(ch.try_recv() == 1);
  CHECK_FALSE(ch.try_recv());
}

TEST_CASE_TEMPLATE("channel: stop requested after it was served has no effect", Kind, CHANNEL_KINDS) {
  coracle::run_loop loop;
  of<Kind, int> ch{1};
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

TEST_CASE_TEMPLATE("channel: a cancelled send leaves its value to the sender", Kind, CHANNEL_KINDS) {
  of<Kind, std::unique_ptr<int>> ch{0};
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

TEST_CASE_TEMPLATE("channel: the last waiter to be woken may destroy it", Kind, CHANNEL_KINDS) {
  auto ch = std::make_optional<of<Kind, int>>(0u);
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

TEST_CASE_TEMPLATE("channel: operations are awaitables that others can hold: when_all, with_stop", Kind,
                   CHANNEL_KINDS) {
  of<Kind, std::string> ch{0};
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

TEST_CASE_TEMPLATE("channel: destroyed while a coroutine waits ends the program and says so", Kind,
                   CHANNEL_KINDS) {
  CHECK(coracle_test::abort_message([] {
          of<Kind, int> ch{1};
          log_of log;
          recv_and_log(ch, 1, log);
        }) == "coracle: a channel was destroyed while coroutines wait for it: stop and join them first\n");
}

/// Its move, which happens while an end of the channel is in use, uses that end too, like a second sender.
struct intruder {
  explicit intruder(coracle::spsc_channel<intruder>* into) noexcept : into_(into) {}
  intruder(intruder&& from) noexcept : into_(nullptr) {
    if (from.into_) static_cast<void>(from.into_->try_send(intruder{nullptr}));
  }
  intruder& operator=(intruder&&) = delete;
  ~intruder() = default;
  coracle::spsc_channel<intruder>* into_;
};
TEST_CASE("spsc_channel: two senders at the same time end the program, which says so" *
          doctest::skip(!CORACLE_CHECKS())) {
  CHECK(coracle_test::abort_message([] {
          of<coracle_test::two_ends_apart, intruder> ch{2};
          static_cast<void>(ch.try_send(intruder{&ch}));
        }) == "coracle: an spsc_channel is used by two senders or two receivers at the same time\n");
}
TEST_CASE("spsc_channel: so do two on two threads" *
          doctest::skip(!CORACLE_CHECKS() || !coracle::testing::allocations_are_counted)) {
  // Not under ThreadSanitizer, which does not support threads in the child of a process with threads.
  CHECK(coracle_test::abort_message([] {
          ::alarm(60);  // the end if they are never found
          coracle::spsc_channel<int> ch{2};
          const auto send_without_end = [&ch] {
            for (;;) static_cast<void>(ch.try_send(1));
          };
          std::thread other{send_without_end};
          send_without_end();
        }) == "coracle: an spsc_channel is used by two senders or two receivers at the same time\n");
}
}  // namespace
