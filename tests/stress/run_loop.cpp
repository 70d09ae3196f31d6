// tests/stress/run_loop.cpp -- four threads post to a loop, which is stopped and run again.
// SPDX-License-Identifier: MIT
#include <atomic>
#include <coracle/core/task.hpp>
#include <coracle/exec/run_loop.hpp>
#include <coracle/sync/async_auto_reset_event.hpp>
#include <thread>
#include <vector>

#include "../support/detached.hpp"
#include "../support/stress.hpp"

namespace {
using coracle::run_loop;
using coracle_test::detached;

constexpr int threads = 4;

struct found {
  long long ran = 0;           // plain: only the loop's thread touches them
  long long out_of_order = 0;  ///< posts of one thread that overtook an earlier one
};

/// Four threads post; the loop must run all posts, each thread's in order, and stops after the last one.
found post_from_four_threads(int posts) {
  run_loop loop;
  found all;
  int last[threads] = {-1, -1, -1, -1};
  std::atomic<int> done[threads] = {};
  const auto post = [&](int thread, int number) -> detached {
    co_await loop.schedule();
    if (number != last[thread] + 1) ++all.out_of_order;
    last[thread] = number;
    done[thread] = number + 1;
    if (++all.ran == static_cast<long long>(threads) * posts) loop.stop();
  };
  std::vector<std::thread> posters;
  for (int t = 0; t != threads; ++t) {
    posters.emplace_back([&, t] {
      for (int i = 0; i != posts; ++i) {
        post(t, i);
        // Lets the loop fall asleep occasionally.
        while (i % 16 == t && done[t].load() <= i) std::this_thread::yield();
      }
    });
  }
  loop.run();
  for (std::thread& each : posters) each.join();
  return all;
}

/// Two loops wake each other's coroutines; each loop sleeps whenever it waits.
long long ping_pong(int turns) {
  run_loop here, there;
  coracle::async_auto_reset_event ping, pong;
  long long answers = 0;
  const auto serve = [&]() -> detached {
    co_await here.schedule();
    for (int i = 0; i != turns; ++i) {
      ping.set();
      co_await pong;
      ++answers;
    }
    here.stop();
  };
  const auto reply = [&]() -> detached {
    co_await there.schedule();
    for (int i = 0; i != turns; ++i) {
      co_await ping;
      pong.set();
    }
    there.stop();
  };
  serve();
  reply();
  std::thread other([&] { there.run(); });
  here.run();
  other.join();
  return answers;
}

/// One post at a time, at every step of the loop's way to sleep.
long long post_while_falling_asleep(int posts) {
  run_loop loop;
  std::atomic<int> answered{0};
  const auto answer = [&](int number) -> detached {
    co_await loop.schedule();
    answered.store(number + 1, std::memory_order_release);
    coracle_test::hold_up(number % 300);  // so that the poster is sometimes the faster one
  };
  std::thread poster([&] {
    coracle_test::post_one_by_one(posts, 400, answered, answer);
    loop.stop();
  });
  loop.run();
  poster.join();
  return answered;
}

/// run() and stop() race: each stop() ends one run(), whichever of them comes first.
long long stop_and_run_again(int turns) {
  run_loop loop;
  long long runs = 0;
  std::atomic<long long> posted{0}, ran{0};
  const auto post = [&]() -> detached {
    co_await loop.schedule();
    ++ran;
  };
  std::atomic<int> ended_runs{0};
  std::thread stopper([&] {
    for (int i = 0; i != turns; ++i) {
      while (ended_runs.load() != i) std::this_thread::yield();
      post();
      loop.stop();
    }
  });
  for (int i = 0; i != turns; ++i) {
    loop.run();
    ++runs;
    if (ran.load() == i + 1) ++posted;
    ended_runs = i + 1;
  }
  stopper.join();
  return posted == runs ? runs : -1;
}
}  // namespace

int main(int argc, char** argv) {
  coracle_test::stress run("run_loop", argc, argv, 50'000);
  const found all = post_from_four_threads(run.int_count());
  run.expect("posts", all.ran, threads * static_cast<long long>(run.count()));
  run.expect("out of order", all.out_of_order, 0);
  run.expect("answers", ping_pong(run.int_count()), run.count());
  run.expect("single posts", post_while_falling_asleep(2 * run.int_count()), 2 * run.count());
  run.expect("runs", stop_and_run_again(run.int_count()), run.count());
  return run.finish();
}
