// bench/micro/channel_bench.cpp -- the cost of an element passed through a channel, and of a select.
// SPDX-License-Identifier: MIT
#include <atomic>
#include <coracle/channels/channel.hpp>
#include <coracle/channels/unbounded_channel.hpp>
#include <coracle/compose/select.hpp>
#include <coracle/compose/when_all.hpp>
#include <coracle/core/sync_wait.hpp>
#include <coracle/core/task.hpp>
#include <coracle/exec/static_thread_pool.hpp>
#include <memory>
#include <thread>
#include <vector>

#include "measure.hpp"

namespace {
using coracle::channel;
using coracle::spsc_channel;
using coracle::static_thread_pool;
using coracle::task;
using coracle_bench::measure;

constexpr std::size_t capacity = 1024;

template <class Channel>
task<> produce(static_thread_pool& pool, Channel& to, long n) {
  co_await pool.schedule();
  for (long i = 0; i < n; ++i) co_await to.send(i);
}
template <class Channel>
task<> consume(static_thread_pool& pool, Channel& from, long n, long& sum) {
  co_await pool.schedule();
  for (long i = 0; i < n; ++i) sum += *co_await from.recv();
}
template <class Channel = channel<long>>
void exchange(benchmark::State& state, static_thread_pool& senders, static_thread_pool& receivers,
              int producers, int consumers, std::size_t room, long batch) {
  Channel ch{room};
  std::vector<long> sums(static_cast<std::size_t>(consumers));
  measure(state, batch, [&](long n) {
    std::vector<task<>> all;
    for (int i = 0; i != producers; ++i) all.push_back(produce(senders, ch, n / producers));
    for (long& sum : sums) all.push_back(consume(receivers, ch, n / consumers, sum));
    coracle::sync_wait(coracle::when_all(std::move(all)));
  });
  benchmark::DoNotOptimize(sums.data());
}

void channel_1p1c_one_thread(benchmark::State& state) {
  static_thread_pool pool{1};
  exchange<spsc_channel<long>>(state, pool, pool, 1, 1, capacity, 1'000'000);
}
void channel_1p1c_two_threads(benchmark::State& state) {
  static_thread_pool one{1}, two{1};
  exchange<spsc_channel<long>>(state, one, two, 1, 1, capacity, 1'000'000);
}
void shared_channel_1p1c_two_threads(benchmark::State& state) {
  static_thread_pool one{1}, two{1};
  exchange(state, one, two, 1, 1, capacity, 1'000'000);
}
void channel_4p1c_one_thread(benchmark::State& state) {
  static_thread_pool pool{1};
  exchange(state, pool, pool, 4, 1, capacity, 1'000'000);
}
void channel_4p1c_two_threads(benchmark::State& state) {
  static_thread_pool one{1}, two{1};
  exchange(state, one, two, 4, 1, capacity, 1'000'000);
}
void channel_4p4c_pool_of_2(benchmark::State& state) {
  static_thread_pool pool{2};
  exchange(state, pool, pool, 4, 4, capacity, 1'000'000);
}
void channel_rendezvous_one_thread(benchmark::State& state) {
  static_thread_pool pool{1};
  exchange(state, pool, pool, 1, 1, 0, 1'000'000);
}

/// What no queue can do without; one element after the other, where a compiler would move eight at a time.
struct bare_ring {
  std::unique_ptr<long[]> slots{new long[capacity]};
  std::size_t first = 0, last = 0;
};
void floor_channel_1p1c_one_thread(benchmark::State& state) {
  bare_ring ring;
  long sum = 0;
  measure(state, 1'000'000, [&](long n) {
    for (long done = 0; done < n; done += static_cast<long>(capacity)) {
      for (std::size_t i = 0; i != capacity; ++i) {
        coracle_bench::need(ring.slots[ring.last++ % capacity] = static_cast<long>(i));
      }
      for (std::size_t i = 0; i != capacity; ++i) {
        coracle_bench::need(sum += ring.slots[ring.first++ % capacity]);
      }
    }
  });
}
/// Between two threads that never sleep: each index has a cache line of its own, and is read by the other
/// side only when what that knew of it is used up.
void floor_channel_1p1c_two_threads(benchmark::State& state) {
  struct alignas(64) index {
    std::atomic<std::size_t> at{0};
  };
  const std::unique_ptr<long[]> slots{new long[capacity]};
  index first, last;
  measure(state, 1'000'000, [&](long n) {
    const auto count = static_cast<std::size_t>(n);
    const std::size_t begin = last.at.load(std::memory_order_relaxed);
    std::thread sender{[&] {
      std::size_t taken = begin;
      for (std::size_t i = begin; i != begin + count; ++i) {
        while (i - taken == capacity) taken = first.at.load(std::memory_order_acquire);
        slots[i % capacity] = static_cast<long>(i);
        last.at.store(i + 1, std::memory_order_release);
      }
    }};
    long sum = 0;
    std::size_t sent = begin;
    for (std::size_t i = begin; i != begin + count; ++i) {
      while (i == sent) sent = last.at.load(std::memory_order_acquire);
      sum += slots[i % capacity];
      first.at.store(i + 1, std::memory_order_release);
    }
    sender.join();
    coracle_bench::need(sum);
  });
}
/// As on one thread, with the two locked operations of a queue that many threads share.
void floor_channel_4p1c_one_thread(benchmark::State& state) {
  bare_ring ring;
  std::atomic<unsigned> word{0};
  long sum = 0;
  const auto locked = [&word](auto change) {
    unsigned open = 0;
    word.compare_exchange_strong(open, 1, std::memory_order_acquire, std::memory_order_relaxed);
    change();
    word.store(0, std::memory_order_release);
  };
  measure(state, 1'000'000, [&](long n) {
    for (long done = 0; done < n; done += static_cast<long>(capacity)) {
      for (std::size_t i = 0; i != capacity; ++i) {
        locked([&] { ring.slots[ring.last++ % capacity] = static_cast<long>(i); });
      }
      for (std::size_t i = 0; i != capacity; ++i) {
        locked([&] { sum += ring.slots[ring.first++ % capacity]; });
      }
    }
    coracle_bench::need(sum);
  });
}

void unbounded_channel_send_recv(benchmark::State& state) {
  coracle::unbounded_channel<long> ch;
  long sum = 0;
  const auto consume_all = [&](long n) -> task<> {
    for (long done = 0; done < n; done += static_cast<long>(capacity)) {
      for (std::size_t i = 0; i != capacity; ++i) ch.send(static_cast<long>(i));
      for (std::size_t i = 0; i != capacity; ++i) sum += *co_await ch.recv();
    }
  };
  measure(state, 1'000'000, [&](long n) { coracle::sync_wait(consume_all(n)); });
  benchmark::DoNotOptimize(sum);
}

/// One of two channels has an element; beside it, the same element received without a choice.
void select_of_two_ready(benchmark::State& state) {
  channel<long> one{1}, two{1};
  long sum = 0;
  const auto choose = [&](long n) -> task<> {
    for (long i = 0; i < n; ++i) {
      static_cast<void>(two.try_send(i));
      const auto chosen = co_await coracle::select(one.recv(), two.recv());
      sum += *std::get<1>(chosen);
    }
  };
  measure(state, 1'000'000, [&](long n) { coracle::sync_wait(choose(n)); });
  benchmark::DoNotOptimize(sum);
}
void floor_select_of_two_ready(benchmark::State& state) {
  channel<long> two{1};
  long sum = 0;
  const auto receive = [&](long n) -> task<> {
    for (long i = 0; i < n; ++i) {
      static_cast<void>(two.try_send(i));
      sum += *co_await two.recv();
    }
  };
  measure(state, 1'000'000, [&](long n) { coracle::sync_wait(receive(n)); });
  benchmark::DoNotOptimize(sum);
}
/// A select that waits, against a sender.
void select_of_two_waiting(benchmark::State& state) {
  static_thread_pool pool{1};
  channel<long> one{0}, two{0};
  long sum = 0;
  const auto choose = [&](long n) -> task<> {
    co_await pool.schedule();
    for (long i = 0; i < n; ++i) {
      const auto chosen = co_await coracle::select(one.recv(), two.recv());
      sum += chosen.index() == 0 ? *std::get<0>(chosen) : *std::get<1>(chosen);
    }
  };
  measure(state, 1'000'000,
          [&](long n) { coracle::sync_wait(coracle::when_all(choose(n), produce(pool, two, n))); });
  benchmark::DoNotOptimize(sum);
}

CORACLE_BENCH(channel_1p1c_one_thread);
CORACLE_BENCH(floor_channel_1p1c_one_thread);
CORACLE_BENCH(channel_1p1c_two_threads);
CORACLE_BENCH(floor_channel_1p1c_two_threads);
CORACLE_BENCH(shared_channel_1p1c_two_threads);
CORACLE_BENCH(channel_4p1c_one_thread);
CORACLE_BENCH(floor_channel_4p1c_one_thread);
CORACLE_BENCH(channel_4p1c_two_threads);
CORACLE_BENCH(channel_4p4c_pool_of_2);
CORACLE_BENCH(channel_rendezvous_one_thread);
CORACLE_BENCH(unbounded_channel_send_recv);
CORACLE_BENCH(select_of_two_ready);
CORACLE_BENCH(floor_select_of_two_ready);
CORACLE_BENCH(select_of_two_waiting);
}  // namespace
