// tests/unit/oneshot_test.cpp -- one value from one sender to one receiver.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <coracle/channels/oneshot.hpp>
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

#include "../support/abort_message.hpp"
#include "../support/detached.hpp"
#include "../support/test_coroutine.hpp"

namespace {
using coracle::oneshot;
using coracle::oneshot_receiver;
using coracle::oneshot_sender;
using coracle::sync_wait;
using coracle::task;
using coracle::testing::lifetime_probe;
using coracle::testing::lifetimes;
using coracle_test::detached;

template <class T>
detached receive_into(oneshot_receiver<T>& from, std::optional<T>& seen) {
  seen.emplace(co_await from.recv());
}

TEST_CASE("oneshot: a value that was sent before is received without suspending") {
  auto [reply, answer] = oneshot<int>();
  CHECK_FALSE(reply.send(42));
  CHECK_FALSE(reply);
  CHECK(sync_wait(answer.recv()) == 42);
}

TEST_CASE(
    "oneshot: the receiver suspends until the value is sent, and runs inside send() outside any executor") {
  auto [reply, answer] = oneshot<std::string>();
  std::optional<std::string> seen;
  receive_into(answer, seen);
  CHECK_FALSE(seen);
  CHECK_FALSE(reply.send("hello"));
  CHECK(seen == "hello");
}

TEST_CASE("oneshot: a value that can only be moved is neither copied nor kept") {
  auto [reply, answer] = oneshot<std::unique_ptr<int>>();
  CHECK_FALSE(reply.send(std::make_unique<int>(3)));
  CHECK(*sync_wait(answer.recv()) == 3);
}

TEST_CASE("oneshot: the receiver resumes on its executor, not inside send()") {
  coracle::run_loop loop;
  auto [reply, answer] = oneshot<int>();
  std::optional<int> seen;
  const auto wait = [&]() -> task<> { seen = co_await answer.recv(); };
  coracle_test::run_detached_on(loop, wait());
  CHECK(loop.run_one());
  CHECK_FALSE(reply.send(1));
  CHECK_FALSE(seen);
  CHECK(loop.run_one());
  CHECK(seen == 1);
}

TEST_CASE("oneshot: a receiver on a pool gets what another thread sends, and stays on its pool") {
  coracle::static_thread_pool pool{1};
  auto [reply, answer] = oneshot<int>();
  const auto wait = [&]() -> task<bool> {
    co_await pool.schedule();
    const int value = co_await answer.recv();
    co_return value == 5 && coracle::current_executor() == &pool;
  };
  std::thread sender([&] { CHECK_FALSE(reply.send(5)); });
  CHECK(sync_wait(wait()));
  sender.join();
}

TEST_CASE(
    "oneshot: a sender that is dropped without a value gives broken_promise, before and during the wait") {
  std::optional<oneshot_sender<int>> reply;
  const auto receive_nothing = [](oneshot_receiver<int> answer) -> task<std::string> {
    try {
      static_cast<void>(co_await answer.recv());
    } catch (const coracle::broken_promise& broken) {
      co_return broken.what();
    }
    co_return "a value";
  };
  const char* const says =
      "a oneshot has no value: its sender was dropped without sending, or the value was received before";
  {
    auto [sender, answer] = oneshot<int>();
    {
      const auto dropped = std::move(sender);
    }
    CHECK(sync_wait(receive_nothing(std::move(answer))) == says);
  }
  auto [sender, answer] = oneshot<int>();
  std::string seen;
  const auto wait = [&](oneshot_receiver<int> mine) -> detached {
    seen = co_await receive_nothing(std::move(mine));
  };
  wait(std::move(answer));
  CHECK(seen.empty());
  {
    const auto dropped = std::move(sender);
  }
  CHECK(seen == says);
}

TEST_CASE("oneshot: a second recv() throws broken_promise: there will be no other value") {
  auto [reply, answer] = oneshot<int>();
  CHECK_FALSE(reply.send(1));
  CHECK(sync_wait(answer.recv()) == 1);
  CHECK_THROWS_AS(sync_wait(answer.recv()), coracle::broken_promise);
}

TEST_CASE("oneshot: a value for a receiver that has gone is given back") {
  auto [reply, answer] = oneshot<std::unique_ptr<int>>();
  {
    const auto gone = std::move(answer);
  }
  auto back = reply.send(std::make_unique<int>(9));
  REQUIRE(back);
  CHECK(**back == 9);
}

TEST_CASE("oneshot: a value that the receiver does not take is destroyed with it") {
  lifetimes log;
  {
    auto [reply, answer] = oneshot<lifetime_probe>();
    CHECK_FALSE(reply.send(lifetime_probe(log, 1)));
    CHECK(log.destroyed.empty());
  }
  CHECK(log.destroyed == std::vector{1});
  CHECK(log.alive == 0);
  CHECK(log.copies == 0);
}

TEST_CASE("oneshot: a stop request ends the wait, and the value stays for the next recv()") {
  coracle::stop_source source;
  auto [reply, answer] = oneshot<int>();
  bool cancelled = false;
  const auto wait = [&]() -> task<> {
    try {
      static_cast<void>(co_await answer.recv());
    } catch (const coracle::operation_cancelled&) {
      cancelled = true;
    }
  };
  coracle_test::run_detached(coracle::with_stop(wait(), source.get_token()));
  CHECK_FALSE(cancelled);
  source.request_stop();
  CHECK(cancelled);
  CHECK_FALSE(reply.send(8));
  CHECK_THROWS_AS(sync_wait(coracle::with_stop(answer.recv(), source.get_token())),
                  coracle::operation_cancelled);
  CHECK(sync_wait(answer.recv()) == 8);
}

TEST_CASE("oneshot: its ends may be moved, and assigned over others, whose oneshots then end") {
  auto [first_reply, first_answer] = oneshot<int>();
  auto [second_reply, second_answer] = oneshot<int>();
  first_reply = std::move(second_reply);
  CHECK_THROWS_AS(sync_wait(first_answer.recv()), coracle::broken_promise);
  first_answer = std::move(second_answer);
  CHECK_FALSE(first_reply.send(2));
  CHECK(sync_wait(first_answer.recv()) == 2);
}

TEST_CASE("oneshot: the receiving end may be moved while a coroutine waits") {
  auto [reply, answer] = oneshot<int>();
  std::optional<int> seen;
  receive_into(answer, seen);
  auto moved = std::move(answer);
  CHECK(!reply.send(5));
  CHECK(seen == 5);
}

TEST_CASE("oneshot: the woken receiver may drop its end while send() has not returned") {
  auto [reply, answer] = oneshot<int>();
  int seen = 0;
  const auto wait = [&](oneshot_receiver<int> mine) -> detached {
    seen = co_await mine.recv();
    const auto gone = std::move(mine);
  };
  wait(std::move(answer));
  CHECK_FALSE(reply.send(4));
  CHECK(seen == 4);
}

TEST_CASE(
    "oneshot: one allocation, none to send and receive; what cannot be allocated leaves nothing behind" *
    doctest::skip(!coracle::testing::allocations_are_counted)) {
  CHECK(coracle::testing::fail_each_allocation([] {
          try {
            auto [reply, answer] = oneshot<int>();
            static_cast<void>(reply.send(1));
          } catch (const std::bad_alloc&) {
          }
        }) == 1);
  auto [reply, answer] = oneshot<int>();
  auto receive = coracle_test::awaiting(answer.recv());
  receive.resume();
  const auto before = coracle::testing::allocations();
  static_cast<void>(reply.send(1));
  CHECK(coracle::testing::allocations() == before);
  CHECK(receive.done());
}

TEST_CASE("oneshot: what its ends do not allow ends the program and says so") {
  CHECK(coracle_test::abort_message([] {
          auto [reply, answer] = oneshot<int>();
          static_cast<void>(reply.send(1));
          static_cast<void>(reply.send(2));
        }) == "coracle: a oneshot_sender sent twice, or was moved from: each sends one value\n");
  CHECK(coracle_test::abort_message([] {
          auto [reply, answer] = oneshot<int>();
          const auto moved = std::move(answer);
          static_cast<void>(answer.recv());
        }) == "coracle: recv() of a oneshot_receiver that was moved from\n");
  CHECK(coracle_test::abort_message([] {
          auto [reply, answer] = oneshot<int>();
          std::optional<int> seen;
          receive_into(answer, seen);
          {
            const auto gone = std::move(answer);
          }
        }) ==
        "coracle: a oneshot_receiver was destroyed while a coroutine waits for its value: stop and join it "
        "first\n");
  CHECK(coracle_test::abort_message([] {
          auto [reply, answer] = oneshot<int>();
          std::optional<int> seen;
          receive_into(answer, seen);
          receive_into(answer, seen);
        }) == "coracle: concurrent recv() of a oneshot_receiver: it has one consumer at a time\n");
}

// The static guarantees of the header.
static_assert(!std::is_copy_constructible_v<oneshot_sender<int>> &&
              !std::is_copy_constructible_v<oneshot_receiver<int>>);
static_assert(std::is_nothrow_move_constructible_v<oneshot_sender<int>> &&
              std::is_nothrow_move_assignable_v<oneshot_receiver<int>>);
static_assert(std::is_same_v<coracle::await_result_t<oneshot_receiver<int>::recv_operation>, int>);
static_assert(sizeof(oneshot_sender<std::string>) == sizeof(void*));
}  // namespace
