// tests/unit/timer_service_test.cpp -- the states of timers, the arithmetic of delays, the timer thread.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <coracle/core/sync_wait.hpp>
#include <coracle/core/task.hpp>
#include <coracle/core/timer_service.hpp>
#include <coracle/testing/allocations.hpp>
#include <coracle/testing/virtual_time_loop.hpp>
#include <coracle/time/detail/timer_queue.hpp>
#include <coracle/time/detail/timer_thread.hpp>
#include <coracle/time/sleep.hpp>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <semaphore>
#include <string>
#include <vector>

#include "../support/detached.hpp"

namespace {
using namespace std::chrono_literals;
using coracle::detail::clock_duration;
using coracle::detail::later_by;
using coracle::detail::timer;
using coracle::detail::timer_queue;
using steady = std::chrono::steady_clock;
using time_point = steady::time_point;

// ---- delays ---------------------------------------------------------------------------------------------

template <class Rep, class Period>
using delay = std::chrono::duration<Rep, Period>;

static_assert(clock_duration(5ms) == 5'000'000ns);
static_assert(clock_duration(0s) == 0ns && clock_duration(-1ns) == 0ns);
static_assert(clock_duration(std::chrono::hours::min()) == 0ns);
static_assert(clock_duration(std::chrono::hours::max()) == steady::duration::max());
static_assert(clock_duration(steady::duration::max()) == steady::duration::max());
static_assert(clock_duration(steady::duration::max() - 1ns) == steady::duration::max() - 1ns);
static_assert(clock_duration(9'223'372'036s) == 9'223'372'036'000'000'000ns);
static_assert(clock_duration(9'223'372'037s) == steady::duration::max());
static_assert(clock_duration(delay<std::uint64_t, std::nano>(~std::uint64_t{0})) == steady::duration::max());
static_assert(clock_duration(delay<std::int8_t, std::ratio<1>>(100)) == 100s);
static_assert(clock_duration(delay<int, std::pico>(1)) == 1ns);
static_assert(clock_duration(delay<int, std::pico>(1000)) == 1ns);
static_assert(clock_duration(delay<int, std::pico>(1001)) == 2ns);
// A plain conversion would overflow.
static_assert(clock_duration(delay<std::int64_t, std::ratio<1, 3>>(27'000'000'000)) == 9'000'000'000s);
static_assert(clock_duration(delay<std::int64_t, std::ratio<1, 3>>(28'000'000'000)) ==
              steady::duration::max());
static_assert(clock_duration(delay<double, std::ratio<1>>(0.1)) == 100ms);
static_assert(clock_duration(delay<double, std::nano>(1.25)) == 2ns);
TEST_CASE("clock_duration: floating-point delays without a limit") {
  using seconds = delay<double, std::ratio<1>>;
  CHECK(clock_duration(seconds(1e300)) == steady::duration::max());
  CHECK(clock_duration(seconds(std::numeric_limits<double>::infinity())) == steady::duration::max());
  CHECK(clock_duration(seconds(-1e300)) == 0ns);
  CHECK(clock_duration(seconds(-std::numeric_limits<double>::infinity())) == 0ns);
}

static_assert(later_by(time_point(1s), 2s) == time_point(3s));
static_assert(later_by(time_point(1s), steady::duration::max()) == time_point::max());
static_assert(later_by(time_point::max() - 1s, 2s) == time_point::max());
static_assert(later_by(time_point(-1s), steady::duration::max()) == time_point::max());
static_assert(later_by(time_point(-1s), steady::duration::max() - 1ns) == time_point::max() - 1s - 1ns);
static_assert(later_by(time_point{}, 0s) == time_point{});

// ---- states ---------------------------------------------------------------------------------------------

struct noted : timer {
  explicit noted(std::vector<int>& its_log, int its_name)
      : timer([](timer& self) noexcept {
          auto& mine = static_cast<noted&>(self);
          mine.log.push_back(mine.name);
        }),
        log(its_log),
        name(its_name) {}
  std::vector<int>& log;
  int name;
};

TEST_CASE("timer_queue: a timer is due at its time; remove() takes out what waits, and nothing else") {
  timer_queue queue{time_point(1h)};
  std::vector<int> log;
  noted first{log, 1}, second{log, 2}, third{log, 3};
  CHECK(queue.next() == time_point::max());
  CHECK(queue.add(first, time_point(1h + 2s)));
  CHECK(queue.add(second, time_point(1h + 1s)));
  CHECK(queue.add(third, time_point(1h + 3s)));
  CHECK(queue.next() == time_point(1h + 1s));
  CHECK(queue.pop_due(time_point(1h + 999ms)) == nullptr);
  CHECK(queue.pop_due(time_point(1h + 2s)) == &second);
  CHECK_FALSE(queue.remove(second));
  CHECK(second.progress == timer::state::fired);
  CHECK(queue.remove(third));
  CHECK_FALSE(queue.remove(third));
  CHECK(queue.pop_due(time_point(1h + 2s)) == &first);
  CHECK(queue.empty());
}

TEST_CASE("timer_queue: one that was removed before it came is refused") {
  timer_queue queue{time_point(1h)};
  std::vector<int> log;
  noted early{log, 1};
  CHECK_FALSE(queue.remove(early));
  CHECK_FALSE(queue.add(early, time_point(2h)));
  CHECK(queue.empty());
}

TEST_CASE("timer_queue: the end of time never comes; what is before the clock's beginning is due") {
  timer_queue queue{time_point(1h)};
  std::vector<int> log;
  noted never{log, 1}, past{log, 2};
  CHECK(queue.add(never, time_point::max()));
  CHECK(queue.next() == time_point::max());
  CHECK(queue.add(past, time_point::min()));
  CHECK(queue.next() == time_point(1h));
  CHECK(queue.pop_due(time_point(1h)) == &past);
  CHECK(queue.pop_due(time_point::max() - 1ns) == nullptr);
  CHECK(queue.remove(never));
}

TEST_CASE("fire: a coroutine woken outside any executor runs after the timer's function has returned") {
  struct wakes : timer {
    explicit wakes(std::vector<int>& its_log)
        : timer([](timer& self) noexcept {
            auto& mine = static_cast<wakes&>(self);
            mine.asleep.wake();
            mine.log.push_back(1);
          }),
          log(its_log) {}
    std::vector<int>& log;
    coracle::waiter asleep;
  };
  struct suspend_in {
    explicit suspend_in(coracle::waiter& its) : place(its) {}
    bool await_ready() const noexcept { return false; }
    void await_suspend(std::coroutine_handle<> self) const noexcept { place.suspend(self); }
    void await_resume() const noexcept {}
    coracle::waiter& place;
  };
  std::vector<int> log;
  wakes due{log};
  const auto wait = [&]() -> coracle_test::detached {
    co_await suspend_in{due.asleep};
    log.push_back(2);
  };
  wait();
  coracle::detail::fire(due);
  CHECK(log == std::vector{1, 2});
}

TEST_CASE("steady_now: the real clock outside, the loop's on a virtual_time_loop") {
  const auto before = steady::now();
  const auto now = coracle::steady_now();
  CHECK(before <= now);
  CHECK(now <= steady::now());
  coracle::testing::virtual_time_loop loop;
  const auto ask = []() -> coracle::task<time_point> { co_return coracle::steady_now(); };
  CHECK(loop.run(ask()) == coracle::testing::virtual_time_loop::start);
}

// ---- the thread of the program ----------------------------------------------------------------------------

/// Returns how a child process ended that runs `body` and then the functions registered by atexit().
int status_of_child(void (*body)()) {
  std::fflush(nullptr);
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(30);
    std::atexit([] { ::_exit(0); });  // before a leak checker misses the threads of the parent
    body();
    std::exit(0);
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  return status;
}
int threads_of_this_process() {
  std::ifstream file("/proc/self/status");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("Threads:")) return std::stoi(line.substr(8));
  }
  return -1;
}

TEST_CASE("program_timers: the end of the program joins the thread; it starts again for who sleeps later" *
          doctest::skip(CORACLE_THREAD_SANITIZER())) {
  // ThreadSanitizer does not support threads in the child of a process with threads.
  CHECK(status_of_child([] {
          std::atexit([] {  // runs after the thread has ended
            if (threads_of_this_process() != 1) ::_exit(3);
            coracle::sync_wait(coracle::sleep_for(1ms));
            if (threads_of_this_process() != 2) ::_exit(4);
          });
          coracle::sync_wait(coracle::sleep_for(1ms));
        }) == 0);
}

TEST_CASE("program_timers: who sleeps when the program ends does not keep it, but is woken while it lasts" *
          doctest::skip(!coracle::testing::allocations_are_counted)) {
  CHECK(status_of_child([] {
          static std::binary_semaphore woken{0};
          const auto sleep = [](steady::duration time) -> coracle_test::detached {
            co_await coracle::sleep_for(time);
            woken.release();
          };
          std::atexit([] { woken.acquire(); });
          sleep(20ms);
          sleep(24h);
        }) == 0);
}

TEST_CASE("program_timers: the end of the program on its own thread" *
          doctest::skip(!coracle::testing::allocations_are_counted)) {
  CHECK(status_of_child([] {
          const auto sleep = []() -> coracle_test::detached {
            co_await coracle::sleep_for(1ms);
            std::exit(0);
          };
          sleep();
          for (;;) ::pause();
        }) == 0);
}
}  // namespace
