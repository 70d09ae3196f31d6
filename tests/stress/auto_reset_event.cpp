// tests/stress/auto_reset_event.cpp -- each set() wakes exactly one waiter, with any number of threads.
// SPDX-License-Identifier: MIT
#include <atomic>
#include <barrier>
#include <coracle/core/task.hpp>
#include <coracle/core/with_environment.hpp>
#include <coracle/exec/static_thread_pool.hpp>
#include <coracle/sync/async_auto_reset_event.hpp>
#include <latch>
#include <thread>
#include <vector>

#include "../support/detached.hpp"
#include "../support/lets_through.hpp"
#include "../support/stop_race.hpp"
#include "../support/stress.hpp"

namespace {
using coracle::async_auto_reset_event;
using coracle::static_thread_pool;
using coracle_test::detached;

constexpr int threads = 4;

void on_threads(auto work) {
  std::vector<std::thread> all;
  for (int t = 0; t != threads; ++t) all.emplace_back(work);
  for (std::thread& each : all) each.join();
}

struct sets_and_passes {
  long long passes = 0;
  long long left_over = 0;  ///< passes beyond one for each set()
};

/// As many waiters as sets: 4 threads set while the waiters already wait, so that no set() may be dropped.
sets_and_passes release_all(int rounds) {
  constexpr int sets_of_each = 8;
  async_auto_reset_event event;
  std::atomic<int> passes{0};
  sets_and_passes found;
  const auto wait = [&]() -> detached {
    co_await event;
    ++passes;
  };
  const auto finish_round = [&]() noexcept {
    found.passes += passes.exchange(0);
    wait();  // nobody has set the event for this one
    found.left_over += passes;
    event.set();
    passes = 0;
    for (int i = 0; i != threads * sets_of_each; ++i) wait();
  };
  finish_round();
  std::barrier step{threads, finish_round};
  on_threads([&] {
    for (int round = 0; round != rounds; ++round) {
      for (int i = 0; i != sets_of_each; ++i) event.set();
      step.arrive_and_wait();
    }
  });
  for (int i = 0; i != threads * sets_of_each; ++i) event.set();
  return found;
}

/// One await races with one set(), repeatedly: it completes and consumes the set(). Returns the number of
/// failures.
long long race_one_await(int most) {
  std::vector<async_auto_reset_event> events(static_cast<std::size_t>(most));
  std::vector<int> written(events.size());
  std::atomic<long long> passes{0};
  const auto wait = [&](std::size_t i) -> detached {
    co_await events[i];
    if (written[i] == 1) ++passes;
  };
  const int rounds = coracle_test::side_by_side(
      most, [&](int i) { wait(static_cast<std::size_t>(i)); },
      [&](int i) {
        written[static_cast<std::size_t>(i)] = 1;
        events[static_cast<std::size_t>(i)].set();
      });
  long long wrong = rounds - passes;
  for (async_auto_reset_event& each : events) wrong += coracle_test::lets_through(each);
  return wrong;
}

/// Two concurrent sets and two waiters: both waiters wake. Returns how many did not.
long long race_two_sets(int most) {
  std::vector<async_auto_reset_event> events(static_cast<std::size_t>(most));
  std::atomic<long long> passes{0};
  const auto wait = [&](async_auto_reset_event& event) -> detached {
    co_await event;
    ++passes;
  };
  for (async_auto_reset_event& each : events) {
    wait(each);
    wait(each);
  }
  const auto set = [&](int i) { events[static_cast<std::size_t>(i)].set(); };
  const int rounds = coracle_test::side_by_side(most, set, set);
  const long long missing = 2LL * rounds - passes;
  for (std::size_t i = static_cast<std::size_t>(rounds); i != events.size(); ++i) {
    events[i].set();
    events[i].set();
  }
  return missing;
}

/// Uses the event as a lock: the coroutine that is woken holds the lock, and sets the event to release it.
long long pass_a_token(int turns) {
  static_thread_pool pool{2};
  async_auto_reset_event token{true};
  long long counter = 0;  // plain: only the holder touches it
  std::atomic<int> running{2 * threads * 2};
  const auto take_turns = [&](bool on_pool) -> detached {
    if (on_pool) co_await pool.schedule();
    for (int i = 0; i != turns; ++i) {
      co_await token;
      ++counter;
      token.set();
    }
    --running;
    running.notify_one();
  };
  on_threads([&] {
    for (int i = 0; i != 2; ++i) {
      take_turns(false);
      take_turns(true);
    }
  });
  for (int left; (left = running.load()) != 0;) running.wait(left);
  return counter;
}

/// Two coroutines wake each other with two events: one lost set() is a deadlock.
long long ping_pong(int turns) {
  static_thread_pool first{1}, second{1};
  async_auto_reset_event ping, pong;
  long long answers = 0;
  std::atomic<int> running{2};
  const auto serve = [&]() -> detached {
    co_await first.schedule();
    for (int i = 0; i != turns; ++i) {
      ping.set();
      co_await pong;
      ++answers;
    }
    --running;
    running.notify_one();
  };
  const auto reply = [&]() -> detached {
    co_await second.schedule();
    for (int i = 0; i != turns; ++i) {
      co_await ping;
      pong.set();
    }
    --running;
    running.notify_one();
  };
  reply();
  serve();
  for (int left; (left = running.load()) != 0;) running.wait(left);
  return answers;
}

/// Random waiters, sets and resets: never more wake-ups than sets, and in the end every waiter has woken.
sets_and_passes mix(int turns) {
  async_auto_reset_event event;
  std::atomic<long long> passes{0}, sets{0};
  std::atomic<int> running{threads};
  const auto wait = [&]() -> detached {
    for (int i = 0; i != turns; ++i) {
      co_await event;
      ++passes;
    }
    --running;
  };
  on_threads([&] {
    wait();
    for (int i = 0; running.load() != 0; ++i) {
      if (i % 7 == 3) event.reset();
      ++sets;
      event.set();
    }
  });
  return {passes, passes > sets ? passes - sets : 0};
}

/// Uses the event as a lock whose waiters may be stopped. Returns how much was lost or duplicated.
long long pass_a_token_or_stop(int turns) {
  constexpr int coroutines = 5;
  static_thread_pool pool{2};
  async_auto_reset_event token{true};
  std::atomic<long long> passes{0}, cancelled{0};
  long long counter = 0;  // plain: only the holder touches it
  std::latch ended{coroutines};
  coracle_test::stops_at_random stops(coroutines);
  const auto take_turns = [&](std::size_t me) -> detached {
    if (me % 2 == 0) co_await pool.schedule();
    for (int i = 0; i != turns; ++i) {
      try {
        co_await coracle::with_stop(token, stops.renew(me));
      } catch (const coracle::operation_cancelled&) {
        ++cancelled;
        continue;
      }
      ++passes;
      ++counter;
      if (i % 16 == 0) co_await pool.schedule();
      token.set();
    }
    ended.count_down();
  };
  for (std::size_t i = 0; i != coroutines; ++i) take_turns(i);
  ended.wait();
  return (passes + cancelled != 1LL * coroutines * turns) + (counter != passes) +
         !coracle_test::lets_through(token);
}

struct set_round : coracle_test::two_waiters {
  set_round() {
    coracle_test::note_end(stop.get_token(), coracle::get_awaiter(event), first);
    coracle_test::note_end({}, coracle::get_awaiter(event), second);
  }
  void complete() { event.set(); }
  void finish() {
    if (second == coracle_test::ended::not_yet) event.set();
  }
  async_auto_reset_event event;
};
}  // namespace

int main(int argc, char** argv) {
  coracle_test::stress run("auto_reset_event", argc, argv, 5'000);
  const auto all = release_all(run.int_count());
  run.expect("released", all.passes, 32LL * run.count());
  run.expect("released without a set", all.left_over, 0);
  run.expect("single awaits wrong", race_one_await(40 * run.int_count()), 0);
  run.expect("passes of two missing", race_two_sets(20 * run.int_count()), 0);
  run.expect("turns with the token", pass_a_token(run.int_count()), 16LL * run.count());
  run.expect("answers", ping_pong(run.int_count()), run.count());
  const auto mixed = mix(run.int_count());
  run.expect("passes in the mixture", mixed.passes, 4LL * run.count());
  run.expect("passes without a set", mixed.left_over, 0);
  run.expect("turns with stops wrong", pass_a_token_or_stop(run.int_count()), 0);
  run.expect("stops against set() wrong", coracle_test::race_a_stop<set_round>(5 * run.int_count()), 0);
  return run.finish();
}
