// tests/unit/executor_test.cpp -- a suspended coroutine is woken on its own executor.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <coracle/compose/when_all.hpp>
#include <coracle/core/executor.hpp>
#include <coracle/core/sync_wait.hpp>
#include <coracle/core/task.hpp>
#include <coracle/sync/async_manual_reset_event.hpp>
#include <deque>
#include <thread>
#include <vector>

#include "../support/run_on_stack.hpp"
#include "../support/test_coroutine.hpp"

namespace {
using coracle::current_executor;
using coracle_test::test_coroutine;

/// A scheduler as users may write one.
class stepping_executor final : public coracle::executor {
 public:
  void post(coracle::resumption& item) noexcept override { queue_.push_back(&item); }
  bool step() {
    if (queue_.empty()) return false;
    coracle::resumption* const first = queue_.front();
    queue_.pop_front();
    coracle::resume(*first, *this);
    return true;
  }

 private:
  std::deque<coracle::resumption*> queue_;
};

/// Suspends like a coroutine in a wait queue.
struct wait_in {
  explicit wait_in(coracle::waiter& its_place) noexcept : place(its_place) {}
  bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<> h) const noexcept { place.suspend(h); }
  void await_resume() const noexcept {}
  coracle::waiter& place;
};
test_coroutine wait_and_log(coracle::waiter& place, std::vector<int>& log, int name) {
  co_await wait_in(place);
  log.push_back(name);
}

TEST_CASE("waiter: one that suspended outside any executor is resumed inside wake()") {
  coracle::waiter place;
  std::vector<int> log;
  test_coroutine waiting = wait_and_log(place, log, 1);
  waiting.resume();
  CHECK(place.home == nullptr);
  place.wake();
  CHECK(waiting.done());
  CHECK(log == std::vector{1});
}

TEST_CASE("waiter: one that suspended on an executor is posted there, and wake() runs nothing") {
  stepping_executor place;
  coracle::waiter entry;
  coracle::executor *before = nullptr, *after = nullptr;
  auto body = [](coracle::waiter& own, coracle::executor*& first,
                 coracle::executor*& second) -> test_coroutine {
    first = current_executor();
    co_await wait_in(own);
    second = current_executor();
  };
  test_coroutine waiting = body(entry, before, after);
  {
    const coracle::detail::executor_scope here{&place};
    waiting.resume();
  }
  entry.wake();
  CHECK_FALSE(waiting.done());
  CHECK(place.step());
  CHECK(waiting.done());
  CHECK(before == &place);
  CHECK(after == &place);
  CHECK_FALSE(place.step());
}

TEST_CASE("waiter: woken from inside an executor, one without an executor runs outside of it") {
  stepping_executor place;
  coracle::waiter entry;
  coracle::executor* seen = &place;
  auto body = [](coracle::waiter& own, coracle::executor*& found) -> test_coroutine {
    co_await wait_in(own);
    found = current_executor();
  };
  test_coroutine waiting = body(entry, seen);
  waiting.resume();
  const coracle::detail::executor_scope here{&place};
  entry.wake();
  CHECK(waiting.done());
  CHECK(seen == nullptr);
  CHECK(current_executor() == &place);
}

TEST_CASE("current_executor: is null in plain code, and is each thread's own") {
  stepping_executor place;
  coracle::executor* elsewhere = &place;
  CHECK(current_executor() == nullptr);
  const coracle::detail::executor_scope here{&place};
  std::thread([&elsewhere] { elsewhere = current_executor(); }).join();
  CHECK(current_executor() == &place);
  CHECK(elsewhere == nullptr);
}

TEST_CASE("executor_scope: scopes nest, and the outer one comes back") {
  stepping_executor one, two;
  const coracle::detail::executor_scope outer{&one};
  {
    const coracle::detail::executor_scope inner{&two};
    CHECK(current_executor() == &two);
  }
  CHECK(current_executor() == &one);
}

/// Each waiter wakes the next one, and records when that call has returned.
struct chain {
  explicit chain(std::size_t length) : places(length + 1) {}
  test_coroutine link(std::size_t index) {
    co_await wait_in(places[index]);
    entered.push_back(index);
    if (places[index + 1].handle) places[index + 1].wake();
    left.push_back(index);
  }
  std::vector<coracle::waiter> places;
  std::vector<std::size_t> entered, left;
};

TEST_CASE("wake depth: 100,000 wake-ups inside one another run in order on a stack of 256 KiB") {
  constexpr std::size_t length = 100'000;
  std::size_t finished = 0;
  bool in_order = true;
  const bool ran = coracle_test::run_on_stack(256 * 1024, [&] {
    chain all(length);
    std::vector<test_coroutine> links;
    for (std::size_t i = 0; i != length; ++i) links.push_back(all.link(i));
    for (test_coroutine& each : links) each.resume();
    all.places[0].wake();
    for (std::size_t i = 0; i != all.entered.size(); ++i) in_order = in_order && all.entered[i] == i;
    finished = all.left.size();
  });
  CHECK(ran);
  CHECK(finished == length);
  CHECK(in_order);
}

