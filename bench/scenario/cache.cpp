// bench/scenario/cache.cpp -- cache lookups, nine in ten of them hits; concurrent misses of a key share one
// load.
// SPDX-License-Identifier: MIT
#include <coracle/coracle.hpp>
#include <cstdint>
#include <future>
#include <mutex>
#include <random>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "scenario.hpp"
#include "work.hpp"

namespace {
using coracle::async_mutex;
using coracle::static_thread_pool;
using coracle::task;
using namespace coracle_bench;
using key = std::uint64_t;

constexpr int cache_threads = 2;
constexpr unsigned clients = 64;
constexpr long lookups_a_client = 5000;
constexpr key hot_keys = 1000;
constexpr int rounds_of_a_load = 1000;

/// The key of a lookup. Nine in ten are in the cache; the others are new, and two clients ask for each at
/// about the same time.
key key_of(long lookup, unsigned client, std::minstd_rand& random) {
  if (lookup % 10 != 0) return random() % hot_keys;
  return hot_keys + static_cast<key>(lookup) * clients + client / 2;
}
std::uint64_t load(key wanted) { return spend(wanted, rounds_of_a_load); }

using values = std::unordered_map<key, std::uint64_t>;
values hot_values() {
  values result;
  for (key each = 0; each != hot_keys; ++each) result.emplace(each, load(each));
  return result;
}

/// Clients take turns, as if each lookup came from elsewhere.
struct cache {
  explicit cache(static_thread_pool& on) : pool(on) {}

  static_thread_pool& pool;
  values known = hot_values();
  async_mutex mutex;
  coracle::single_flight<key, std::uint64_t> loads;

  task<std::uint64_t> find(key wanted) {
    {
      const auto lock = co_await mutex.scoped_lock_async();
      if (const auto found = known.find(wanted); found != known.end()) co_return found->second;
    }
    const auto load_it = [this, wanted] { return load_and_keep(wanted); };
    co_return co_await loads.run(wanted, load_it);
  }
  task<std::uint64_t> load_and_keep(key wanted) {
    co_await pool.schedule();
    const std::uint64_t value = load(wanted);
    const auto lock = co_await mutex.scoped_lock_async();
    known.emplace(wanted, value);
    co_return value;
  }
};
task<std::uint64_t> look_up(static_thread_pool& pool, cache& from, unsigned client, long lookups) {
  co_await pool.schedule();
  std::minstd_rand random{client + 1};
  std::uint64_t result = 0;
  for (long i = 0; i != lookups; ++i) {
    result += co_await from.find(key_of(i, client, random));
    if (i % 10 == 9) co_await coracle::this_task::yield();
  }
  co_return result;
}
std::uint64_t expected(unsigned client, long lookups) {
  std::minstd_rand random{client + 1};
  std::uint64_t result = 0;
  for (long i = 0; i != lookups; ++i) result += load(key_of(i, client, random));
  return result;
}

void cache_with_single_flight(scenario& run) {
  static_thread_pool pool{cache_threads};
  cache all{pool};
  const long lookups = run.times(lookups_a_client);
  std::vector<std::uint64_t> results;
  run.measure([&] {
    std::vector<task<std::uint64_t>> each;
    for (unsigned client = 0; client != clients; ++client)
      each.push_back(look_up(pool, all, client, lookups));
    results = coracle::sync_wait(coracle::when_all(std::move(each)));
  });
  run.expect(results[7] == expected(7, lookups), "each lookup gives the key's value");
}

/// Two threads, each carrying out the lookups of one client after the other; a mutex, and a future for each
/// key that is being loaded.
void threads_cache_with_single_flight(scenario& run) {
  values known = hot_values();
  std::unordered_map<key, std::shared_future<std::uint64_t>> loading;
  std::mutex mutex;
  const auto find = [&](key wanted) {
    std::unique_lock lock{mutex};
    if (const auto found = known.find(wanted); found != known.end()) return found->second;
    if (const auto found = loading.find(wanted); found != loading.end()) {
      const std::shared_future<std::uint64_t> other = found->second;
      lock.unlock();
      return other.get();
    }
    std::promise<std::uint64_t> mine;
    loading.emplace(wanted, mine.get_future().share());
    lock.unlock();
    const std::uint64_t value = load(wanted);
    mine.set_value(value);
    lock.lock();
    known.emplace(wanted, value);
    loading.erase(wanted);
    return value;
  };
  const long lookups = run.times(lookups_a_client);
  std::vector<std::uint64_t> results(clients);
  run.measure([&] {
    std::vector<std::thread> threads;
    for (unsigned thread = 0; thread != cache_threads; ++thread) {
      threads.emplace_back([&, thread] {
        std::vector<std::minstd_rand> random;
        for (unsigned client = 0; client != clients; ++client) random.emplace_back(client + 1);
        // Ten lookups of each in turn, as the coroutines do.
        for (long i = 0; i < lookups; i += 10) {
          for (unsigned client = thread; client < clients; client += cache_threads) {
            for (long j = i; j != i + 10; ++j) results[client] += find(key_of(j, client, random[client]));
          }
        }
      });
    }
    for (std::thread& each : threads) each.join();
  });
  run.expect(results[7] == expected(7, lookups), "each lookup gives the key's value");
}

CORACLE_GROWING_SCENARIO(cache_with_single_flight);
CORACLE_GROWING_SCENARIO(threads_cache_with_single_flight);
}  // namespace
