// bench/micro/disruptor_bench.cpp -- sequence barriers and sequencers: one operation is one element.
// SPDX-License-Identifier: MIT
#include <atomic>
#include <coracle/compose/when_all.hpp>
#include <coracle/core/sync_wait.hpp>
#include <coracle/core/task.hpp>
#include <coracle/exec/static_thread_pool.hpp>
#include <coracle/sync/multi_producer_sequencer.hpp>
#include <coracle/sync/single_producer_sequencer.hpp>
#include <vector>

#include "measure.hpp"

namespace {
using coracle::sequence_barrier;
using coracle::task;
using coracle_bench::measure;
constexpr std::size_t ring_size = 1024;

task<> publish_and_wait(sequence_barrier<>& barrier, std::size_t first, long n) {
  for (long i = 0; i < n; ++i) {
    barrier.publish(first + static_cast<std::size_t>(i));
    co_await barrier.wait_until_published(first + static_cast<std::size_t>(i));
  }
}
void barrier_publish_and_wait(benchmark::State& state) {
  sequence_barrier<> barrier;
  std::size_t next = 0;
  measure(state, 10'000'000, [&](long n) {
    coracle::sync_wait(publish_and_wait(barrier, next, n));
    next += static_cast<std::size_t>(n);
  });
}
/// Makes the compiler assume that other threads access the objects, so that no access is optimised away.
template <class... Atomics>
void escape(Atomics&... each) {
  (benchmark::DoNotOptimize(&each), ...);
}
/// The floor for both: a store with a full fence, and a load from each side.
void floor_barrier_publish_and_wait(benchmark::State& state) {
  std::atomic<std::size_t> number{0};
  std::atomic<void*> waiters{nullptr};
  escape(number, waiters);
  measure(state, 10'000'000, [&](long n) {
    for (long i = 0; i < n; ++i) {
      number.store(static_cast<std::size_t>(i), std::memory_order_seq_cst);
      if (waiters.load(std::memory_order_seq_cst)) coracle_bench::need(i);
      coracle_bench::need(static_cast<long>(number.load(std::memory_order_acquire)));
    }
  });
}

task<> follow(sequence_barrier<>& barrier, std::size_t first, long n) {
  for (long i = 0; i < n; ++i) co_await barrier.wait_until_published(first + static_cast<std::size_t>(i));
}
task<> lead(sequence_barrier<>& barrier, std::size_t first, long n) {
  for (long i = 0; i < n; ++i) barrier.publish(first + static_cast<std::size_t>(i));
  co_return;
}
void barrier_suspend_resume(benchmark::State& state) {
  sequence_barrier<> barrier;
  std::size_t next = 0;
  measure(state, 1'000'000, [&](long n) {
    coracle::sync_wait(coracle::when_all(follow(barrier, next, n), lead(barrier, next, n)));
    next += static_cast<std::size_t>(n);
  });
}

/// The producer's side alone: the consumers have always read everything.
template <class Sequencer>
task<> claim_and_publish(Sequencer& sequencer, sequence_barrier<>& consumed, std::vector<long>& ring,
                         long n) {
  for (long i = 0; i < n; ++i) {
    const std::size_t number = co_await sequencer.claim_one();
    ring[number % ring_size] = i;
    sequencer.publish(number);
    if (number % (ring_size / 2) == 0) consumed.publish(number);
  }
}
template <class Sequencer>
task<> claim_and_publish_tens(Sequencer& sequencer, sequence_barrier<>& consumed, std::vector<long>& ring,
                              long n) {
  for (long i = 0; i < n;) {
    const auto range = co_await sequencer.claim_up_to(10);
    for (const std::size_t number : range) ring[number % ring_size] = i++;
    sequencer.publish(range);
    if (range.back() % (ring_size / 2) < 10) consumed.publish(range.back());
  }
}
template <class Sequencer>
void produce(benchmark::State& state,
             task<> (*work)(Sequencer&, sequence_barrier<>&, std::vector<long>&, long)) {
  sequence_barrier<> consumed;
  Sequencer sequencer{consumed, ring_size};
  std::vector<long> ring(ring_size);
  measure(state, 10'000'000, [&](long n) { coracle::sync_wait(work(sequencer, consumed, ring, n)); });
}
void single_producer_claim_publish(benchmark::State& state) {
  produce<coracle::single_producer_sequencer<>>(state, claim_and_publish);
}
void single_producer_tens(benchmark::State& state) {
  produce<coracle::single_producer_sequencer<>>(state, claim_and_publish_tens);
}
void multi_producer_claim_publish(benchmark::State& state) {
  produce<coracle::multi_producer_sequencer<>>(state, claim_and_publish);
}
void multi_producer_tens(benchmark::State& state) {
  produce<coracle::multi_producer_sequencer<>>(state, claim_and_publish_tens);
}
/// For each element, one store with a full fence, and one check for waiters.
void floor_single_producer_claim_publish(benchmark::State& state) {
  std::atomic<std::size_t> published{0};
  std::atomic<void*> waiters{nullptr};
  escape(published, waiters);
  std::vector<long> ring(ring_size);
  measure(state, 10'000'000, [&](long n) {
    for (long i = 0; i < n; ++i) {
      ring[static_cast<std::size_t>(i) % ring_size] = i;
      published.store(static_cast<std::size_t>(i), std::memory_order_seq_cst);
      if (waiters.load(std::memory_order_seq_cst)) coracle_bench::need(i);
    }
  });
}
/// The same, after an atomic addition that claims the sequence number.
void floor_multi_producer_claim_publish(benchmark::State& state) {
  std::atomic<std::size_t> next{0};
  std::atomic<void*> waiters{nullptr};
  escape(next, waiters);
  std::vector<std::atomic<std::size_t>> published(ring_size);
  std::vector<long> ring(ring_size);
  measure(state, 10'000'000, [&](long n) {
    for (long i = 0; i < n; ++i) {
      const std::size_t number = next.fetch_add(1, std::memory_order_relaxed);
      ring[number % ring_size] = i;
      published[number % ring_size].store(number, std::memory_order_seq_cst);
      if (waiters.load(std::memory_order_seq_cst)) coracle_bench::need(i);
    }
  });
}

template <class Sequencer>
task<> produce_on(coracle::static_thread_pool& pool, Sequencer& sequencer, std::vector<long>& ring, long n) {
  co_await pool.schedule();
  for (long i = 0; i < n;) {
    const auto range = co_await sequencer.claim_up_to(n - i < 10 ? static_cast<std::size_t>(n - i) : 10);
    for (const std::size_t number : range) ring[number % ring_size] = i++;
    sequencer.publish(range);
  }
}
auto wait(coracle::single_producer_sequencer<>& sequencer, std::size_t next) {
  return sequencer.wait_until_published(next);
}
auto wait(coracle::multi_producer_sequencer<>& sequencer, std::size_t next) {
  return sequencer.wait_until_published(next, next - 1);
}
template <class Sequencer>
task<long> consume_on(coracle::static_thread_pool& pool, Sequencer& sequencer, sequence_barrier<>& consumed,
                      std::vector<long>& ring, std::size_t next, long n) {
  co_await pool.schedule();
  long sum = 0;
  for (const std::size_t end = next + static_cast<std::size_t>(n); next != end;) {
    const std::size_t last = co_await wait(sequencer, next);
    do sum += ring[next % ring_size];
    while (next++ != last);
    consumed.publish(last);
  }
  co_return sum;
}
void single_producer_pool_of_2(benchmark::State& state) {
  coracle::static_thread_pool pool{2};
  sequence_barrier<> consumed;
  coracle::single_producer_sequencer sequencer{consumed, ring_size};
  std::vector<long> ring(ring_size);
  std::size_t next = 0;
  measure(state, 1'000'000, [&](long n) {
    coracle::sync_wait(coracle::when_all(consume_on(pool, sequencer, consumed, ring, next, n),
                                         produce_on(pool, sequencer, ring, n)));
    next += static_cast<std::size_t>(n);
  });
}
void multi_producer_pool_of_3(benchmark::State& state) {
  coracle::static_thread_pool pool{3};
  sequence_barrier<> consumed;
  coracle::multi_producer_sequencer sequencer{consumed, ring_size};
  std::vector<long> ring(ring_size);
  std::size_t next = 0;
  measure(state, 1'000'000, [&](long n) {
    coracle::sync_wait(coracle::when_all(consume_on(pool, sequencer, consumed, ring, next, n),
                                         produce_on(pool, sequencer, ring, n / 2),
                                         produce_on(pool, sequencer, ring, n - n / 2)));
    next += static_cast<std::size_t>(n);
  });
}

CORACLE_BENCH(barrier_publish_and_wait);
CORACLE_BENCH(floor_barrier_publish_and_wait);
CORACLE_BENCH(barrier_suspend_resume);
CORACLE_BENCH(single_producer_claim_publish);
CORACLE_BENCH(floor_single_producer_claim_publish);
CORACLE_BENCH(single_producer_tens);
CORACLE_BENCH(multi_producer_claim_publish);
CORACLE_BENCH(floor_multi_producer_claim_publish);
CORACLE_BENCH(multi_producer_tens);
CORACLE_BENCH(single_producer_pool_of_2);
CORACLE_BENCH(multi_producer_pool_of_3);
}  // namespace
