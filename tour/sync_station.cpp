// tour/sync_station.cpp -- ten thousand waiters, a contended mutex, and no allocation.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <mutex>
#include <thread>

#include "format.hpp"
#include "stations.hpp"
#include "sync_event.hpp"
#include "sync_mutex.hpp"

namespace tour {
namespace {
constexpr std::uint64_t waiters = 10'000;
constexpr std::size_t fighters = 64;
constexpr std::uint64_t locks_each = 400, alone_rounds = 2'000'000;

std::vector<std::string> row_of(const char* name, const wake_up& seen) {
  return {name,
          grouped(seen.woken),
          grouped(seen.on_main),
          grouped(seen.on_setter),
          duration(seen.set_nanoseconds),
          grouped(seen.allocations)};
}

void keep_figures(section& page, const std::string& name, const wake_up& seen) {
  page.measured(name + ".woken", static_cast<double>(seen.woken), "coroutines");
  page.measured(name + ".on_main", static_cast<double>(seen.on_main), "coroutines");
  page.measured(name + ".in_set", static_cast<double>(seen.on_setter), "coroutines");
  page.measured(name + ".set", seen.set_nanoseconds, "ns");
  page.measured(name + ".allocations", static_cast<double>(seen.allocations), "allocations");
}

void show_event(section& page) {
  page.say(grouped(waiters) +
           " coroutines wait for one async_manual_reset_event; another thread calls set() once. If they "
           "waited on a scheduler, set() only hands them back to it. If they belong to none, set() itself "
           "resumes them.");
  const wake_up loop = release_on_a_loop(waiters);
  const wake_up nowhere = release_outside_schedulers(waiters);
  page.add(table{"",
                 {"they waited", "woken", "resumed on main", "inside set()", "set() took", "allocations"},
                 {row_of("on a run_loop of main", loop), row_of("on no scheduler", nowhere)}});
  keep_figures(page, "event.run_loop", loop);
  keep_figures(page, "event.no_scheduler", nowhere);
  page.check(loop.woken == waiters && loop.on_main == waiters,
             "All " + grouped(loop.woken) +
                 " waiters of the loop resumed there: a coroutine resumes where it suspended.");
  page.check(nowhere.woken == waiters && nowhere.on_setter == waiters,
             "All " + grouped(nowhere.woken) + " without a scheduler resumed before set() returned.");
  constexpr std::size_t stop_states = 2;  // of the two when_alls
  page.check(loop.allocations + nowhere.allocations <= stop_states,
             plural(loop.allocations + nowhere.allocations, "allocation") +
                 " from the first wait to the last wake-up: the stop state that a when_all creates at the "
                 "first wait of a child. A waiter is part of its coroutine's frame.");
}

void show_fight(section& page) {
  const std::size_t threads = std::max<std::size_t>(2, std::thread::hardware_concurrency());
  const contention seen = fight_for_mutex(fighters, locks_each, threads);
  const double share = 100 * static_cast<double>(seen.waits) / static_cast<double>(seen.locks);
  const double each = seen.nanoseconds / static_cast<double>(seen.locks);
  page.say("Now " + grouped(seen.coroutines) + " coroutines on " + plural(seen.threads, "pool thread") +
           " take one async_mutex " + grouped(locks_each) +
           " times each and hold it across a hop through the pool, reading a counter before and writing it "
           "after:");
  page.add(table{"",
                 {"locks", "had to wait", "that is", "counter", "a lock, its hop and unlock", "allocations"},
                 {{grouped(seen.locks), grouped(seen.waits), fixed(share, 1) + " %", grouped(seen.counted),
                   duration(each), grouped(seen.allocations)}}});
  page.measured("mutex.locks", static_cast<double>(seen.locks), "locks");
  page.measured("mutex.waits", static_cast<double>(seen.waits), "locks");
  page.measured("mutex.contended_lock", each, "ns");
  page.measured("mutex.allocations", static_cast<double>(seen.allocations), "allocations");
  page.check(seen.counted == seen.locks, "The counter stands at " + grouped(seen.counted) + " after " +
                                             grouped(seen.locks) +
                                             " locks: no two coroutines were inside at the same time.");
  // What stops the children is made at the first wait: by each thread that waits before it is there.
  page.check(seen.allocations <= seen.threads,
             plural(seen.allocations, "allocation") +
                 " in all that waiting and waking: the stop state of the when_all. Threads whose first waits "
                 "coincide allocate one each, and one of them is kept.");
}

void show_alone(section& page) {
  const uncontended seen = lock_alone(alone_rounds);
  page.add(
      bar_chart{"One uncontended lock and unlock",
                "ns",
                {{"coracle::async_mutex", seen.async_nanoseconds, fixed(seen.async_nanoseconds, 1) + " ns"},
                 {"std::mutex", seen.std_nanoseconds, fixed(seen.std_nanoseconds, 1) + " ns"}}});
  page.measured("mutex.uncontended", seen.async_nanoseconds, "ns");
  page.measured("std_mutex.uncontended", seen.std_nanoseconds, "ns");
}
}  // namespace

void show_sync(section& page, const settings&) {
  show_event(page);
  show_fight(page);
  show_alone(page);
}
}  // namespace tour
