// tests/unit/wait_queue_test.cpp -- waiters that a stop request removes from their queue, at every moment.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <atomic>
#include <coracle/core/detail/linked_stop_source.hpp>
#include <coracle/core/detail/stoppable_wait.hpp>
#include <coracle/core/detail/wait_queue.hpp>
#include <coracle/core/sync_wait.hpp>
#include <coracle/core/task.hpp>
#include <coracle/core/with_environment.hpp>
#include <coracle/exec/run_loop.hpp>
#include <coracle/testing/allocations.hpp>
#include <functional>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "../support/abort_message.hpp"
#include "../support/detached.hpp"

namespace {
using coracle::stop_reason;
using coracle::stop_source;
using coracle::task;
using coracle::detail::queued_waiter;
using coracle_test::detached;
using coracle_test::run_detached;

void nothing() {}

/// A minimal semaphore, with hooks at which a test acts.
struct gate {
  explicit gate(int given = 0) : permits(given) {}

  class operation;
  operation pass() noexcept;
  void release() {
    static_cast<void>(word.lock());
    queued_waiter* const first = queue.claim();
    if (!first) ++permits;
    word.unlock(0);
    if (first) first->wake();
  }
  void release_all() {
    static_cast<void>(word.lock());
    coracle::waiter* const first = queue.take_all();
    word.unlock(0);
    coracle::detail::wake_all(first);
  }

  coracle::detail::locked_word<std::uint32_t> word{0};
  coracle::detail::wait_queue queue;
  int permits;
  int tries = 0;
  std::function<void()> before_enqueue = &nothing;     ///< its listener is registered, it is not queued
  std::function<void()> after_carried_out = &nothing;  ///< enqueue() did not need to wait
};

struct something_first {
  long long unused = 7;
};
class [[nodiscard]] gate::operation : something_first, public coracle::detail::stoppable_wait<operation> {
 public:
  explicit operation(gate& all) noexcept : all_(all) {}
  int await_resume() {
    finish();
    return 42;
  }

 private:
  friend stoppable_wait;
  bool try_now() noexcept {
    ++all_.tries;
    if (all_.permits == 0) return false;
    --all_.permits;
    return true;
  }
  bool enqueue() noexcept {
    all_.before_enqueue();
    gate& all = all_;  // once it is queued, this object may be gone
    static_cast<void>(all.word.lock());
    const bool carried_out = all.permits != 0 && all.queue.serve_at_once(node());
    const bool waits = all.permits == 0 && all.queue.push(node());
    if (carried_out) --all.permits;
    all.word.unlock(0);
    if (carried_out) all.after_carried_out();
    return waits;
  }
  bool withdraw() noexcept {
    static_cast<void>(all_.word.lock());
    const bool waited = all_.queue.withdraw(node());
    all_.word.unlock(0);
    return waited;
  }

