// tests/stress/io_service.cpp -- event loops on two threads: no post, data or timer is lost.
// SPDX-License-Identifier: MIT
#include <atomic>
#include <chrono>
#include <coracle/compose/when_all.hpp>
#include <coracle/core/sync_wait.hpp>
#include <coracle/core/task.hpp>
#include <coracle/exec/static_thread_pool.hpp>
#include <coracle/io/io_service.hpp>
#include <latch>
#include <random>
#include <thread>
#include <vector>

#include "../support/detached.hpp"
#include "../support/socket_pair.hpp"
#include "../support/stress.hpp"

namespace {
using namespace std::chrono_literals;
using coracle::io_service;
using coracle::task;
using coracle_test::detached;
using coracle_test::socket_pair;

/// Runs an io_service on several threads until it is stopped.
class running {
 public:
  running(io_service& io, int threads) : io_(io) {
    for (int t = 0; t != threads; ++t) {
      threads_.emplace_back([this] { events_ += static_cast<long long>(io_.process_events()); });
    }
  }
  long long stop() {
    io_.stop();
    for (std::thread& each : threads_) each.join();
    return events_;
  }

 private:
  io_service& io_;
  std::atomic<long long> events_{0};
  std::vector<std::thread> threads_;
};

/// Three foreign threads schedule coroutines, two threads run them; each coroutine schedules itself again.
long long schedule_from_outside(int turns) {
  io_service io;
  running loops{io, 2};
  std::latch ended{3 * turns};
  const auto hop_twice = [&]() -> detached {
    co_await io.schedule();
    co_await io.schedule();
    ended.count_down();
  };
  std::vector<std::thread> threads;
  for (int t = 0; t != 3; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i != turns; ++i) hop_twice();
    });
  }
  for (std::thread& each : threads) each.join();
  ended.wait();
  return loops.stop();
}

/// One post at a time, at every step of the loops' way to sleep.
int wake_one_by_one(int posts, int loop_threads) {
  io_service io;
  running loops{io, loop_threads};
  std::atomic<int> answered{0};
  const auto answer = [&](int i) -> detached {
    co_await io.schedule();
    answered.store(i + 1, std::memory_order_release);
  };
  coracle_test::post_one_by_one(posts, 20'000, answered, answer);
  loops.stop();
  return answered;
}

task<> ask(const socket_pair& pair, int turns) {
  char byte = 0;
  for (int i = 0; i != turns; ++i) {
    co_await coracle_test::send(pair.first, &byte, 1);
    co_await coracle_test::receive(pair.first, &byte, 1);
  }
}
task<> echo(const socket_pair& pair, int turns, long long& echoed) {
  char byte = 0;
  for (int i = 0; i != turns; ++i) {
    echoed += co_await coracle_test::receive(pair.second, &byte, 1);
    co_await coracle_test::send(pair.second, &byte, 1);
  }
}
template <class Place>
task<> on(Place& place, task<> work) {
  co_await place.schedule();
  co_await std::move(work);
}
/// Pairs that exchange messages: on the loops, on a pool, and outside any executor.
long long echo_everywhere(int turns) {
  io_service io;
  coracle::static_thread_pool pool{1};
  running loops{io, 2};
  const socket_pair pairs[] = {socket_pair{io}, socket_pair{io}, socket_pair{io}, socket_pair{io}};
  long long echoed[4] = {};
  coracle::sync_wait(coracle::when_all(
      on(io, ask(pairs[0], turns)), on(io, echo(pairs[0], turns, echoed[0])), on(io, ask(pairs[1], turns)),
      on(pool, echo(pairs[1], turns, echoed[1])), on(pool, ask(pairs[2], turns)),
      on(pool, echo(pairs[2], turns, echoed[2])), ask(pairs[3], turns), echo(pairs[3], turns, echoed[3])));
  loops.stop();
  return echoed[0] + echoed[1] + echoed[2] + echoed[3];
}

struct timers_seen {
  std::atomic<long long> fired{0};
  std::atomic<long long> early{0};
};
/// Coroutines on two loops and a foreign thread sleep repeatedly for a few microseconds.
void sleep_a_little(int turns, timers_seen& seen) {
  constexpr int coroutines = 6;
  io_service io;
  running loops{io, 2};
  std::latch ended{coroutines};
  const auto sleep = [&](unsigned seed) -> detached {
    std::minstd_rand random{seed};
    for (int i = 0; i != turns; ++i) {
      const auto time = std::chrono::steady_clock::now() + std::chrono::nanoseconds(random() % 30'000);
      co_await io.schedule_at(time);
      ++seen.fired;
      if (std::chrono::steady_clock::now() < time) ++seen.early;
    }
    ended.count_down();
  };
  for (unsigned seed = 1; seed <= coroutines; ++seed) sleep(seed);
  ended.wait();
  loops.stop();
}

/// Sockets come and go while another thread polls: records are reused, and events of an old socket do not
/// affect the new one.
long long open_and_close(int turns) {
  io_service io;
  running loops{io, 2};
  std::atomic<long long> received{0};
  const auto churn = [&]() -> task<> {
    co_await io.schedule();
    for (int i = 0; i != turns; ++i) {
      const socket_pair pair{io};
      char byte = 'x';
      const auto answer = [&]() -> task<> {
        co_await io.schedule();
        co_await coracle_test::send(pair.first, &byte, 1);
      };
      char got = 0;
      const auto wait = [&]() -> task<> { received += co_await coracle_test::receive(pair.second, &got, 1); };
      co_await coracle::when_all(wait(), answer());
    }
  };
  coracle::sync_wait(coracle::when_all(churn(), churn(), churn()));
  loops.stop();
  return received;
}

/// Threads enter the loop, and leave it, while others schedule and stop.
long long stop_and_reset(int turns) {
  io_service io;
  std::atomic<long long> ran{0};
  const auto run_once = [&]() -> detached {
    co_await io.schedule();
    ++ran;
  };
  for (int i = 0; i != turns; ++i) {
    std::thread runner{[&] { io.process_events(); }}, one{[&] { io.process_one_event(); }};
    run_once();
    io.stop();
    runner.join();
    one.join();
    io.reset();
  }
  io.process_pending_events();
  return ran;
}
}  // namespace

int main(int argc, char** argv) {
  coracle_test::stress run("io_service", argc, argv, 20'000);
  const int count = run.int_count();
  run.expect("scheduled", schedule_from_outside(count), 6LL * count);
  run.expect("woke one thread", wake_one_by_one(count, 1), count);
  run.expect("woke one of two", wake_one_by_one(count, 2), count);
  run.expect("echoes", echo_everywhere(count), 4LL * count);
  timers_seen seen;
  sleep_a_little(count / 2, seen);
  run.expect("timers", seen.fired.load(), 6LL * (count / 2));
  run.expect("early", seen.early.load(), 0);
  run.expect("on short-lived sockets", open_and_close(count / 4), 3LL * (count / 4));
  run.expect("around a stop", stop_and_reset(count / 40), count / 40);
  return run.finish();
}
