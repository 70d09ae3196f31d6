// tests/simulation/locks.cpp -- locks, permits and signals with cancellation: exclusion, no lost wake-up.
// SPDX-License-Identifier: MIT
#include <coracle/compose/when_all.hpp>
#include <coracle/compose/when_any.hpp>
#include <coracle/sync/async_condition_variable.hpp>
#include <coracle/sync/async_latch.hpp>
#include <coracle/sync/async_mutex.hpp>
#include <coracle/sync/async_semaphore.hpp>
#include <coracle/sync/async_shared_mutex.hpp>
#include <deque>
#include <vector>

#include "world.hpp"

namespace {
using namespace std::chrono_literals;
using coracle_test::task;
using coracle_test::world;

/// Runs `count` results of `make` concurrently, on any executors.
template <class Make>
task<> several(world& w, unsigned count, Make make) {
  std::vector<task<>> all;
  for (unsigned i = 0; i != count; ++i) all.push_back(coracle::schedule_on(make(), w.place()));
  co_await coracle::when_all(std::move(all));
}

void mutex(coracle_test::simulation& sim) {
  world w{sim};
  coracle::async_mutex mutex;
  int inside = 0;
  const auto work = [&]() -> task<> {
    for (int i = 0; i != 5; ++i) {
      co_await w.pause();
      const auto lock = co_await w.attempt(mutex.scoped_lock_async());
      if (!lock) continue;
      w.expect(++inside == 1, "one at a time is inside");
      co_await w.pause();
      --inside;
    }
  };
  sim.run(several(w, 4, work));
  w.expect(mutex.try_lock(), "the lock is free at the end");
  mutex.unlock();
}

void shared_mutex(coracle_test::simulation& sim) {
  world w{sim};
  coracle::async_shared_mutex mutex;
  int readers = 0, writers = 0;
  const auto work = [&]() -> task<> {
    for (int i = 0; i != 5; ++i) {
      co_await w.pause();
      if (w.one_in(3)) {
        const auto lock = co_await w.attempt(mutex.scoped_lock_async());
        if (!lock) continue;
        w.expect(++writers == 1 && readers == 0, "a writer is alone");
        co_await w.pause();
        --writers;
      } else {
        const auto lock = co_await w.attempt(mutex.scoped_lock_shared_async());
        if (!lock) continue;
        ++readers;
        w.expect(writers == 0, "no reader beside a writer");
        co_await w.pause();
        --readers;
      }
    }
  };
  sim.run(several(w, 4, work));
  w.expect(mutex.try_lock(), "the lock is free at the end");
  mutex.unlock();
}

void semaphore(coracle_test::simulation& sim) {
  world w{sim};
  const unsigned most = 1 + w.below(3);
  coracle::async_semaphore permits{static_cast<std::ptrdiff_t>(most)};
  unsigned held = 0, owed = 0;
  // Some hold their permits for a while, so that several permits are released at once.
  const auto give_back = [&] {
    if (held != 0 && w.one_in(2)) return;
    permits.release(static_cast<std::ptrdiff_t>(std::exchange(owed, 0)));
  };
  const auto work = [&]() -> task<> {
    for (int i = 0; i != 5; ++i) {
      co_await w.pause();
      auto chosen = co_await w.attempt(coracle::when_any(permits.acquire(), coracle::sleep_for(w.a_while())));
      if (!chosen || chosen->index() != 0) continue;
      w.expect(++held + owed <= most, "no more hold a permit than there are");
      co_await w.pause();
      --held;
      ++owed;
      give_back();
    }
  };
  sim.run(several(w, 5, work));
  for (unsigned i = 0; i != most; ++i) w.expect(permits.try_acquire(), "all permits have come back");
  w.expect(!permits.try_acquire(), "no more than all");
  permits.release(static_cast<std::ptrdiff_t>(most));
}

/// A queue with a lock and a condition variable: every element that is put in is taken out, even if a
/// notified waiter is cancelled.
void condition_variable(coracle_test::simulation& sim) {
  world w{sim};
  coracle::async_mutex mutex;
  coracle::async_condition_variable changed;
  std::deque<int> queue;
  int taken = 0;
  constexpr int count = 8;
  const auto put = [&]() -> task<> {
    for (int i = 0; i != count; ++i) {
      co_await w.pause();
      auto lock = co_await mutex.scoped_lock_async();
      queue.push_back(i);
      changed.notify_one();
    }
  };
  const auto has_some = [&] { return !queue.empty() || taken == count; };
  int takers = 0;
  const auto take = [&]() -> task<> {
    const bool is_patient = ++takers == 1;
    for (bool more = true; more;) {
      co_await w.pause();
      auto lock = co_await mutex.scoped_lock_async();
      bool woken = true;
      if (is_patient) {
        co_await changed.wait(lock, has_some);
      } else {
        auto wait = coracle::when_any(changed.wait(lock, has_some), coracle::sleep_for(2 * w.a_while()));
        const auto chosen = co_await w.attempt(std::move(wait));
        woken = chosen && chosen->index() == 0;
      }
      w.expect(!woken || has_some(), "a wait ends when its condition holds");
      w.expect(!mutex.try_lock(), "a wait ends with the lock held, also if it is cancelled");
      if (woken && !queue.empty()) {
        queue.pop_front();
        if (++taken == count) changed.notify_all();
      }
      more = woken && taken != count;
    }
  };
  const auto all = [&]() -> task<> { co_await coracle::when_all(put(), several(w, 3, take)); };
  sim.run(all());
  w.expect(taken == count && queue.empty(), "all was taken");
}

void latch(coracle_test::simulation& sim) {
  world w{sim};
  coracle::async_latch latch{3};
  int counted = 0;
  const auto count_down = [&]() -> task<> {
    co_await w.pause();
    ++counted;
    latch.count_down();
  };
  const auto wait = [&]() -> task<> {
    co_await w.pause();
    const bool passed = co_await w.attempt(latch.operator co_await());
    if (passed) w.expect(counted == 3, "nobody passes before the last count");
  };
  const auto all = [&]() -> task<> {
    co_await coracle::when_all(several(w, 3, count_down), several(w, 3, wait));
  };
  sim.run(all());
}
}  // namespace

int main(int argc, char** argv) {
  return coracle::testing::simulate_main(argc, argv,
                                         {{"async_mutex", mutex, {.stalls = true}},
                                          {"async_shared_mutex", shared_mutex, {.stalls = true}},
                                          {"async_semaphore", semaphore, {.stalls = true}},
                                          {"async_condition_variable", condition_variable, {.stalls = true}},
                                          {"async_latch", latch}});
}