  gate& all_;
};
gate::operation gate::pass() noexcept { return operation{*this}; }

/// Logs `name` when it has a permit, `-name` when it is cancelled.
task<> pass_and_log(gate& all, std::vector<int>& log, int name) {
  int how = -name;
  try {
    const int given = co_await all.pass();
    how = given == 42 ? name : 0;
  } catch (const coracle::operation_cancelled&) {
  }
  log.push_back(how);
}
void start(gate& all, std::vector<int>& log, int name, const stop_source& source) {
  run_detached(coracle::with_stop(pass_and_log(all, log, name), source.get_token()));
}
void start(gate& all, std::vector<int>& log, int name) { run_detached(pass_and_log(all, log, name)); }

TEST_CASE("stoppable_wait: what can be carried out at once is, without a queue") {
  gate all{2};
  stop_source source;
  std::vector<int> log;
  start(all, log, 1);
  start(all, log, 2, source);
  CHECK(log == std::vector{1, 2});
  CHECK(all.permits == 0);
}

TEST_CASE("stoppable_wait: waiters are served first come, first served") {
  gate all;
  std::vector<int> log;
  for (int name = 1; name != 4; ++name) start(all, log, name);
  CHECK(log.empty());
  all.release();
  CHECK(log == std::vector{1});
  all.release_all();
  CHECK(log == std::vector{1, 2, 3});
  CHECK(all.queue.empty());
}

TEST_CASE("stop before the await: the operation is not even tried") {
  gate all{1};
  stop_source source;
  source.request_stop();
  std::vector<int> log;
  start(all, log, 1, source);
  CHECK(log == std::vector{-1});
  CHECK(all.tries == 0);
  CHECK(all.permits == 1);
}

TEST_CASE("stop during the wait: any place in the queue is given up, and the others keep theirs") {
  for (int stopped = 1; stopped != 4; ++stopped) {
    gate all;
    stop_source source, other;
    std::vector<int> log;
    for (int name = 1; name != 4; ++name) start(all, log, name, name == stopped ? source : other);
    source.request_stop();
    CHECK(log == std::vector{-stopped});
    all.release();
    all.release();
    all.release();
    std::vector<int> expected{-stopped};
    for (int name = 1; name != 4; ++name) {
      if (name != stopped) expected.push_back(name);
    }
    CHECK(log == expected);
    CHECK(all.permits == 1);
  }
}

TEST_CASE("stop during the wait: one request ends many waits, in the order of their arrival") {
  gate all;
  stop_source source;
  std::vector<int> log;
  for (int name = 1; name != 6; ++name) start(all, log, name, source);
  source.request_stop();
  CHECK(log == std::vector{-1, -2, -3, -4, -5});
  CHECK(all.queue.empty());
}

TEST_CASE("stop on the way to the queue: the waiter does not go into it") {
  gate all;
  stop_source source;
  std::vector<int> log;
  all.before_enqueue = [&] { source.request_stop(); };
  start(all, log, 1, source);
  CHECK(log == std::vector{-1});
  CHECK(all.queue.empty());
  all.release();
  CHECK(all.permits == 1);
}

TEST_CASE("stop on the way to the queue: nothing is taken, though there is something meanwhile") {
  gate all;
  stop_source source;
  std::vector<int> log;
  all.before_enqueue = [&] {
    source.request_stop();
    all.release();
  };
  start(all, log, 1, source);
  CHECK(log == std::vector{-1});
  CHECK(all.permits == 1);
}

TEST_CASE("stop after the operation was carried out on the way to the queue has no effect") {
  gate all;
  stop_source source;
  std::vector<int> log;
  all.before_enqueue = [&] { all.release(); };
  all.after_carried_out = [&] { source.request_stop(); };
  start(all, log, 1, source);
  CHECK(log == std::vector{1});
  CHECK(all.permits == 0);
}

TEST_CASE("stop after the waiter was served, before it runs, has no effect") {
  gate all;
  stop_source source;
  coracle::run_loop loop;
  std::vector<int> log;
  coracle_test::run_detached_on(loop, coracle::with_stop(pass_and_log(all, log, 1), source.get_token()));
  loop.run_pending();
  all.release();
  source.request_stop();
  CHECK(log.empty());
  loop.run_pending();
  CHECK(log == std::vector{1});
  CHECK(all.permits == 0);
}

TEST_CASE("stop by a waiter that is just being woken: those served with it are served") {
  gate all;
  stop_source source;
  std::vector<int> log;
  const auto stops_the_others = [&]() -> task<> {
    const int given = co_await all.pass();
    static_cast<void>(given);
    source.request_stop();
    log.push_back(1);
  };
  run_detached(stops_the_others());
  start(all, log, 2, source);
  start(all, log, 3, source);
  SUBCASE("all at once") {
    all.release_all();
    CHECK(log == std::vector{1, 2, 3});
  }
  SUBCASE("one by one") {
    all.release();
    CHECK(log == std::vector{-2, -3, 1});
  }
}

TEST_CASE("a cancelled waiter outside any executor goes on after the last callback, inside request_stop()") {
  gate all;
  stop_source source;
  std::vector<int> log;
  start(all, log, 1, source);
  const coracle::stop_callback second{source.get_token(), [&]() noexcept { log.push_back(2); }};
  source.request_stop();
  CHECK(log == std::vector{2, -1});
}

TEST_CASE("a cancelled waiter goes on on its executor, request_stop() does not run it") {
  gate all;
  stop_source source;
  coracle::run_loop loop;
  std::vector<int> log;
  const auto wait = [&]() -> task<> {
    co_await pass_and_log(all, log, 1);
    log.push_back(coracle::current_executor() == &loop);
  };
  coracle_test::run_detached_on(loop, coracle::with_stop(wait(), source.get_token()));
  loop.run_pending();
  source.request_stop();
  CHECK(log.empty());
  CHECK(loop.run_pending() == 1);
  CHECK(log == std::vector{-1, 1});
}

TEST_CASE("a stop request inside a callback of another ends the wait too") {
  gate all;
  stop_source first, second;
  std::vector<int> log;
  start(all, log, 1, second);
  const coracle::stop_callback relay{first.get_token(), [&]() noexcept {
                                       second.request_stop();
                                       log.push_back(2);
                                     }};
  first.request_stop();
  CHECK(log == std::vector{2, -1});
}

TEST_CASE("what a cancelled coroutine does next may stop, serve and wait again") {
  gate all;
  stop_source first, second;
  std::vector<int> log;
  const auto goes_on = [&]() -> task<> {
    co_await coracle::with_stop(pass_and_log(all, log, 1), first.get_token());
    second.request_stop();
    co_await pass_and_log(all, log, 3);
  };
  run_detached(goes_on());
  start(all, log, 2, second);
  first.request_stop();
  CHECK(log == std::vector{-1, -2});
  all.release();
  CHECK(log == std::vector{-1, -2, 3});
}

TEST_CASE("the reason of the request is that of the exception") {
  const auto reason_of = [](auto stops_when) {
    gate all;
    stop_source source;
    stop_reason found = stop_reason::none;
    const auto wait = [&]() -> task<> {
      try {
        const int given = co_await all.pass();
        static_cast<void>(given);
      } catch (const coracle::operation_cancelled& cancelled) {
        found = cancelled.reason();
      }
    };
    stops_when(all, source, [&] { run_detached(coracle::with_stop(wait(), source.get_token())); });
    return found;
  };
  CHECK(reason_of([](gate&, stop_source& source, auto begin) {
          source.request_stop(stop_reason::shutting_down);
          begin();
        }) == stop_reason::shutting_down);
  CHECK(reason_of([](gate&, stop_source& source, auto begin) {
          begin();
          source.request_stop(stop_reason::timed_out);
        }) == stop_reason::timed_out);
  CHECK(reason_of([](gate& all, stop_source& source, auto begin) {
          all.before_enqueue = [&] { source.request_stop(stop_reason::sibling_failed); };
          begin();
        }) == stop_reason::sibling_failed);
}

TEST_CASE("an outer stop ends a wait below a linked source, which the inner one does not pass on") {
  stop_source outer;
  gate all;
  std::vector<int> log;
  const coracle::stop_token outside = outer.get_token();
  coracle::detail::linked_stop_source inner{outside};
  run_detached(coracle::with_stop(pass_and_log(all, log, 1), inner.get_token()));
  SUBCASE("outer") {
    outer.request_stop(stop_reason::timed_out);
    CHECK(inner.reason() == stop_reason::timed_out);
  }
  SUBCASE("inner") {
    inner.request_stop(stop_reason::lost_race);
    CHECK_FALSE(outer.stop_requested());
  }
  CHECK(log == std::vector{-1});
}

/// An executor that resumes a posted coroutine on another thread before post() returns.
class handed_over final : public coracle::executor {
 public:
  void post(coracle::resumption& item) noexcept override {
    std::atomic<bool> begins{false};
    other_ = std::thread([this, &item, &begins] {
      const coracle::detail::executor_scope here{this};
      begins = true;
      coracle::resume(item.handle);
    });
    while (!begins) std::this_thread::yield();
    for (int i = 0; i != 100; ++i) std::this_thread::yield();  // it comes to its end of the wait meanwhile
    posted_ = true;
  }
  [[nodiscard]] bool posted() const noexcept { return posted_; }
  void join() { other_.join(); }

