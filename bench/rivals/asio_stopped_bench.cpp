// bench/rivals/asio_stopped_bench.cpp -- coroutines of Boost.Asio that are cancelled where they wait.
// SPDX-License-Identifier: MIT
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/system/system_error.hpp>
#include <chrono>
#include <vector>

#include "../micro/measure.hpp"
#include "asio.hpp"

namespace {
namespace asio = boost::asio;
using namespace asio::experimental::awaitable_operators;
using asio::awaitable;
using coracle_bench::measure;
using coracle_bench::need;
using coracle_bench::run_on;
using timer = asio::steady_timer;

[[gnu::noinline]] awaitable<int> one() { co_return 1; }
/// Waits for a timer that never fires. Its cancellation is a value; or, where it is thrown, an exception.
[[gnu::noinline]] awaitable<int> wait(timer& never) {
  co_await never.async_wait(asio::as_tuple(asio::deferred));
  co_return 1;
}
[[gnu::noinline]] awaitable<int> wait_throwing(timer& never) {
  co_await never.async_wait(asio::deferred);
  co_return 1;
}
[[gnu::noinline]] awaitable<int> wait_deep(timer& never, int depth) {
  if (depth == 0) co_return co_await wait(never);
  co_return co_await wait_deep(never, depth - 1);
}

template <class Loser>
awaitable<void> races(long n, Loser loser) {
  timer never{co_await asio::this_coro::executor, timer::time_point::max()};
  long sum = 0;
  for (long i = 0; i != n; ++i) {
    const auto first = co_await (loser(never) || one());
    sum += static_cast<long>(first.index());
  }
  need(sum);
}
template <class Loser>
void measure_races(benchmark::State& state, Loser loser) {
  asio::io_context io{1};
  measure(state, 100'000, [&](long n) { run_on(io, races(n, loser)); });
}
void asio_stopped_loser(benchmark::State& state) { measure_races(state, &wait); }
void asio_stopped_loser_throwing(benchmark::State& state) { measure_races(state, &wait_throwing); }
void asio_stopped_chain_1000(benchmark::State& state) {
  asio::io_context io{1};
  const auto loser = [](timer& never) { return wait_deep(never, 998); };
  measure(state, 100'000, [&](long n) { run_on(io, races(n / 1000, loser)); });
}

/// A cancellation signal for each of the coroutines, since a signal has one slot.
void asio_stopped_children_1000(benchmark::State& state) {
  constexpr long count = 1000;
  asio::io_context io{1};
  measure(state, 100'000, [&](long n) {
    for (long done = 0; done < n; done += count) {
      std::vector<asio::cancellation_signal> signals(count);
      timer never{io, timer::time_point::max()};
      for (asio::cancellation_signal& each : signals)
        asio::co_spawn(io, wait(never), asio::bind_cancellation_slot(each.slot(), asio::detached));
      io.restart();
      io.poll();
      for (asio::cancellation_signal& each : signals) each.emit(asio::cancellation_type::terminal);
      io.run();
    }
  });
}

awaitable<void> deadlines(long n) {
  const auto executor = co_await asio::this_coro::executor;
  timer never{executor, timer::time_point::max()}, deadline{executor};
  long sum = 0;
  for (long i = 0; i != n; ++i) {
    deadline.expires_at(timer::time_point::min());
    const auto first = co_await (wait(never) || deadline.async_wait(asio::as_tuple(asio::use_awaitable)));
    sum += static_cast<long>(first.index());
  }
  need(sum);
}
void asio_stopped_at_deadline(benchmark::State& state) {
  asio::io_context io{1};
  measure(state, 100'000, [&](long n) { run_on(io, deadlines(n)); });
}

CORACLE_BENCH(asio_stopped_loser);
CORACLE_BENCH(asio_stopped_loser_throwing);
CORACLE_BENCH(asio_stopped_children_1000);
CORACLE_BENCH(asio_stopped_chain_1000);
CORACLE_BENCH(asio_stopped_at_deadline);
}  // namespace
