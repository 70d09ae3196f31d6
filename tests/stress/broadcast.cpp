// tests/stress/broadcast.cpp -- oneshot, broadcast and watch: no value is lost, duplicated or torn.
// SPDX-License-Identifier: MIT
#include <atomic>
#include <coracle/channels/broadcast.hpp>
#include <coracle/channels/oneshot.hpp>
#include <coracle/channels/watched_value.hpp>
#include <coracle/core/sync_wait.hpp>
#include <coracle/core/task.hpp>
#include <coracle/exec/static_thread_pool.hpp>
#include <memory>
#include <thread>
#include <vector>

#include "../support/detached.hpp"
#include "../support/stress.hpp"

namespace {
using coracle_test::detached;
using sender = coracle::oneshot_sender<std::unique_ptr<int>>;
using receiver = coracle::oneshot_receiver<std::unique_ptr<int>>;

struct meetings {
  long long wrong = 0;
  long long given_back = 0;
  int rounds = 0;
};

/// Both ends of a new oneshot race: one thread sends or, every fourth time, drops its end; the other receives
/// or, every third time, drops its own.
meetings meet(int most) {
  std::vector<std::pair<sender, receiver>> all;
  for (int i = 0; i != most; ++i) all.push_back(coracle::oneshot<std::unique_ptr<int>>());
  std::atomic<long long> received{0}, broken{0}, sent{0}, back{0};
  const auto receive = [&](receiver mine) -> detached {
    try {
      received += *co_await mine.recv();
    } catch (const coracle::broken_promise&) {
      ++broken;
    }
  };
  meetings found;
  found.rounds = coracle_test::side_by_side(
      most,
      [&](int i) {
        sender mine = std::move(all[static_cast<std::size_t>(i)].first);
        if (i % 4 == 0) return;
        if (auto value = mine.send(std::make_unique<int>(1))) {
          back += **value;
        } else {
          ++sent;
        }
      },
      [&](int i) {
        receiver mine = std::move(all[static_cast<std::size_t>(i)].second);
        if (i % 3 != 0) receive(std::move(mine));
      });
  all.clear();
  long long receivers = 0, dropped = 0;
  for (int i = 0; i != found.rounds; ++i) {
    receivers += i % 3 != 0;
    dropped += i % 3 != 0 && i % 4 == 0;
  }
  found.wrong = (receivers - dropped - received) + (dropped - broken);
  found.given_back = back;
  if (sent < received) ++found.wrong;
  return found;
}

/// Only the oneshot synchronises the thread that sends and the thread that receives. Returns how many values
/// did not arrive intact.
long long hand_over(int times) {
  long long wrong = 0;
  for (int i = 0; i != times; ++i) {
    auto ends = coracle::oneshot<std::unique_ptr<int>>();
    std::atomic<bool> is_sent{false};
    std::thread other([&] {
      wrong += ends.first.send(std::make_unique<int>(i)).has_value();
      is_sent.store(true, std::memory_order_relaxed);
    });
    while (!is_sent.load(std::memory_order_relaxed)) std::this_thread::yield();
    const auto value = coracle::sync_wait(ends.second.recv());
    other.join();
    wrong += *value != i;
  }
  return wrong;
}

/// Subscribers on two pools and on a plain thread; two senders. Each receives each sender's values in order,
/// and its received and lost values add up to all values.
long long broadcast_to_all(int values) {
  coracle::static_thread_pool first{2}, second{1};
  coracle::broadcast<std::pair<int, int>> sent{16};
  std::atomic<long long> wrong{0}, ended{0};
  const auto subscribe = [&](coracle::static_thread_pool* pool,
                             coracle::broadcast_subscription<std::pair<int, int>> mine) -> detached {
    if (pool) co_await pool->schedule();
    long long seen = 0;
    int last[2] = {-1, -1};
    for (;;) {
      try {
        const auto value = co_await mine.recv();
        if (!value) break;
        ++seen;
        int& before = last[value->first];
        wrong += value->second <= before;
        before = value->second;
      } catch (const coracle::lagged& lag) {
        seen += static_cast<long long>(lag.lost());
      }
    }
    wrong += seen != 2LL * values;
    ++ended;
  };
  for (int i = 0; i != 3; ++i) subscribe(&first, sent.subscribe());
  subscribe(&second, sent.subscribe());
  subscribe(nullptr, sent.subscribe());
  std::vector<std::thread> senders;
  for (int name = 0; name != 2; ++name) {
    senders.emplace_back([&, name] {
      for (int i = 0; i != values; ++i) sent.send({name, i});
    });
  }
  for (std::thread& each : senders) each.join();
  sent.close();
  while (ended != 5) std::this_thread::yield();
  return wrong;
}

/// Observers see increasing values, none of them torn, and the last one.
long long watch_grow(int values) {
  coracle::static_thread_pool pool{2};
  auto value = std::make_unique<coracle::watched_value<std::vector<int>>>(std::vector<int>(8, 0));
  std::atomic<long long> wrong{0}, ended{0};
  const auto observe = [&](coracle::value_observer<std::vector<int>> mine, bool on_pool) -> detached {
    if (on_pool) co_await pool.schedule();
    int last = 0;
    while (const auto latest = co_await mine.changed()) {
      for (const int each : *latest) wrong += each != latest->front();
      wrong += latest->front() <= last;
      last = latest->front();
    }
    wrong += last != values;
    ++ended;
  };
  for (int i = 0; i != 4; ++i) observe(value->observe(), i != 0);
  std::thread reader([&, mine = value->observe()]() mutable {
    for (int i = 0; i != values; ++i) {
      const auto latest = mine.get();
      wrong += latest->front() != latest->back();
    }
  });
  for (int i = 1; i <= values; ++i) value->set(std::vector<int>(8, i));
  reader.join();
  value.reset();
  while (ended != 4) std::this_thread::yield();
  return wrong;
}
}  // namespace

int main(int argc, char** argv) {
  coracle_test::stress run("broadcast", argc, argv, 20'000);
  const meetings found = meet(10 * run.int_count());
  run.expect("oneshots wrong", found.wrong, 0);
  run.expect("values handed over wrong", hand_over(200), 0);
  run.expect("broadcast values wrong", broadcast_to_all(run.int_count()), 0);
  run.expect("watched values wrong", watch_grow(run.int_count()), 0);
  return run.finish();
}
