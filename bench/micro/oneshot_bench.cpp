// bench/micro/oneshot_bench.cpp -- the cost of sending a value to one, to all, and of publishing the latest.
// SPDX-License-Identifier: MIT
#include <atomic>
#include <coracle/channels/broadcast.hpp>
#include <coracle/channels/oneshot.hpp>
#include <coracle/channels/watched_value.hpp>
#include <coracle/core/promise_parts.hpp>
#include <coracle/core/sync_wait.hpp>
#include <coracle/core/task.hpp>
#include <coroutine>
#include <memory>
#include <vector>

#include "measure.hpp"

namespace {
using coracle::sync_wait;
using coracle::task;
using coracle_bench::measure;

task<> send_then_receive(long n) {
  for (long i = 0; i < n; ++i) {
    auto [reply, answer] = coracle::oneshot<long>();
    static_cast<void>(reply.send(i));
    coracle_bench::need(co_await answer.recv());
  }
}
void oneshot_send_then_recv(benchmark::State& state) {
  measure(state, 1'000'000, [](long n) { sync_wait(send_then_receive(n)); });
}
/// The floor: what a oneshot replaces, a shared allocation and a flag.
task<> pass_through_shared_memory(long n) {
  for (long i = 0; i < n; ++i) {
    auto reply = std::make_shared<std::atomic<long>>(-1);
    auto answer = reply;
    reply->store(i, std::memory_order_release);
    reply.reset();
    coracle_bench::need(answer->load(std::memory_order_acquire));
  }
  co_return;
}
void floor_oneshot_send_then_recv(benchmark::State& state) {
  measure(state, 1'000'000, [](long n) { sync_wait(pass_through_shared_memory(n)); });
}

/// A detached coroutine that receives a value.
struct waiting {
  struct promise_type : coracle::part::starts_eagerly,
                        coracle::part::returns<void, coracle::part::terminates_on_error>,
                        coracle::part::frees_itself,
                        coracle::part::awaits_anything,
                        coracle::recycled_frames {
    waiting get_return_object() const noexcept { return {}; }
  };
};
waiting receive(coracle::oneshot_receiver<long> mine) { coracle_bench::need(co_await mine.recv()); }
/// Includes the receiving coroutine: a frame, a suspension, a wake-up.
void oneshot_recv_then_send(benchmark::State& state) {
  measure(state, 1'000'000, [](long n) {
    for (long i = 0; i < n; ++i) {
      auto [reply, answer] = coracle::oneshot<long>();
      receive(std::move(answer));
      static_cast<void>(reply.send(i));
    }
  });
}

waiting subscribe(coracle::broadcast_subscription<long> mine) {
  while (auto value = co_await mine.recv()) coracle_bench::need(*value);
}
/// One value for each of `Subscribers`, all of which wait; one operation is one value for one subscriber.
template <int Subscribers>
void broadcast_to_waiting(benchmark::State& state) {
  coracle::broadcast<long> values{16};
  for (int i = 0; i != Subscribers; ++i) subscribe(values.subscribe());
  coracle_bench::measure_each(state, 1'000'000 / Subscribers, Subscribers, [&](long n) {
    for (long i = 0; i < n; ++i) values.send(i);
  });
}
void broadcast_to_1_waiting(benchmark::State& state) { broadcast_to_waiting<1>(state); }
void broadcast_to_16_waiting(benchmark::State& state) { broadcast_to_waiting<16>(state); }

/// Sends sixteen values, then receives them without waiting; one operation is one value.
task<> send_and_drain(long batches) {
  coracle::broadcast<long> values{16};
  auto mine = values.subscribe();
  for (long b = 0; b < batches; ++b) {
    for (long i = 0; i < 16; ++i) values.send(i);
    for (long i = 0; i < 16; ++i) coracle_bench::need((co_await mine.recv()).value());
  }
}
void broadcast_send_then_recv(benchmark::State& state) {
  coracle_bench::measure_each(state, 65536, 16, [](long n) { sync_wait(send_and_drain(n)); });
}

waiting observe(coracle::value_observer<long> mine) {
  while (const auto value = co_await mine.changed()) coracle_bench::need(*value);
}
void watch_set_and_see(benchmark::State& state) {
  coracle::watched_value<long> value{0};
  observe(value.observe());
  measure(state, 1'000'000, [&](long n) {
    for (long i = 0; i < n; ++i) value.set(i);
  });
}
void watch_get(benchmark::State& state) {
  coracle::watched_value<long> value{0};
  measure(state, 1'000'000, [&](long n) {
    for (long i = 0; i < n; ++i) coracle_bench::need(*value.get());
  });
}

CORACLE_BENCH(oneshot_send_then_recv);
CORACLE_BENCH(floor_oneshot_send_then_recv);
CORACLE_BENCH(oneshot_recv_then_send);
CORACLE_BENCH(broadcast_to_1_waiting);
CORACLE_BENCH(broadcast_to_16_waiting);
CORACLE_BENCH(broadcast_send_then_recv);
CORACLE_BENCH(watch_set_and_see);
CORACLE_BENCH(watch_get);
}  // namespace
