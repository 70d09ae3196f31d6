// tests/unit/timeout_test.cpp -- deadlines: what they stop, with which reason, and the result.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <chrono>
#include <coracle/compose/when_all.hpp>
#include <coracle/core/sync_wait.hpp>
#include <coracle/core/with_environment.hpp>
#include <coracle/exec/static_thread_pool.hpp>
#include <coracle/sync/async_manual_reset_event.hpp>
#include <coracle/testing/allocations.hpp>
#include <coracle/testing/virtual_time_loop.hpp>
#include <coracle/time/sleep.hpp>
#include <coracle/time/timeout.hpp>
#include <memory>
#include <stdexcept>
#include <type_traits>
#include <vector>

namespace {
using namespace std::chrono_literals;
using coracle::operation_cancelled;
using coracle::sleep_for;
using coracle::stop_after;
using coracle::stop_at;
using coracle::stop_reason;
using coracle::stop_source;
using coracle::task;
using coracle::timed_out;
using coracle::timeout;
using coracle::testing::virtual_time_loop;
using steady = std::chrono::steady_clock;
constexpr auto start = virtual_time_loop::start;

task<int> number_after(steady::duration delay, int number = 42) {
  co_await sleep_for(delay);
  co_return number;
}
/// How `work` ended: v value, t timed_out, r/d/s/f operation_cancelled for a reason, e another exception.
template <class Awaitable>
task<char> ending_of(Awaitable work) {
  try {
    static_cast<void>(co_await std::move(work));
    co_return 'v';
  } catch (const timed_out&) {
    co_return 't';
  } catch (const operation_cancelled& e) {
    switch (e.reason()) {
      case stop_reason::requested:
        co_return 'r';
      case stop_reason::timed_out:
        co_return 'd';
      case stop_reason::shutting_down:
        co_return 's';
      default:
        co_return '?';
    }
  } catch (const std::exception&) {
    co_return 'e';
  }
}
template <class Awaitable>
char run(virtual_time_loop& loop, Awaitable work) {
  return loop.run(ending_of(std::move(work)));
}

TEST_CASE("timeout: what ends in time gives its result, and the clock goes no further") {
  virtual_time_loop loop;
  CHECK(loop.run(timeout(number_after(1s), 2s)) == 42);
  CHECK(loop.run(stop_after(number_after(1s), 2s)) == 42);
  CHECK(loop.run(stop_at(number_after(1s), start + 4s)) == 42);
  CHECK(loop.now() == start + 3s);
}

TEST_CASE("timeout: at the deadline the work is cancelled; timeout() says timed_out, the others the reason") {
  virtual_time_loop loop;
  CHECK(run(loop, timeout(number_after(3s), 2s)) == 't');
  CHECK(loop.now() == start + 2s);
  CHECK(run(loop, stop_after(number_after(3s), 2s)) == 'd');
  CHECK(loop.now() == start + 4s);
  CHECK(run(loop, stop_at(number_after(3s), start + 5s)) == 'd');
  CHECK(loop.now() == start + 5s);
}

TEST_CASE("timeout: results are values, references, none, or move-only") {
  virtual_time_loop loop;
  int number = 1;
  const auto reference = [&]() -> task<int&> { co_return number; };
  const auto pointer = []() -> task<std::unique_ptr<int>> { co_return std::make_unique<int>(7); };
  CHECK(&loop.run(timeout(reference(), 1s)) == &number);
  CHECK(*loop.run(timeout(pointer(), 1s)) == 7);
  CHECK(*loop.run(stop_at(pointer(), start + 1s)) == 7);
  loop.run(timeout(sleep_for(1ms), 1s));
  static_assert(std::is_same_v<coracle::await_result_t<decltype(timeout(reference(), 1s))>, int&>);
}

TEST_CASE("timeout: an lvalue, such as an event, is referred to") {
  virtual_time_loop loop;
  coracle::async_manual_reset_event event;
  CHECK(loop.run(ending_of(timeout(event, 1s))) == 't');
  const auto set_later = [&]() -> task<> {
    co_await sleep_for(1s);
    event.set();
  };
  loop.run(coracle::when_all(timeout(event, 2s), set_later()));
  CHECK(loop.now() == start + 2s);
}

TEST_CASE("timeout: an exception of the work is let out as it is, also after the deadline") {
  virtual_time_loop loop;
  const auto fail = [](bool at_once) -> task<> {
    try {
      if (!at_once) co_await sleep_for(1h);
    } catch (const operation_cancelled&) {
    }
    throw std::runtime_error("wrong");
  };
  for (const bool at_once : {true, false}) {
    CHECK_THROWS_WITH_AS(loop.run(timeout(fail(at_once), 1s)), "wrong", std::runtime_error);
    CHECK_THROWS_WITH_AS(loop.run(stop_after(fail(at_once), 1s)), "wrong", std::runtime_error);
  }
}

TEST_CASE("timeout: the work is joined: one that ends later than asked, with a value, gives it") {
  virtual_time_loop loop;
  const auto slow_to_stop = []() -> task<int> {
    try {
      co_await sleep_for(1h);
    } catch (const operation_cancelled&) {
    }
    co_await coracle::shielded(sleep_for(10s));
    co_return 42;
  };
  CHECK(loop.run(timeout(slow_to_stop(), 1s)) == 42);
  CHECK(loop.now() == start + 11s);
}

TEST_CASE("timeout: work that ends at the very moment of the deadline is not lost") {
  virtual_time_loop loop;
  coracle::async_manual_reset_event event;
  // The timer that sets the event was started before that of the deadline, so it fires first.
  const auto set_at = [&](steady::time_point at) -> task<> {
    co_await coracle::sleep_until(at);
    event.set();
  };
  const auto wait = [&](steady::time_point end) -> task<char> {
    co_return co_await ending_of(stop_at(event, end));
  };
  char how = 0;
  const auto note = [&]() -> task<> { how = co_await wait(start + 1s); };
  loop.run(coracle::when_all(set_at(start + 1s), note()));
  CHECK((how == 'v' || how == 'd'));
  CHECK(loop.run(timeout(number_after(0s), 0s + 1ns)) == 42);
}

TEST_CASE("timeout: no time at all, a negative one, and a deadline that is past: stopped before it starts") {
  virtual_time_loop loop;
  CHECK(run(loop, timeout(number_after(1s), 0s)) == 't');
  CHECK(run(loop, timeout(number_after(1s), -1s)) == 't');
  CHECK(run(loop, timeout(number_after(0s), 0s)) == 't');
  CHECK(run(loop, stop_after(number_after(1s), std::chrono::hours::min())) == 'd');
  CHECK(run(loop, stop_at(number_after(1s), start)) == 'd');
  CHECK(run(loop, stop_at(number_after(1s), steady::time_point::min())) == 'd');
  CHECK(loop.now() == start);
  const auto no_await = []() -> task<int> { co_return 1; };
  CHECK(loop.run(timeout(no_await(), 0s)) == 1);
}

TEST_CASE("timeout: one that is too long for the clock is none") {
  virtual_time_loop loop;
  CHECK(loop.run(timeout(number_after(24h * 365), std::chrono::hours::max())) == 42);
  CHECK(loop.run(stop_at(number_after(1s), steady::time_point::max())) == 42);
  CHECK(loop.run(stop_after(number_after(1s), std::chrono::duration<double>(1e300))) == 42);
}

TEST_CASE("timeout: it counts from the await") {
  virtual_time_loop loop;
  auto limited = timeout(number_after(1s), 2s);
  loop.advance(1h);
  CHECK(loop.run(std::move(limited)) == 42);
}

// ---- what is below sees ---------------------------------------------------------------------------------

TEST_CASE("stop_at: what is below sees the earlier of the deadlines, and the values bound around it") {
  virtual_time_loop loop;
  const coracle::task_local<int> local{0};
  const auto below = [&]() -> task<> {
    CHECK(co_await coracle::this_task::deadline() == start + 1s);
    CHECK(co_await local.value() == 5);
    const auto token = co_await coracle::this_task::stop_token();
    CHECK(token.stop_possible());
  };
  loop.run(coracle::with_value(stop_at(stop_at(below(), start + 1s), start + 2s), local, 5));
  loop.run(coracle::with_value(stop_at(stop_at(below(), start + 2s), start + 1s), local, 5));
}

TEST_CASE("stop_at: of nested deadlines the earlier one ends the work, in both orders") {
  virtual_time_loop loop;
  CHECK(run(loop, stop_at(stop_at(number_after(1h), start + 1s), start + 2s)) == 'd');
  CHECK(loop.now() == start + 1s);
  CHECK(run(loop, stop_at(stop_at(number_after(1h), start + 5s), start + 3s)) == 'd');
  CHECK(loop.now() == start + 3s);
}

TEST_CASE("timeout: of nested ones only the one that has expired says timed_out") {
  virtual_time_loop loop;
  char inner = 0;
  const auto outer_first = [&]() -> task<> {
    inner = co_await ending_of(timeout(number_after(1h), 5s));
    CHECK(loop.now() == start + 1s);
    co_await coracle::this_task::throw_if_stopped();
  };
  CHECK(run(loop, timeout(outer_first(), 1s)) == 't');
  CHECK(inner == 'd');
  const auto inner_first = [&]() -> task<> { inner = co_await ending_of(timeout(number_after(1h), 1s)); };
  CHECK(run(loop, timeout(inner_first(), 5s)) == 'v');
  CHECK(inner == 't');
  CHECK(loop.now() == start + 2s);
  const auto at_once = [&]() -> task<> { inner = co_await ending_of(timeout(number_after(1h), 1s)); };
  CHECK(run(loop, timeout(at_once(), 1s)) == 'v');
  CHECK(inner == 'd');  // the time of the outer one is over, too
  CHECK(loop.now() == start + 3s);
}

TEST_CASE("timeout: an outer stop stays a cancellation, with its reason") {
  virtual_time_loop loop;
  stop_source source;
  const auto stop = [&]() -> task<> {
    co_await sleep_for(1s);
    source.request_stop(stop_reason::shutting_down);
  };
  char how = 0;
  const auto note = [&]() -> task<> { how = co_await ending_of(timeout(number_after(1h), 2s)); };
  loop.run(coracle::when_all(coracle::with_stop(note(), source.get_token()), stop()));
  CHECK(how == 's');
  CHECK(loop.now() == start + 1s);
  loop.run(coracle::with_stop(note(), source.get_token()));  // requested before
  CHECK(how == 's');
}

TEST_CASE("timeout: a stop after the deadline changes nothing: it stays timed_out") {
  virtual_time_loop loop;
  stop_source source;
  const auto stop_late = []() -> task<> {
    std::exception_ptr cancelled;
    try {
      co_await sleep_for(1h);
    } catch (const operation_cancelled&) {
      cancelled = std::current_exception();
    }
    co_await coracle::shielded(sleep_for(3s));
    std::rethrow_exception(cancelled);
  };
  const auto stop = [&]() -> task<> {
    co_await sleep_for(2s);
    source.request_stop();
  };
  char how = 0;
  const auto note = [&]() -> task<> { how = co_await ending_of(timeout(stop_late(), 1s)); };
  loop.run(coracle::when_all(coracle::with_stop(note(), source.get_token()), stop()));
  CHECK(how == 't');
}

TEST_CASE("timeout: what is cancelled for a reason of its own, while time is left, stays cancelled") {
  virtual_time_loop loop;
  const auto give_up = []() -> task<> {
    co_await sleep_for(1s);
    throw operation_cancelled{stop_reason::timed_out};
  };
  CHECK(run(loop, timeout(give_up(), 2s)) == 'd');
}

TEST_CASE("timeout: what is cancelled for another reason, after the deadline, stays cancelled") {
  virtual_time_loop loop;
  const auto give_up = []() -> task<> {
    co_await coracle::shielded(sleep_for(2s));
    throw operation_cancelled{stop_reason::requested};
  };
  CHECK(run(loop, timeout(give_up(), 1s)) == 'r');
}

TEST_CASE("stop_after: what is shielded goes on after the deadline") {
  virtual_time_loop loop;
  CHECK(loop.run(timeout(coracle::shielded(number_after(1h)), 1s)) == 42);
  CHECK(loop.now() == start + 1h);
}

// ---- other executors ------------------------------------------------------------------------------------

TEST_CASE("timeout: on a thread pool, and outside any executor, by the program's timers") {
  coracle::static_thread_pool pool{2};
  const auto on_pool = [&]() -> task<char> {
    co_await pool.schedule();
    const char how = co_await ending_of(timeout(sleep_for(24h), 1ms));
    co_return coracle::current_executor() == &pool ? how : '!';
  };
  CHECK(coracle::sync_wait(on_pool()) == 't');
  CHECK(coracle::sync_wait(ending_of(timeout(sleep_for(24h), 1ms))) == 't');
  CHECK(coracle::sync_wait(ending_of(timeout(sleep_for(1us), 24h))) == 'v');
}

TEST_CASE("timeout: a thousand of them that expire together outside any executor") {
  std::vector<task<char>> all;
  for (int i = 0; i != 1000; ++i) all.push_back(ending_of(timeout(sleep_for(24h), 1ms)));
  for (const char how : coracle::sync_wait(coracle::when_all(std::move(all)))) REQUIRE(how == 't');
}

TEST_CASE(
    "timeout: work outside any executor that ends by a timer, just before its own: the two do not wait for "
    "each other") {
  for (int i = 0; i != 200; ++i) {
    coracle::sync_wait(ending_of(timeout(sleep_for(20us), 20us + std::chrono::nanoseconds(100 * i))));
  }
}

TEST_CASE("timeout: memory that runs out is an exception, and leaves nothing behind" *
          doctest::skip(!coracle::testing::allocations_are_counted)) {
  virtual_time_loop loop;
  int failures = 0;
  const int counted = coracle::testing::fail_each_allocation([&] {
    try {
      loop.run(timeout(sleep_for(1s), 2s));
    } catch (const std::bad_alloc&) {
      ++failures;
    }
  });
  CHECK(counted == failures);
  CHECK(counted == 2);  // the frame and the stop source
}

static_assert(std::is_base_of_v<std::exception, timed_out> &&
              !std::is_base_of_v<operation_cancelled, timed_out>);
}  // namespace
