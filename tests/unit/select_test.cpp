// tests/unit/select_test.cpp -- exactly one of several branches takes effect.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <chrono>
#include <coracle/channels/channel.hpp>
#include <coracle/compose/as_outcome.hpp>
#include <coracle/compose/select.hpp>
#include <coracle/compose/when_all.hpp>
#include <coracle/core/detail/choice.hpp>
#include <coracle/core/promise_parts.hpp>
#include <coracle/core/sync_wait.hpp>
#include <coracle/core/with_environment.hpp>
#include <coracle/exec/run_loop.hpp>
#include <coracle/sync/async_auto_reset_event.hpp>
#include <coracle/sync/async_manual_reset_event.hpp>
#include <coracle/sync/async_mutex.hpp>
#include <coracle/sync/async_semaphore.hpp>
#include <coracle/testing/virtual_time_loop.hpp>
#include <coracle/time/sleep.hpp>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <variant>
#include <vector>

#include "../support/abort_message.hpp"
#include "../support/detached.hpp"

namespace {
using coracle::channel;
using coracle::task;
using coracle_test::detached;
using coracle_test::run_detached;

/// The branch that took effect; negative values mean none yet, cancelled, and an error.
constexpr int waiting = -1, cancelled = -2, refused = -3;
template <class Select>
task<> note_index(Select operation, int& index) {
  try {
    const auto chosen = co_await std::move(operation);
    index = static_cast<int>(chosen.index());
  } catch (const coracle::operation_cancelled&) {
    index = cancelled;
  } catch (const coracle::channel_closed&) {
    index = refused;
  }
}
template <class... Branches>
int start_select(int& index, Branches&&... each) {
  index = waiting;
  run_detached(note_index(coracle::select(static_cast<Branches&&>(each)...), index));
  return index;
}

TEST_CASE("select: the first branch that can be carried out at once is, and no other") {
  channel<int> one{1}, two{1}, three{1};
  REQUIRE(two.try_send(2));
  REQUIRE(three.try_send(3));
  int index;
  CHECK(start_select(index, one.recv(), two.recv(), three.recv()) == 1);
  CHECK_FALSE(two.try_recv());
  CHECK(three.try_recv() == 3);
}

TEST_CASE("select: gives the element at its branch's place") {
  channel<int> numbers{1};
  channel<std::string> words{1};
  REQUIRE(words.try_send("hello"));
  const auto work = [&]() -> task<std::string> {
    auto chosen = co_await coracle::select(numbers.recv(), words.recv());
    co_return std::get<1>(chosen).value();
  };
  CHECK(coracle::sync_wait(work()) == "hello");
}

TEST_CASE("select: waits for whichever comes first, and leaves the other branches' queues") {
  channel<int> one{1}, two{1};
  int index, other;
  CHECK(start_select(index, one.recv(), two.recv()) == waiting);
  CHECK(two.try_send(2));
  CHECK(index == 1);
  CHECK(one.try_send(1));
  CHECK(one.try_recv() == 1);
  CHECK(start_select(index, one.recv(), two.recv()) == waiting);
  CHECK(start_select(other, two.recv(), one.recv()) == waiting);
  CHECK(one.try_send(1));
  CHECK(index == 0);
  CHECK(other == waiting);
  CHECK(one.try_send(1));
  CHECK(other == 1);
}

TEST_CASE("select: a send that does not win has sent nothing, and its value is still the sender's") {
  channel<std::unique_ptr<int>> full{0}, wanted{0};
  auto first = std::make_unique<int>(1), second = std::make_unique<int>(2);
  int index;
  CHECK(start_select(index, full.send(std::move(first)), wanted.send(std::move(second))) == waiting);
  const auto got = wanted.try_recv();
  CHECK(index == 1);
  REQUIRE(got);
  CHECK(**got == 2);
  REQUIRE(first);
  CHECK(*first == 1);
  CHECK_FALSE(second);
  CHECK_FALSE(full.try_recv());
}

TEST_CASE("select: one that sends meets one that receives, and both leave the rest") {
  channel<int> shared{0}, mine{0}, theirs{0};
  int receiver, sender;
  start_select(receiver, theirs.recv(), shared.recv());
  CHECK(start_select(sender, mine.send(1), shared.send(2)) == 1);
  CHECK(receiver == 1);
  CHECK_FALSE(mine.try_recv());
  CHECK_FALSE(theirs.try_send(3));
  start_select(sender, mine.send(1), shared.send(2));
  CHECK(start_select(receiver, theirs.recv(), shared.recv()) == 1);
  CHECK(sender == 1);
  CHECK_FALSE(mine.try_recv());
  CHECK_FALSE(theirs.try_send(3));
}

TEST_CASE("select: does not meet itself in a channel of capacity 0") {
  channel<int> ch{0};
  int index;
  CHECK(start_select(index, ch.send(1), ch.recv()) == waiting);
  CHECK(ch.try_send(5));
  CHECK(index == 1);
  CHECK(start_select(index, ch.recv(), ch.send(7)) == waiting);
  CHECK(ch.try_recv() == 7);
  CHECK(index == 1);
  CHECK_FALSE(ch.try_recv());
  CHECK_FALSE(ch.try_send(1));
}

TEST_CASE("select: two branches on one channel take one element") {
  channel<int> ch{2};
  int index;
  CHECK(start_select(index, ch.recv(), ch.recv()) == waiting);
  CHECK(ch.try_send(1));
  CHECK(index == 0);
  CHECK(ch.try_send(2));
  CHECK(ch.try_recv() == 2);
}

TEST_CASE("select: a closed channel is a branch that can be carried out") {
  channel<int> one{1}, two{1};
  int index;
  CHECK(start_select(index, one.recv(), two.recv()) == waiting);
  two.close();
  CHECK(index == 1);
  CHECK(start_select(index, one.recv(), two.send(1)) == refused);
  CHECK(one.try_send(1));
  CHECK(one.try_recv() == 1);
  REQUIRE(one.try_send(9));
  CHECK(start_select(index, one.send(1), one.send(2)) == waiting);
  one.close();
  CHECK(index == refused);
}

TEST_CASE("select: a lost receiver is passed over until it has left") {
  coracle::run_loop loop;
  channel<int> one{1}, two{1};
  int index = waiting, other = waiting;
  const auto there = [&](task<> work) -> detached {
    co_await loop.schedule();
    co_await std::move(work);
  };
  there(note_index(coracle::select(one.recv(), two.recv()), index));
  CHECK(loop.run_one());
  CHECK(one.try_send(1));  // taken, but the loser still stands in two
  CHECK(two.try_send(2));
  CHECK(start_select(other, two.recv()) == 0);
  CHECK(two.try_send(3));
  CHECK(index == waiting);
  while (loop.run_one()) {
  }
  CHECK(index == 0);
  CHECK(two.try_recv() == 3);
  CHECK_FALSE(one.try_recv());
}

TEST_CASE("select: a lost sender is passed over until it has left") {
  coracle::run_loop loop;
  channel<int> one{1}, two{1};
  REQUIRE(one.try_send(1));
  REQUIRE(two.try_send(2));
  int index = waiting;
  const auto there = [&](task<> work) -> detached {
    co_await loop.schedule();
    co_await std::move(work);
  };
  there(note_index(coracle::select(one.send(10), two.send(20)), index));
  CHECK(loop.run_one());
  CHECK(one.try_recv() == 1);
  CHECK(two.try_recv() == 2);
  CHECK_FALSE(two.try_recv());
  CHECK(one.try_recv() == 10);
  while (loop.run_one()) {
  }
  CHECK(index == 0);
}

TEST_CASE("select: a stop request ends it, and nothing has happened") {
  channel<int> one{1}, full{0};
  coracle::stop_source source;
  int index = waiting;
  run_detached(
      coracle::with_stop(note_index(coracle::select(one.recv(), full.send(1)), index), source.get_token()));
  CHECK(index == waiting);
  source.request_stop();
  CHECK(index == cancelled);
  CHECK_FALSE(full.try_recv());
  CHECK(one.try_send(1));
  run_detached(
      coracle::with_stop(note_index(coracle::select(one.recv(), full.send(1)), index), source.get_token()));
  CHECK(index == cancelled);
  CHECK(one.try_recv() == 1);
}

TEST_CASE("select: a task that loses is stopped and joined; one that wins leaves the channels alone") {
  channel<int> ch{1}, never{0};
  bool was_stopped = false;
  const auto wait = [&]() -> task<int> {
    try {
      const std::optional<int> value = co_await coracle::throwing(never.recv());
      co_return value.value_or(0);
    } catch (const coracle::operation_cancelled& e) {
      was_stopped = e.reason() == coracle::stop_reason::lost_race;
      throw;
    }
  };
  int index;
  CHECK(start_select(index, wait(), ch.recv()) == waiting);
  CHECK(ch.try_send(1));
  CHECK(index == 1);
  CHECK(was_stopped);
  const auto at_once = []() -> task<int> { co_return 5; };
  REQUIRE(ch.try_send(2));
  CHECK(start_select(index, at_once(), ch.recv()) == 0);
  CHECK(ch.try_recv() == 2);
}

TEST_CASE("select: a timer is a branch: it wins when nothing comes, and goes when something does") {
  using namespace std::chrono_literals;
  coracle::testing::virtual_time_loop loop;
  channel<int> ch{1};
  std::size_t first = 9, second = 9;
  const auto choose = [&]() -> task<> {
    const auto timed = co_await coracle::select(ch.recv(), coracle::sleep_for(1s));
    first = timed.index();
    CHECK(loop.now() == loop.start + 1s);
    const auto served = co_await coracle::select(coracle::sleep_for(1h), ch.recv());
    second = served.index();
    CHECK(loop.now() == loop.start + 3s);
  };
  const auto send_later = [&]() -> task<> {
    co_await coracle::sleep_for(3s);
    co_await ch.send(1);
  };
  loop.run(coracle::when_all(choose(), send_later()));
  CHECK(first == 1);
  CHECK(second == 1);
  CHECK_FALSE(ch.try_recv());
}

TEST_CASE("select: a permit, a lock and a signal are not taken by a branch that loses") {
  coracle::run_loop loop;
  channel<int> ch{1};
  coracle::async_semaphore permits{0};
  coracle::async_auto_reset_event signal;
  coracle::async_mutex mutex;
  REQUIRE(mutex.try_lock());
  int index = waiting;
  const auto there = [&](task<> work) -> detached {
    co_await loop.schedule();
    co_await std::move(work);
  };
  there(note_index(coracle::select(ch.recv(), permits.acquire(), signal, mutex.scoped_lock_async()), index));
  CHECK(loop.run_one());
  CHECK(ch.try_send(1));  // has won; the others still stand in their queues
  permits.release();
  signal.set();
  mutex.unlock();
  while (loop.run_one()) {
  }
  CHECK(index == 0);
  CHECK(permits.try_acquire());
  CHECK(mutex.try_lock());
  mutex.unlock();
  bool signalled = false;
  const auto wait = [&]() -> detached {
    co_await signal;
    signalled = true;
  };
  wait();
  CHECK(signalled);
  CHECK_FALSE(ch.try_recv());
}

TEST_CASE("select: a permit that wins is the only thing taken") {
  channel<int> ch{1};
  coracle::async_semaphore permits{1};
  REQUIRE(ch.try_send(1));
  int index;
  CHECK(start_select(index, permits.acquire(), ch.recv()) == 0);
  CHECK_FALSE(permits.try_acquire());
  CHECK(ch.try_recv() == 1);
}

/// A coroutine that is a branch of `one_of`, like a child of when_any().
struct branch {
  struct promise_type : coracle::part::starts_eagerly,
                        coracle::part::returns<void, coracle::part::terminates_on_error>,
                        coracle::part::frees_itself,
                        coracle::part::awaits_anything {
    promise_type(coracle::detail::choice& one_of, channel<int>&, int&, const coracle::stop_token& token)
        : choice_(one_of) {
      environment_.stop = token;
    }
    branch get_return_object() const noexcept { return {}; }
    coracle::detail::choice* get_choice() noexcept { return &choice_; }
    const coracle::environment* get_environment() const noexcept { return &environment_; }

   private:
    coracle::detail::choice& choice_;
    coracle::environment environment_;
  };
};
branch recv_as_branch(coracle::detail::choice&, channel<int>& from, int& result, coracle::stop_token = {}) {
  result = waiting;
  try {
    const auto got = co_await from.recv();
    result = got.value_or(0);
  } catch (const coracle::operation_cancelled& e) {
    result = e.reason() == coracle::stop_reason::lost_race ? cancelled : refused;
  }
}
branch send_as_branch(coracle::detail::choice&, channel<int>& to, int& result, coracle::stop_token = {}) {
  result = waiting;
  try {
    co_await to.send(7);
    result = 7;
  } catch (const coracle::operation_cancelled& e) {
    result = e.reason() == coracle::stop_reason::lost_race ? cancelled : refused;
  }
}

TEST_CASE("select: a branch that comes when another has won takes nothing and gives nothing") {
  coracle::detail::choice won;
  REQUIRE(won.claim());
  channel<int> ch{1}, meeting{0};
  int result;
  send_as_branch(won, ch, result);
  CHECK(result == cancelled);
  CHECK_FALSE(ch.try_recv());
  REQUIRE(ch.try_send(1));
  recv_as_branch(won, ch, result);
  CHECK(result == cancelled);
  CHECK(ch.try_recv() == 1);

  int other;
  start_select(other, meeting.send(3));
  recv_as_branch(won, meeting, result);
  CHECK(result == cancelled);
  CHECK(other == waiting);
  CHECK(meeting.try_recv() == 3);
  start_select(other, meeting.recv());
  send_as_branch(won, meeting, result);
  CHECK(result == cancelled);
  CHECK(other == waiting);
  CHECK(meeting.try_send(4));
  CHECK(other == 0);
  ch.close();
  recv_as_branch(won, ch, result);
  CHECK(result == cancelled);
  send_as_branch(won, ch, result);
  CHECK(result == cancelled);
}

TEST_CASE("select: close() wakes the branches that have not lost, and passes over the others") {
  coracle::detail::choice first, second;
  channel<int> one{1}, two{1};
  int lost, won, other;
  coracle::stop_source losers;
  recv_as_branch(first, one, other, losers.get_token());
  recv_as_branch(first, two, lost, losers.get_token());
  recv_as_branch(second, two, won);
  REQUIRE(one.try_send(5));
  CHECK(other == 5);
  two.close();
  CHECK(won == 0);
  CHECK(lost == waiting);
  CHECK(second.is_claimed());
  losers.request_stop(coracle::stop_reason::lost_race);
  CHECK(lost == cancelled);
}

TEST_CASE("choice: is claimed once") {
  coracle::detail::choice one;
  CHECK_FALSE(one.is_claimed());
  CHECK(one.claim());
  CHECK_FALSE(one.claim());
  CHECK(one.is_claimed());
}

TEST_CASE("select: awaited twice ends a checked program and says so" * doctest::skip(!CORACLE_CHECKS())) {
  const std::string message =
      "coracle: a when_any or select was awaited twice: make a new one for each await\n";
  CHECK(coracle_test::abort_message([] {
          channel<int> numbers{2};
          static_cast<void>(numbers.try_send(1) && numbers.try_send(2));
          coracle::async_manual_reset_event never;
          const auto receive_twice = [&]() -> task<> {
            auto choice = coracle::select(numbers.recv(), never);
            static_cast<void>(co_await std::move(choice));
            static_cast<void>(co_await std::move(choice));
          };
          coracle::sync_wait(receive_twice());
        }) == message);
  CHECK(coracle_test::abort_message([] {
          coracle::async_manual_reset_event never;
          const auto one = []() -> task<int> { co_return 1; };
          const auto race_twice = [&]() -> task<> {
            auto race = coracle::when_any(one(), never);
            static_cast<void>(co_await std::move(race));
            static_cast<void>(co_await std::move(race));
          };
          coracle::sync_wait(race_twice());
        }) == message);
}

TEST_CASE("choice: two fall together or not at all") {
  using coracle::detail::choice;
  choice mine, other, taken;
  CHECK(taken.claim());
  CHECK(choice::claim_both(&mine, &taken) == choice::meeting::other_is_lost);
  CHECK_FALSE(mine.is_claimed());
  CHECK(choice::claim_both(&taken, &mine) == choice::meeting::mine_is_lost);
  CHECK_FALSE(mine.is_claimed());
  CHECK(choice::claim_both(&mine, &mine) == choice::meeting::other_is_lost);
  CHECK(choice::claim_both(&mine, &other) == choice::meeting::both);
  CHECK(mine.is_claimed());
  CHECK(other.is_claimed());
  CHECK(choice::claim_both(nullptr, nullptr) == choice::meeting::both);
  CHECK(choice::claim_both(nullptr, &mine) == choice::meeting::other_is_lost);
  CHECK(choice::claim_both(&mine, nullptr) == choice::meeting::mine_is_lost);
  choice single;
  CHECK(choice::claim_both(&single, nullptr) == choice::meeting::both);
  CHECK(single.is_claimed());
}
}  // namespace
