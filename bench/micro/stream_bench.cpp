// bench/micro/stream_bench.cpp -- the cost of a pipeline, compared to a hand-written loop.
// SPDX-License-Identifier: MIT
#include <coracle/core/sync_wait.hpp>
#include <coracle/core/task.hpp>
#include <coracle/generators/async_generator.hpp>
#include <coracle/streams/buffered.hpp>
#include <coracle/streams/ends.hpp>
#include <coracle/streams/merge.hpp>
#include <coracle/streams/stages.hpp>

#include "measure.hpp"

namespace {
namespace streams = coracle::streams;
using coracle::sync_wait;
using coracle::task;
using coracle_bench::measure;

[[gnu::noinline]] coracle::async_generator<long> opaque_numbers(long n) {
  for (long i = 0; i < n; ++i) co_yield i;
}
constexpr auto twice = [](long i) { return 2 * i; };
constexpr auto is_even = [](long i) { return i % 2 == 0; };

void stream_map_filter_take(benchmark::State& state) {
  measure(state, 10'000'000, [](long n) {
    long sum = 0;
    const auto add = [&sum](long i) { coracle_bench::need(sum += i); };
    sync_wait(opaque_numbers(n + 1) | streams::map(twice) | streams::filter(is_even) |
              streams::take(static_cast<std::size_t>(n)) | streams::for_each(add));
  });
}
task<> by_hand(long n) {
  auto numbers = opaque_numbers(n + 1);
  long sum = 0, taken = 0;
  while (taken != n) {
    const long* const each = co_await numbers.next();
    if (!each) break;
    const long doubled = twice(*each);
    if (!is_even(doubled)) continue;
    ++taken;
    coracle_bench::need(sum += doubled);
  }
}
void floor_stream_map_filter_take(benchmark::State& state) {
  measure(state, 10'000'000, [](long n) { sync_wait(by_hand(n)); });
}

void stream_for_each(benchmark::State& state) {
  measure(state, 10'000'000, [](long n) {
    long sum = 0;
    sync_wait(opaque_numbers(n) | streams::for_each([&sum](long i) { coracle_bench::need(sum += i); }));
  });
}
void stream_chunk_16(benchmark::State& state) {
  measure(state, 10'000'000, [](long n) {
    const auto size = [](const std::vector<long>& c) { coracle_bench::need(static_cast<long>(c.size())); };
    sync_wait(opaque_numbers(n) | streams::chunk(16) | streams::for_each(size));
  });
}
/// The source fills the ring while the consumer, outside any executor, empties it.
void stream_buffered_16(benchmark::State& state) {
  measure(state, 1'000'000, [](long n) {
    sync_wait(opaque_numbers(n) | streams::buffered(16) |
              streams::for_each([](long i) { coracle_bench::need(i); }));
  });
}
void stream_buffered_16_tasks(benchmark::State& state) {
  measure(state, 1'000'000, [](long n) {
    const auto work = [](long i) -> task<long> { co_return i; };
    sync_wait(opaque_numbers(n) | streams::map(work) | streams::buffered(16) |
              streams::for_each([](long i) { coracle_bench::need(i); }));
  });
}
void stream_merge_2(benchmark::State& state) {
  measure(state, 1'000'000, [](long n) {
    sync_wait(streams::merge(opaque_numbers(n / 2), opaque_numbers(n / 2)) |
              streams::for_each([](long i) { coracle_bench::need(i); }));
  });
}
void stream_zip(benchmark::State& state) {
  measure(state, 1'000'000, [](long n) {
    const auto add = [](std::pair<long&, long&> both) { coracle_bench::need(both.first + both.second); };
    sync_wait(streams::zip(opaque_numbers(n), opaque_numbers(n)) | streams::for_each(add));
  });
}
/// One operation: make the pipeline, run it over ten elements, destroy it.
void stream_of_10(benchmark::State& state) {
  measure(state, 1'000'000, [](long n) {
    for (long i = 0; i < n; ++i) {
      coracle_bench::need(sync_wait(opaque_numbers(10) | streams::map(twice) |
                                    streams::fold(0L, [](long a, long b) { return a + b; })));
    }
  });
}

CORACLE_BENCH(stream_map_filter_take);
CORACLE_BENCH(floor_stream_map_filter_take);
CORACLE_BENCH(stream_for_each);
CORACLE_BENCH(stream_chunk_16);
CORACLE_BENCH(stream_buffered_16);
CORACLE_BENCH(stream_buffered_16_tasks);
CORACLE_BENCH(stream_merge_2);
CORACLE_BENCH(stream_zip);
CORACLE_BENCH(stream_of_10);
}  // namespace