TEST_CASE("wake depth: up to 64 wake-ups run inside one another, the 65th after the innermost") {
  constexpr std::size_t depth = coracle::detail::max_wake_depth;
  CHECK(depth == 64);
  chain all(depth + 2);
  std::vector<test_coroutine> links;
  for (std::size_t i = 0; i != depth + 2; ++i) links.push_back(all.link(i));
  for (test_coroutine& each : links) each.resume();
  all.places[0].wake();
  REQUIRE(all.left.size() == depth + 2);
  CHECK(all.left[0] == depth - 1);  // the innermost returned at once, its wake-up was put off
  CHECK(all.left[1] == depth);
  CHECK(all.left[2] == depth + 1);
  CHECK(all.left[3] == depth - 2);
  CHECK(all.left.back() == 0);
}

/// Waits, then wakes each waiter of `fan` in turn.
test_coroutine wake_each(coracle::waiter& own, std::vector<coracle::waiter>& fan) {
  co_await wait_in(own);
  for (coracle::waiter& each : fan) each.wake();
}

TEST_CASE("wake depth: wake-ups that were put off run first come, first served") {
  constexpr std::size_t depth = coracle::detail::max_wake_depth;
  std::vector<int> log;
  std::vector<coracle::waiter> fan(5);
  chain all(depth);
  std::vector<test_coroutine> links;
  for (std::size_t i = 0; i != depth - 1; ++i) links.push_back(all.link(i));
  links.push_back(wake_each(all.places[depth - 1], fan));
  for (int i = 0; i != 5; ++i) links.push_back(wait_and_log(fan[static_cast<std::size_t>(i)], log, i));
  for (test_coroutine& each : links) each.resume();
  all.places[0].wake();
  CHECK(log == std::vector{0, 1, 2, 3, 4});
}

test_coroutine step_inside(coracle::waiter& own, stepping_executor& place) {
  co_await wait_in(own);
  place.step();
}
test_coroutine note_executor(coracle::waiter& own, coracle::executor*& seen) {
  co_await wait_in(own);
  seen = current_executor();
}

TEST_CASE("wake depth: a wake-up that was put off inside a turn of an executor runs outside it") {
  constexpr std::size_t depth = coracle::detail::max_wake_depth;
  stepping_executor place;
  coracle::executor* seen = &place;
  coracle::waiter on_place;
  std::vector<coracle::waiter> last(1), late(1);
  chain all(depth - 2);
  std::vector<test_coroutine> links;
  for (std::size_t i = 0; i != depth - 2; ++i) links.push_back(all.link(i));
  links.push_back(step_inside(all.places[depth - 2], place));
  links.push_back(wake_each(last[0], late));
  links.push_back(note_executor(late[0], seen));
  for (test_coroutine& each : links) each.resume();
  test_coroutine turn = wake_each(on_place, last);
  {
    const coracle::detail::executor_scope here{&place};
    turn.resume();
  }
  on_place.wake();
  all.places[0].wake();
  CHECK(seen == nullptr);
}

coracle::task<> wait_for(coracle::async_manual_reset_event& event) { co_await event; }
coracle::task<> set(coracle::async_manual_reset_event& event) {
  event.set();
  co_return;
}
test_coroutine sync_wait_inside(coracle::waiter& own, bool& finished) {
  co_await wait_in(own);
  coracle::async_manual_reset_event event;
  coracle::sync_wait(coracle::when_all(wait_for(event), set(event)));
  finished = true;
}

TEST_CASE("wake depth: sync_wait at full depth runs the wake-ups that were put off, and so does not hang") {
  constexpr std::size_t depth = coracle::detail::max_wake_depth;
  bool finished = false;
  chain all(depth);
  std::vector<test_coroutine> links;
  for (std::size_t i = 0; i != depth - 1; ++i) links.push_back(all.link(i));
  links.push_back(sync_wait_inside(all.places[depth - 1], finished));
  for (test_coroutine& each : links) each.resume();
  all.places[0].wake();
  CHECK(finished);
}

TEST_CASE("oldest_first: turns a stack of entries into a queue; wake_all wakes it in order") {
  std::vector<int> log;
  std::vector<coracle::waiter> places(3);
  std::vector<test_coroutine> waiting;
  coracle::waiter* newest = nullptr;
  for (int i = 0; i != 3; ++i) {
    coracle::waiter& own = places[static_cast<std::size_t>(i)];
    waiting.push_back(wait_and_log(own, log, i));
    waiting.back().resume();
    own.next = newest;
    newest = &own;
  }
  auto* const oldest = static_cast<coracle::waiter*>(coracle::detail::oldest_first(newest));
  CHECK(oldest == &places[0]);
  CHECK(coracle::detail::oldest_first(nullptr) == nullptr);
  coracle::detail::wake_all(oldest);
  CHECK(log == std::vector{0, 1, 2});
}
}  // namespace
