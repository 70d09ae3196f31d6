// tests/stress/condition_variable.cpp -- no notification is lost or wakes two; no wake-up is spurious.
// SPDX-License-Identifier: MIT
#include <atomic>
#include <coracle/core/sync_wait.hpp>
#include <coracle/core/task.hpp>
#include <coracle/core/with_environment.hpp>
#include <coracle/exec/static_thread_pool.hpp>
#include <coracle/sync/async_condition_variable.hpp>
#include <deque>
#include <latch>
#include <memory>
#include <thread>
#include <vector>

#include "../support/detached.hpp"
#include "../support/stop_race.hpp"
#include "../support/stress.hpp"

namespace {
using coracle::async_condition_variable;
using coracle::async_mutex;
using coracle::static_thread_pool;
using coracle_test::detached;

/// Producers and consumers of two pools and of two plain threads, and a buffer of three. Returns the sum of
/// the consumed elements.
long long hand_on_items(int items) {
  constexpr int pairs = 6;
  static_thread_pool first{2}, second{1};
  async_mutex mutex;
  async_condition_variable not_full, not_empty;
  std::deque<int> buffer;
  long long sum = 0;
  std::latch ended{2 * pairs};
  const auto produce = [&](static_thread_pool* pool) -> detached {
    if (pool) co_await pool->schedule();
    const auto has_room = [&] { return buffer.size() < 3; };
    for (int i = 1; i <= items; ++i) {
      {
        auto lock = co_await mutex.scoped_lock_async();
        co_await not_full.wait(lock, has_room);
        buffer.push_back(i);
        if (i % 2 == 0) not_empty.notify_one();
      }
      if (i % 4 == 1) not_empty.notify_one();
      if (i % 4 == 3) not_empty.notify_all();
    }
    ended.count_down();
  };
  const auto consume = [&](static_thread_pool* pool) -> detached {
    if (pool) co_await pool->schedule();
    const auto is_filled = [&] { return !buffer.empty(); };
    for (int i = 0; i != items; ++i) {
      auto lock = co_await mutex.scoped_lock_async();
      co_await not_empty.wait(lock, is_filled);
      sum += buffer.front();
      buffer.pop_front();
      if (pool && i % 64 == 0) co_await pool->schedule();
      not_full.notify_one();
    }
    ended.count_down();
  };
  std::vector<std::thread> threads;
  for (int t = 0; t != 2; ++t) {
    threads.emplace_back([&] {
      produce(nullptr);
      consume(nullptr);
    });
  }
  for (static_thread_pool* pool : {&first, &second, &first, &second}) {
    produce(pool);
    consume(pool);
  }
  for (std::thread& each : threads) each.join();
  ended.wait();
  return sum;
}

/// One wait races with one notification that is made without the lock, repeatedly. Returns how many waiters
/// did not resume.
long long race_one_notification(int most) {
  struct flag {
    async_mutex mutex;
    async_condition_variable changed;
    bool set = false;
  };
  std::vector<flag> flags(static_cast<std::size_t>(most));
  std::atomic<long long> went_on{0};
  const auto wait = [&](flag& mine) -> detached {
    auto lock = co_await mine.mutex.scoped_lock_async();
    const auto is_set = [&mine] { return mine.set; };
    co_await mine.changed.wait(lock, is_set);
    ++went_on;
  };
  const auto set = [&](flag& mine) -> detached {
    {
      const auto lock = co_await mine.mutex.scoped_lock_async();
      mine.set = true;
    }
    mine.changed.notify_one();
  };
  const int rounds = coracle_test::side_by_side(
      most, [&](int i) { wait(flags[static_cast<std::size_t>(i)]); },
      [&](int i) { set(flags[static_cast<std::size_t>(i)]); });
  return rounds - went_on;
}

/// The same with notify_all() under the lock. The waiter deletes the condition variable as soon as it has the
/// lock, while the other's unlock() may not have returned. Returns how many waiters did not resume.
long long notify_and_forget(int most) {
  struct flag {
    async_condition_variable changed;
    bool set = false;
  };
  std::vector<async_mutex> mutexes(static_cast<std::size_t>(most));
  std::vector<flag*> flags(mutexes.size());
  for (flag*& each : flags) each = new flag;
  std::atomic<long long> went_on{0};
  const auto wait = [&](std::size_t i) -> detached {
    auto lock = co_await mutexes[i].scoped_lock_async();
    const std::unique_ptr<flag> mine{flags[i]};
    while (!mine->set) co_await mine->changed.wait(lock);
    ++went_on;
  };
  const auto set = [&](std::size_t i) -> detached {
    const auto lock = co_await mutexes[i].scoped_lock_async();
    flags[i]->set = true;
    flags[i]->changed.notify_all();
  };
  const int rounds = coracle_test::side_by_side(
      most, [&](int i) { wait(static_cast<std::size_t>(i)); },
      [&](int i) { set(static_cast<std::size_t>(i)); });
  for (std::size_t i = static_cast<std::size_t>(rounds); i != flags.size(); ++i) delete flags[i];
  return rounds - went_on;
}

/// One waiter and two concurrent notifications, repeatedly. Returns how many waiters did not resume exactly
/// once.
long long race_two_notifications(int most) {
  struct place {
    async_mutex mutex;
    async_condition_variable changed;
    int wake_ups = 0;
  };
  std::vector<place> places(static_cast<std::size_t>(most));
  const auto wait = [](place& mine) -> detached {
    auto lock = co_await mine.mutex.scoped_lock_async();
    co_await mine.changed.wait(lock);
    ++mine.wake_ups;
  };
  for (place& each : places) wait(each);
  const auto notify = [&](int i) { places[static_cast<std::size_t>(i)].changed.notify_one(); };
  const int rounds = coracle_test::side_by_side(most, notify, notify);
  long long wrong = 0;
  for (int i = 0; i != most; ++i) {
    if (i >= rounds) notify(i);
    wrong += places[static_cast<std::size_t>(i)].wake_ups != 1;
  }
  return wrong;
}

/// Coroutines that meet in rounds: the last one to arrive notifies all others.
long long meet(int rounds) {
  constexpr int coroutines = 6;
  static_thread_pool pool{3};
  async_mutex mutex;
  async_condition_variable all_here;
  int arrived = 0, round = 0;
  long long met = 0;
  std::latch ended{coroutines};
  const auto work = [&]() -> detached {
    co_await pool.schedule();
    for (int i = 0; i != rounds; ++i) {
      auto lock = co_await mutex.scoped_lock_async();
      const auto is_over = [&round, i] { return round > i; };
      if (++arrived == coroutines) {
        arrived = 0;
        ++round;
        all_here.notify_all();
      }
      co_await all_here.wait(lock, is_over);
      met += round == i + 1;
    }
    ended.count_down();
  };
  for (int i = 0; i != coroutines; ++i) work();
  ended.wait();
  return met;
}

struct wake_ups {
  long long sent = 0;
  long long arrived = 0;
};

/// Waits without a predicate: each notification that finds a waiter wakes one, and nothing else wakes any.
wake_ups count_wake_ups(int turns) {
  constexpr int coroutines = 4;
  static_thread_pool pool{2};
  async_mutex mutex;
  async_condition_variable changed;
  wake_ups found;
  int waiting = 0;
  std::latch ended{coroutines};
  const auto wait = [&]() -> detached {
    co_await pool.schedule();
    {
      auto lock = co_await mutex.scoped_lock_async();
      for (int i = 0; i != turns; ++i) {
        ++waiting;
        co_await changed.wait(lock);
        ++found.arrived;
      }
    }
    ended.count_down();
  };
  const auto notify = [&](bool several) -> coracle::task<> {
    const auto lock = co_await mutex.scoped_lock_async();
    const int woken = several ? waiting : waiting != 0;
    found.sent += woken;
    waiting -= woken;
    if (several) {
      changed.notify_all();
    } else {
      changed.notify_one();
    }
  };
  for (int i = 0; i != coroutines; ++i) wait();
  for (int i = 0; !ended.try_wait(); ++i) coracle::sync_wait(notify(i % 3 == 0));
  return found;
}

/// A notification and a stop request at the same time: one of the two waiters gets the notification.
struct notification_round : coracle_test::two_waiters {
  notification_round() {
    coracle_test::note_end(stop.get_token(), wait(), first);
    coracle_test::note_end({}, wait(), second);
  }
  coracle::task<> wait() {
    auto lock = co_await mutex.scoped_lock_async();
    co_await changed.wait(lock);
    ++wake_ups;
  }
  void complete() { changed.notify_one(); }
  void finish() { changed.notify_all(); }
  async_mutex mutex;
  async_condition_variable changed;
  int wake_ups = 0;
};

/// Waiters that are stopped at any time, and tickets for them. Returns the number of tickets not taken.
long long stop_some(int tickets) {
  constexpr int coroutines = 4;
  static_thread_pool pool{2};
  async_mutex mutex;
  async_condition_variable changed;
  int left = 0;
  long long taken = 0;
  bool is_over = false;
  std::latch ended{coroutines};
  coracle_test::stops_at_random stops(coroutines);
  const auto take = [&](std::size_t me) -> coracle::task<bool> {
    auto lock = co_await mutex.scoped_lock_async();
    const auto has_some = [&] { return left != 0 || is_over; };
    const auto wait = [&]() -> coracle::task<> { co_await changed.wait(lock, has_some); };
    co_await coracle::with_stop(wait(), stops.renew(me));
    if (left == 0) co_return false;
    --left;
    ++taken;
    co_return true;
  };
  const auto work = [&](std::size_t me) -> detached {
    co_await pool.schedule();
    for (bool more = true; more;) {
      try {
        more = co_await take(me);
      } catch (const coracle::operation_cancelled&) {
      }
    }
    ended.count_down();
  };
  const auto give = [&](int some, bool last) -> coracle::task<> {
    const auto lock = co_await mutex.scoped_lock_async();
    left += some;
    is_over = last;
    if (last) {
      changed.notify_all();
    } else {
      changed.notify_one();
    }
  };
  for (std::size_t i = 0; i != coroutines; ++i) work(i);
  for (int i = 0; i != tickets; ++i) coracle::sync_wait(give(1, false));
  coracle::sync_wait(give(0, true));
  ended.wait();
  return tickets - taken;
}
}  // namespace

int main(int argc, char** argv) {
  coracle_test::stress run("condition_variable", argc, argv, 10'000);
  const long long count = run.count();
  run.expect("sum of items", hand_on_items(run.int_count()), 6 * count * (count + 1) / 2);
  run.expect("single notifications missed", race_one_notification(10 * run.int_count()), 0);
  run.expect("last notifications missed", notify_and_forget(10 * run.int_count()), 0);
  run.expect("double notifications wrong", race_two_notifications(10 * run.int_count()), 0);
  run.expect("meetings", meet(run.int_count()), 6 * count);
  const wake_ups found = count_wake_ups(run.int_count());
  run.expect("notifications", found.sent, 4 * count);
  run.expect("wake-ups", found.arrived, 4 * count);
  run.expect("tickets lost", stop_some(run.int_count()), 0);
  run.expect("stops against notify_one() wrong",
             coracle_test::race_a_stop<notification_round>(5 * run.int_count()), 0);
  return run.finish();
}
