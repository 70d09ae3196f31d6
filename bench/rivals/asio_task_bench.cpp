// bench/rivals/asio_task_bench.cpp -- awaits, hops, children and channels of Boost.Asio.
// SPDX-License-Identifier: MIT
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/experimental/channel.hpp>
#include <boost/asio/experimental/concurrent_channel.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/version.hpp>

#include "../micro/measure.hpp"
#include "asio.hpp"

namespace {
namespace asio = boost::asio;
using asio::awaitable;
using asio::deferred;
using boost::system::error_code;
using coracle_bench::measure;
using coracle_bench::measure_each;
using coracle_bench::run_on;

[[maybe_unused]] const bool said = (benchmark::AddCustomContext("asio", BOOST_LIB_VERSION), true);

// ---- a child that completes immediately ----------------------------------------------------------------

[[gnu::noinline]] awaitable<int> opaque_leaf(int i) { co_return i; }
awaitable<int> inline_leaf(int i) { co_return i; }
[[gnu::noinline]] awaitable<void> void_leaf() { co_return; }
[[gnu::noinline]] awaitable<long> chain(int depth) {
  if (depth == 0) co_return 0;
  const long below = co_await chain(depth - 1);
  co_return below + 1;
}

awaitable<void> await_opaque(long n) {
  long sum = 0;
  for (long i = 0; i < n; ++i) sum += co_await opaque_leaf(static_cast<int>(i));
  coracle_bench::need(sum);
}
awaitable<void> await_inline(long n) {
  long sum = 0;
  for (long i = 0; i < n; ++i) sum += co_await inline_leaf(static_cast<int>(i));
  coracle_bench::need(sum);
}
awaitable<void> await_void(long n) {
  for (long i = 0; i < n; ++i) co_await void_leaf();
}
awaitable<void> chains(long n, int depth) {
  long sum = 0;
  for (long i = 0; i < n; ++i) sum += co_await chain(depth);
  coracle_bench::need(sum);
}

void asio_await_opaque(benchmark::State& state) {
  asio::io_context io{1};
  measure(state, 1'000'000, [&io](long n) { run_on(io, await_opaque(n)); });
}
void asio_await_inline(benchmark::State& state) {
  asio::io_context io{1};
  measure(state, 1'000'000, [&io](long n) { run_on(io, await_inline(n)); });
}
void asio_await_void(benchmark::State& state) {
  asio::io_context io{1};
  measure(state, 1'000'000, [&io](long n) { run_on(io, await_void(n)); });
}
void asio_chain_1000(benchmark::State& state) {
  asio::io_context io{1};
  measure_each(state, 200, 1000, [&io](long n) { run_on(io, chains(n, 1000)); });
}
void asio_chain_10(benchmark::State& state) {
  asio::io_context io{1};
  measure_each(state, 20'000, 10, [&io](long n) { run_on(io, chains(n, 10)); });
}

// ---- from one thread to another ------------------------------------------------------------------------

awaitable<void> hop(long n) {
  for (long i = 0; i < n; ++i) co_await asio::post(deferred);
}
void asio_io_schedule(benchmark::State& state) {
  asio::io_context io{1};
  measure(state, 1'000'000, [&io](long n) { run_on(io, hop(n)); });
}
void measure_hops(benchmark::State& state, std::size_t threads) {
  asio::thread_pool pool{threads};
  measure(state, 200'000, [&pool](long n) { asio::co_spawn(pool, hop(n), asio::use_future).get(); });
}
void asio_hop_pool_of_1(benchmark::State& state) { measure_hops(state, 1); }
void asio_hop_pool_of_2(benchmark::State& state) { measure_hops(state, 2); }

awaitable<void> ping_pong(asio::thread_pool& one, asio::thread_pool& other, long n) {
  for (long i = 0; i < n; ++i) {
    co_await asio::post(asio::bind_executor(other, deferred));
    co_await asio::post(asio::bind_executor(one, deferred));
  }
}
void asio_ping_pong_two_pools(benchmark::State& state) {
  asio::thread_pool one{1}, other{1};
  measure_each(state, 20'000, 2,
               [&](long n) { asio::co_spawn(one, ping_pong(one, other, n), asio::use_future).get(); });
}

void asio_strand_hop(benchmark::State& state) {
  asio::thread_pool pool{1};
  const auto place = asio::make_strand(pool);
  measure(state, 200'000, [&place](long n) { asio::co_spawn(place, hop(n), asio::use_future).get(); });
}
using strand = asio::strand<asio::thread_pool::executor_type>;
awaitable<void> enter(asio::thread_pool& pool, strand& place, long n, long& count) {
  for (long i = 0; i < n; ++i) {
    co_await asio::post(asio::bind_executor(place, deferred));
    ++count;
    co_await asio::post(asio::bind_executor(pool, deferred));
  }
}
void asio_strand_contended_pool_of_2(benchmark::State& state) {
  asio::thread_pool pool{2};
  strand place = asio::make_strand(pool);
  long count = 0;
  measure(state, 100'000, [&](long n) {
    auto one = asio::co_spawn(pool, enter(pool, place, n / 2, count), asio::use_future);
    asio::co_spawn(pool, enter(pool, place, n / 2, count), asio::use_future).get();
    one.get();
  });
  coracle_bench::need(count);
}

// ---- children ------------------------------------------------------------------------------------------

[[gnu::noinline]] awaitable<void> count(long& counter) {
  ++counter;
  co_return;
}
/// In batches of a thousand, because they end only when the io_context runs them.
void asio_scope_spawn_and_end(benchmark::State& state) {
  asio::io_context io{1};
  long counter = 0;
  measure_each(state, 100, 1000, [&](long batches) {
    for (; batches != 0; --batches) {
      for (int i = 0; i != 1000; ++i) asio::co_spawn(io, count(counter), asio::detached);
      io.restart();
      io.run();
    }
  });
  coracle_bench::need(counter);
}

awaitable<long> one() { co_return 1; }
awaitable<void> all_of_two(long n) {
  using namespace asio::experimental::awaitable_operators;
  long sum = 0;
  for (long i = 0; i < n; ++i) {
    const auto [a, b] = co_await (one() && one());
    sum += a + b;
  }
  coracle_bench::need(sum);
}
void asio_when_all_of_two(benchmark::State& state) {
  asio::io_context io{1};
  measure(state, 100'000, [&io](long n) { run_on(io, all_of_two(n)); });
}

// ---- channels ------------------------------------------------------------------------------------------

constexpr std::size_t capacity = 1024;
/// For one thread; and for many.
using channel = asio::experimental::channel<void(error_code, long)>;
using concurrent_channel = asio::experimental::concurrent_channel<void(error_code, long)>;

template <class Channel>
awaitable<void> produce(Channel& to, long n) {
  for (long i = 0; i < n; ++i) co_await to.async_send(error_code{}, i, deferred);
}
template <class Channel>
awaitable<void> consume(Channel& from, long n, long& sum) {
  for (long i = 0; i < n; ++i) sum += co_await from.async_receive(deferred);
}
void on_one_thread(benchmark::State& state, std::size_t room) {
  asio::io_context io{1};
  channel ch{io, room};
  long sum = 0;
  measure(state, 200'000, [&](long n) {
    asio::co_spawn(io, produce(ch, n), asio::detached);
    run_on(io, consume(ch, n, sum));
  });
  coracle_bench::need(sum);
}
void asio_channel_1p1c_one_thread(benchmark::State& state) { on_one_thread(state, capacity); }
void asio_channel_rendezvous_one_thread(benchmark::State& state) { on_one_thread(state, 0); }
void asio_channel_1p1c_two_threads(benchmark::State& state) {
  asio::thread_pool one{1}, two{1};
  concurrent_channel ch{one, capacity};
  long sum = 0;
  measure(state, 200'000, [&](long n) {
    auto produced = asio::co_spawn(one, produce(ch, n), asio::use_future);
    asio::co_spawn(two, consume(ch, n, sum), asio::use_future).get();
    produced.get();
  });
  coracle_bench::need(sum);
}

CORACLE_BENCH(asio_await_opaque);
CORACLE_BENCH(asio_await_inline);
CORACLE_BENCH(asio_await_void);
CORACLE_BENCH(asio_chain_1000);
CORACLE_BENCH(asio_chain_10);
CORACLE_BENCH(asio_io_schedule);
CORACLE_BENCH(asio_hop_pool_of_1);
CORACLE_BENCH(asio_hop_pool_of_2);
CORACLE_BENCH(asio_ping_pong_two_pools);
CORACLE_BENCH(asio_strand_hop);
CORACLE_BENCH(asio_strand_contended_pool_of_2);
CORACLE_BENCH(asio_scope_spawn_and_end);
CORACLE_BENCH(asio_when_all_of_two);
CORACLE_BENCH(asio_channel_1p1c_one_thread);
CORACLE_BENCH(asio_channel_rendezvous_one_thread);
CORACLE_BENCH(asio_channel_1p1c_two_threads);
}  // namespace