 private:
  std::atomic<bool> posted_{false};
  std::thread other_;
};

TEST_CASE("a cancelled coroutine that runs at once on another thread outlives the callback that woke it") {
  auto all = std::make_unique<gate>();
  auto source = std::make_unique<stop_source>();
  handed_over place;
  bool waited_for_callback = false;
  bool cancelled = false;
  const auto wait = [&]() -> task<> {
    try {
      const int given = co_await all->pass();
      static_cast<void>(given);
    } catch (const coracle::operation_cancelled&) {
      cancelled = true;
    }
    waited_for_callback = place.posted();
    all.reset();
  };
  {
    const coracle::detail::executor_scope here{&place};
    run_detached(coracle::with_stop(wait(), source->get_token()));
  }
  source->request_stop();
  place.join();
  CHECK(cancelled);
  CHECK(waited_for_callback);
  CHECK(all == nullptr);
}

TEST_CASE("fairness: of 128 awaits in a row that need not wait one goes behind what else is queued") {
  coracle::run_loop loop;
  gate all{1'000'000};
  int passes = 0;
  const auto pass = [&]() -> task<> {
    for (; passes != 1000; ++passes) {
      const int given = co_await all.pass();
      CHECK(given == 42);
    }
  };
  coracle_test::run_detached_on(loop, pass());
  std::vector<int> seen;
  for (int turns = 0; passes != 1000; ++turns) {
    REQUIRE(turns < 100);
    REQUIRE(loop.run_one());
    seen.push_back(passes);
  }
  REQUIRE(seen.size() == 8);
  for (std::size_t i = 1; i + 1 < seen.size(); ++i) CHECK(seen[i] - seen[i - 1] == 128);
  CHECK_FALSE(loop.run_one());
}

TEST_CASE("fairness: who gives way has taken nothing yet, and a stop request meanwhile ends its operation") {
  coracle::run_loop loop;
  gate all{200};
  stop_source source;
  int passes = 0;
  bool cancelled = false;
  const auto pass = [&]() -> task<> {
    try {
      for (; passes != 200; ++passes) {
        const int given = co_await all.pass();
        static_cast<void>(given);
      }
    } catch (const coracle::operation_cancelled&) {
      cancelled = true;
    }
  };
  coracle_test::run_detached_on(loop, coracle::with_stop(pass(), source.get_token()));
  REQUIRE(loop.run_one());
  CHECK(passes < 129);
  CHECK(all.permits == 200 - passes);
  source.request_stop();
  const int before = passes;
  CHECK(loop.run_one());
  CHECK(cancelled);
  CHECK(passes == before);
  CHECK(all.permits == 200 - passes);
}

TEST_CASE("fairness: who gives way and then finds nothing waits, and is served in its turn") {
  coracle::run_loop loop;
  gate all{500};
  int passes = 0;
  const auto pass = [&]() -> task<> {
    for (; passes != 500; ++passes) {
      const int given = co_await all.pass();
      static_cast<void>(given);
    }
  };
  coracle_test::run_detached_on(loop, pass());
  REQUIRE(loop.run_one());
  const int before = passes;
  REQUIRE(before < 129);
  all.permits = 0;
  CHECK(loop.run_one());
  CHECK(passes == before);
  CHECK_FALSE(loop.run_one());
  all.release();
  all.permits = 500;
  while (loop.run_one()) {
  }
  CHECK(passes == 500);
}

TEST_CASE("fairness: outside any executor nobody gives way") {
  gate all{1000};
  std::vector<int> log;
  for (int name = 1; name != 500; ++name) {
    start(all, log, name);
    REQUIRE(static_cast<int>(log.size()) == name);
  }
}

TEST_CASE("an operation may be moved about until it is awaited") {
  gate all{1};
  auto first = all.pass();
  auto second = std::move(first);
  CHECK(coracle::sync_wait(std::move(second)) == 42);
}

TEST_CASE("waiting, being served and being cancelled allocate nothing" *
          doctest::skip(!coracle::testing::allocations_are_counted)) {
  gate all;
  stop_source source;
  std::vector<int> log;
  log.reserve(4);
  start(all, log, 1, source);
  start(all, log, 2);
  const auto before = coracle::testing::allocations();
  source.request_stop();
  all.release();
  const auto after = coracle::testing::allocations();
  CHECK(after == before);
  CHECK(log == std::vector{-1, 2});
}

static_assert(sizeof(coracle::detail::wait_queue) == 2 * sizeof(void*));
static_assert(!std::is_move_constructible_v<coracle::detail::wait_queue>);
static_assert(alignof(queued_waiter) <= 16);
static_assert(sizeof(queued_waiter) == 8 * sizeof(void*));  // in the frame of each coroutine that waits
}  // namespace
