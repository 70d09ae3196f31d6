// tests/stress/shared_mutex.cpp -- plain data behind an async_shared_mutex, and the order of its holders.
// SPDX-License-Identifier: MIT
#include <atomic>
#include <coracle/core/task.hpp>
#include <coracle/core/with_environment.hpp>
#include <coracle/exec/static_thread_pool.hpp>
#include <coracle/sync/async_shared_mutex.hpp>
#include <latch>
#include <memory>
#include <thread>
#include <vector>

#include "../support/detached.hpp"
#include "../support/stop_race.hpp"
#include "../support/stress.hpp"

namespace {
using coracle::async_shared_mutex;
using coracle::static_thread_pool;
using coracle_test::detached;

/// The counters do not synchronise, so that ThreadSanitizer sees only the lock's synchronisation.
struct seen {
  long long first = 0, second = 0;
  std::atomic<long long> reads{0};
  std::atomic<long long> torn{0};
};

/// Coroutines of two pools and of two plain threads: one turn in four writes, some hold the lock across a
/// hop.
void read_and_write(int turns, seen& data) {
  constexpr int coroutines = 4;
  static_thread_pool pools[] = {static_thread_pool{2}, static_thread_pool{1}};
  async_shared_mutex mutex;
  std::latch ended{4 * coroutines};
  const auto work = [&](static_thread_pool* pool) -> detached {
    if (pool) co_await pool->schedule();
    for (int i = 0; i != turns; ++i) {
      if (i % 4 == 0) {
        const auto lock = co_await mutex.scoped_lock_async();
        ++data.first;
        if (pool && i % 64 == 0) co_await pool->schedule();
        ++data.second;
      } else {
        const auto shared = co_await mutex.scoped_lock_shared_async();
        const long long before = data.first;
        if (pool && i % 64 == 1) co_await pool->schedule();
        data.torn.fetch_add(before != data.second, std::memory_order_relaxed);
        data.reads.fetch_add(1, std::memory_order_relaxed);
      }
    }
    ended.count_down();
  };
  std::vector<std::thread> threads;
  for (int t = 0; t != 2; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i != coroutines; ++i) work(nullptr);
    });
  }
  for (int i = 0; i != coroutines; ++i) {
    work(&pools[0]);
    work(&pools[1]);
  }
  for (std::thread& each : threads) each.join();
  ended.wait();
}

/// Each thread queues readers and writers in sequence: when one of its writers enters, all its earlier
/// readers have entered; when one of its readers enters, all its earlier writers have, and no later one.
long long overtakers(int turns) {
  constexpr int threads = 3, stretch = 5;  // a writer and four readers in turn
  struct progress {
    int writers = 0;
    std::atomic<int> readers{0};
  };
  async_shared_mutex mutex;
  progress all[threads];
  std::atomic<long long> wrong{0};
  const auto write = [&](progress& mine, int number) -> detached {
    co_await mutex.lock_async();
    wrong += mine.writers != number || mine.readers != number * (stretch - 1);
    ++mine.writers;
    mutex.unlock();
  };
  const auto read = [&](progress& mine, int number) -> detached {
    co_await mutex.lock_shared_async();
    wrong += mine.writers != number + 1;
    ++mine.readers;
    mutex.unlock_shared();
  };
  std::vector<std::thread> running;
  for (progress& mine : all) {
    running.emplace_back([&] {
      for (int i = 0; i != turns; ++i) {
        if (i % stretch == 0) {
          write(mine, i / stretch);
        } else {
          read(mine, i / stretch);
        }
      }
    });
  }
  for (std::thread& each : running) each.join();
  long long entered = 0;
  for (progress& mine : all) entered += mine.writers + mine.readers;
  return wrong + (entered != static_cast<long long>(threads) * turns);
}

/// One lock races with one unlock, repeatedly; the last holder deletes the mutex immediately, while the
/// other's unlock may not have returned. Returns the number of failures.
long long race_one_unlock(int most, bool held_shared, bool wanted_shared) {
  struct guarded {
    async_shared_mutex mutex;
    int written = 0;
  };
  std::vector<guarded*> all(static_cast<std::size_t>(most));
  for (guarded*& each : all) {
    each = new guarded;
    static_cast<void>(held_shared ? each->mutex.try_lock_shared() : each->mutex.try_lock());
  }
  std::atomic<long long> right{0};
  const auto enter = [&](guarded* mine) -> detached {
    const std::unique_ptr<guarded> owner{mine};
    if (wanted_shared) {
      co_await owner->mutex.lock_shared_async();
      right += owner->written;
      owner->mutex.unlock_shared();
    } else {
      co_await owner->mutex.lock_async();
      right += held_shared ? 1 : owner->written;
      owner->mutex.unlock();
    }
  };
  const int rounds = coracle_test::side_by_side(
      most, [&](int i) { enter(all[static_cast<std::size_t>(i)]); },
      [&](int i) {
        guarded* const each = all[static_cast<std::size_t>(i)];
        if (held_shared) {
          each->mutex.unlock_shared();
        } else {
          each->written = 1;
          each->mutex.unlock();
        }
      });
  for (int i = rounds; i != most; ++i) {
    guarded* const each = all[static_cast<std::size_t>(i)];
    if (held_shared) {
      each->mutex.unlock_shared();
    } else {
      each->mutex.unlock();
    }
    delete each;
  }
  return rounds - right;
}

