// tests/unit/wait_queue_cancelled_test.cpp -- where a cancelled waiter goes on, and why it was cancelled.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <atomic>
#include <coracle/core/detail/linked_stop_source.hpp>
#include <coracle/core/task.hpp>
#include <coracle/core/with_environment.hpp>
#include <coracle/exec/run_loop.hpp>
#include <thread>
#include <vector>

#include "../support/detached.hpp"
#include "../support/gate.hpp"

namespace {
using coracle::stop_reason;
using coracle::stop_source;
using coracle::task;
using coracle_test::gate;
using coracle_test::pass_and_log;
using coracle_test::run_detached;
using coracle_test::start;

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
}  // namespace
