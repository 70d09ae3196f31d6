// bench/micro/io_bench.cpp -- the event loop: scheduling, timers, and a byte through a pair of sockets.
// SPDX-License-Identifier: MIT
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <coracle/compose/when_all.hpp>
#include <coracle/core/task.hpp>
#include <coracle/io/io_service.hpp>
#include <coracle/time/detail/timer_wheel.hpp>
#include <map>
#include <vector>

#include "../../tests/support/socket_pair.hpp"
#include "io_measure.hpp"
#include "measure.hpp"

namespace {
using namespace std::chrono_literals;
using coracle::io_service;
using coracle::task;
using coracle::detail::timer_node;
using coracle::detail::timer_wheel;
using coracle_bench::measure;
using coracle_bench::run_on;
using coracle_test::socket_pair;

// ---- schedule() ---------------------------------------------------------------------------------------

task<> hop(io_service& io, long n) {
  for (long i = 0; i < n; ++i) co_await io.schedule();
}
void io_schedule(benchmark::State& state) {
  io_service io;
  measure(state, 1'000'000, [&](long n) { run_on(io, hop(io, n)); });
}
/// The floor for a queue under a lock: locking and unlocking for each push and pop.
void floor_io_schedule(benchmark::State& state) {
  std::atomic<long> lock{0};
  measure(state, 1'000'000, [&](long n) {
    for (long i = 0; i < 2 * n; ++i) {
      long expected = 0;
      lock.compare_exchange_strong(expected, 1, std::memory_order_acquire, std::memory_order_relaxed);
      lock.exchange(0, std::memory_order_release);
    }
  });
}

// ---- timers -------------------------------------------------------------------------------------------

std::vector<timer_node> some_timers() { return std::vector<timer_node>(1000); }
/// Adds and removes one timer while a thousand others wait.
void timer_insert_remove(benchmark::State& state) {
  timer_wheel wheel{0};
  std::vector<timer_node> others = some_timers();
  std::uint64_t deadline = 1;
  for (timer_node& each : others) wheel.insert(each, deadline += 1'000'003);
  timer_node node;
  measure(state, 10'000'000, [&](long n) {
    for (long i = 0; i < n; ++i) {
      wheel.insert(node, static_cast<std::uint64_t>(i % 1000 * 1'000'000 + 1));
      wheel.remove(node);
    }
  });
}
void floor_timer_insert_remove(benchmark::State& state) {
  std::multimap<std::uint64_t, int> wheel;
  std::uint64_t deadline = 1;
  for (int i = 0; i != 1000; ++i) wheel.emplace(deadline += 1'000'003, i);
  measure(state, 1'000'000, [&](long n) {
    for (long i = 0; i < n; ++i) {
      wheel.erase(wheel.emplace(static_cast<std::uint64_t>(i % 1000 * 1'000'000 + 1), 0));
    }
  });
}
/// A thousand timers fire one after the other, each a millisecond after it was set, and are set again.
void timer_fire_and_set_again(benchmark::State& state) {
  timer_wheel wheel{0};
  std::vector<timer_node> nodes = some_timers();
  std::uint64_t now = 0;
  for (timer_node& each : nodes) wheel.insert(each, now += 1000);
  measure(state, 1'000'000, [&](long n) {
    for (long i = 0; i < n;) {
      now = wheel.next();
      while (timer_node* const due = wheel.pop_due(now)) {
        wheel.insert(*due, now + 1'000'000);
        ++i;
      }
    }
  });
}

/// Sets a timer and cancels it.
void io_timer_set_and_withdraw(benchmark::State& state) {
  io_service io;
  measure(state, 1'000'000, [&](long n) {
    for (long i = 0; i < n; ++i) {
      auto timer = io.schedule_after(1h);
      static_cast<void>(timer.await_suspend(std::noop_coroutine()));
    }
  });
}
/// The floor: reads the clock twice, when the timer is made and when it is set.
void floor_io_timer_set_and_withdraw(benchmark::State& state) {
  measure(state, 1'000'000, [&](long n) {
    for (long i = 0; i < n; ++i) {
      coracle_bench::need(std::chrono::steady_clock::now().time_since_epoch().count());
      coracle_bench::need(std::chrono::steady_clock::now().time_since_epoch().count());
    }
  });
}

constexpr auto short_sleep = 20us;
task<> sleep(io_service& io, long n) {
  for (long i = 0; i < n; ++i) co_await io.schedule_after(short_sleep);
}
void io_sleep_20_us(benchmark::State& state) {
  io_service io;
  measure(state, 1'000, [&](long n) { run_on(io, sleep(io, n)); });
}
void floor_io_sleep_20_us(benchmark::State& state) {
  const coracle_bench::bare_epoll epoll;
  const int timer = ::timerfd_create(CLOCK_MONOTONIC, 0);
  epoll.add(timer);
  itimerspec delay{};
  delay.it_value.tv_nsec = std::chrono::nanoseconds(short_sleep).count();
  measure(state, 1'000, [&](long n) {
    for (long i = 0; i < n; ++i) {
      ::timerfd_settime(timer, 0, &delay, nullptr);
      static_cast<void>(epoll.wait());
    }
  });
  ::close(timer);
}

// ---- a byte there and back ----------------------------------------------------------------------------

task<> ask(socket_pair& pair, long n) {
  char byte = 0;
  for (long i = 0; i < n; ++i) {
    co_await coracle_test::send(pair.first, &byte, 1);
    co_await coracle_test::receive(pair.first, &byte, 1);
  }
}
task<> echo(socket_pair& pair, long n) {
  char byte = 0;
  for (long i = 0; i < n; ++i) {
    co_await coracle_test::receive(pair.second, &byte, 1);
    co_await coracle_test::send(pair.second, &byte, 1);
  }
}
task<> talk(socket_pair& pair, long n) { co_await coracle::when_all(echo(pair, n), ask(pair, n)); }
void io_echo(benchmark::State& state) {
  io_service io;
  socket_pair pair{io};
  measure(state, 10'000, [&](long n) { run_on(io, talk(pair, n)); });
}
/// A hand-written epoll loop with both ends: for each byte one send, one wait, one receive.
void floor_io_echo(benchmark::State& state) {
  int ends[2];
  static_cast<void>(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends));
  const coracle_bench::bare_epoll epoll;
  for (const int each : ends) epoll.add(each);
  char byte = 0;
  measure(state, 10'000, [&](long n) {
    static_cast<void>(::send(ends[0], &byte, 1, MSG_NOSIGNAL));
    for (long left = 2 * n; left != 0;) {
      const int ready = epoll.wait();
      if (::recv(ready, &byte, 1, 0) != 1) continue;
      if (--left != 0) static_cast<void>(::send(ready, &byte, 1, MSG_NOSIGNAL));
    }
  });
  for (const int each : ends) ::close(each);
}

CORACLE_BENCH(io_schedule);
CORACLE_BENCH(floor_io_schedule);
CORACLE_BENCH(timer_insert_remove);
CORACLE_BENCH(floor_timer_insert_remove);
CORACLE_BENCH(timer_fire_and_set_again);
CORACLE_BENCH(io_timer_set_and_withdraw);
CORACLE_BENCH(floor_io_timer_set_and_withdraw);
CORACLE_BENCH(io_sleep_20_us);
CORACLE_BENCH(floor_io_sleep_20_us);
CORACLE_BENCH(io_echo);
CORACLE_BENCH(floor_io_echo);
}  // namespace