/// try_lock() and try_lock_shared() by plain threads among waiting coroutines.
long long try_and_wait(int turns) {
  async_shared_mutex mutex;
  long long counter = 0;
  std::atomic<long long> reads{0};
  const auto write = [&]() -> detached {
    co_await mutex.lock_async();
    ++counter;
    mutex.unlock();
  };
  std::thread waits([&] {
    for (int i = 0; i != turns; ++i) write();
  });
  std::thread tries([&] {
    for (int i = 0; i != turns; ++i) {
      while (!mutex.try_lock()) std::this_thread::yield();
      ++counter;
      mutex.unlock();
    }
  });
  std::thread reads_tries([&] {
    long long last = 0;
    for (int i = 0; i != turns; ++i) {
      while (!mutex.try_lock_shared()) std::this_thread::yield();
      reads += counter >= last;
      last = counter;
      mutex.unlock_shared();
    }
  });
  waits.join();
  tries.join();
  reads_tries.join();
  return counter + reads;
}

/// Readers and writers that are stopped at any time. Returns the number of inconsistent turns.
long long stop_some(int turns) {
  constexpr int coroutines = 6;
  static_thread_pool pool{2};
  async_shared_mutex mutex;
  long long first = 0, second = 0;
  std::atomic<long long> writes{0}, ends{0}, torn{0};
  std::latch ended{coroutines};
  coracle_test::stops_at_random stops(coroutines);
  const auto write = [&](std::size_t me) -> coracle::task<> {
    const auto lock = co_await coracle::with_stop(mutex.scoped_lock_async(), stops.renew(me));
    ++first;
    co_await pool.schedule();
    ++second;
    ++writes;
  };
  const auto read = [&](std::size_t me) -> coracle::task<> {
    const auto shared = co_await coracle::with_stop(mutex.scoped_lock_shared_async(), stops.renew(me));
    const long long before = first;
    if (before % 8 == 0) co_await pool.schedule();
    torn += before != second;
  };
  const auto work = [&](std::size_t me) -> detached {
    co_await pool.schedule();
    for (int i = 0; i != turns; ++i) {
      try {
        if (i % 4 == 0) {
          co_await write(me);
        } else {
          co_await read(me);
        }
      } catch (const coracle::operation_cancelled&) {
      }
      ++ends;
    }
    ended.count_down();
  };
  for (std::size_t i = 0; i != coroutines; ++i) work(i);
  ended.wait();
  const bool is_free = mutex.try_lock();
  if (is_free) mutex.unlock();
  return torn + (writes != second) + (ends != 1LL * coroutines * turns) + !is_free;
}

/// A reader holds the lock, a writer waits, and a second reader waits behind it: once the writer is stopped,
/// or has released the lock, that reader enters.
struct writer_round : coracle_test::two_waiters {
  writer_round() {
    static_cast<void>(mutex.try_lock_shared());
    coracle_test::note_end(stop.get_token(), mutex.lock_async(), first);
    coracle_test::note_end({}, mutex.lock_shared_async(), second);
  }
  void complete() { mutex.unlock_shared(); }
  void finish() {
    if (first == coracle_test::ended::carried_out) mutex.unlock();
    mutex.unlock_shared();
  }
  async_shared_mutex mutex;
};
}  // namespace

int main(int argc, char** argv) {
  coracle_test::stress run("shared_mutex", argc, argv, 10'000);
  const int turns = run.int_count() / 4 * 4;
  seen data;
  read_and_write(turns, data);
  run.expect("writes", data.second, 4LL * turns);
  run.expect("reads", data.reads.load(), 12LL * turns);
  run.expect("torn reads", data.torn.load(), 0);
  run.expect("overtakers", overtakers(2 * turns), 0);
  run.expect("writer to writer wrong", race_one_unlock(2 * turns, false, false), 0);
  run.expect("writer to reader wrong", race_one_unlock(2 * turns, false, true), 0);
  run.expect("reader to writer wrong", race_one_unlock(2 * turns, true, false), 0);
  run.expect("locks beside try_lock", try_and_wait(turns), 3LL * turns);
  run.expect("turns with stops wrong", stop_some(turns), 0);
  run.expect("stops of a writer wrong", coracle_test::race_a_stop<writer_round>(5 * turns), 0);
  return run.finish();
}
