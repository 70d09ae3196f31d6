// tests/browser/program.cpp -- to look at: a deadlock, 10,000 coroutines, schedulers, free frames, long turns
// SPDX-License-Identifier: MIT
#include <chrono>
#include <coracle/channels/channel.hpp>
#include <coracle/compose/async_scope.hpp>
#include <coracle/compose/when_all.hpp>
#include <coracle/core/frame_memory.hpp>
#include <coracle/core/task.hpp>
#include <coracle/exec/static_thread_pool.hpp>
#include <coracle/inspect/inspector.hpp>
#include <coracle/io/io_service.hpp>
#include <coracle/net/ipv4_address.hpp>
#include <coracle/net/ipv4_endpoint.hpp>
#include <coracle/net/socket.hpp>
#include <coracle/sync/async_manual_reset_event.hpp>
#include <coracle/sync/async_mutex.hpp>
#include <coracle/time/sleep.hpp>
#include <cstdio>

namespace {
using namespace std::chrono_literals;
using coracle::task;

coracle::async_mutex savings, checking;
coracle::async_manual_reset_event both_hold_one, opened;
coracle::channel<int> orders{4};

task<> debit(coracle::async_mutex& from, coracle::async_mutex& to) {
  const auto mine = co_await from.scoped_lock_async();
  co_await both_hold_one;
  const auto other = co_await to.scoped_lock_async();
}
task<> credit(coracle::async_mutex& from, coracle::async_mutex& to) {
  const auto mine = co_await from.scoped_lock_async();
  both_hold_one.set();
  const auto other = co_await to.scoped_lock_async();
}
task<> customer() { co_await opened; }
task<> take_orders() {
  const auto order = co_await orders.recv();
  static_cast<void>(order);
}
/// Keeps its thread for 50 ms, again and again.
task<> compute_totals(coracle::static_thread_pool& pool) {
  co_await pool.schedule();
  for (;;) {
    const auto end = std::chrono::steady_clock::now() + 50ms;
    while (std::chrono::steady_clock::now() < end) {
    }
    co_await coracle::sleep_for(200ms);
  }
}
task<> close_in_an_hour() { co_await coracle::sleep_for(1h); }

task<> serve(coracle::io_service& io) {
  auto listener = coracle::net::socket::create_tcpv4(io);
  listener.bind(coracle::net::ipv4_endpoint{coracle::net::ipv4_address::loopback(), 0});
  listener.listen();
  auto accepted = coracle::net::socket::create_tcpv4(io);
  co_await listener.accept(accepted);
}

task<> run(coracle::io_service& io, coracle::static_thread_pool& pool) {
  coracle::async_scope customers;
  for (int i = 0; i != 10'000; ++i) customers.spawn(customer());
  co_await coracle::when_all(serve(io), take_orders(), close_in_an_hour(), compute_totals(pool),
                             debit(savings, checking), credit(checking, savings));
  co_await customers.join();
}
}  // namespace

/// Runs until it is killed.
int main() {
  const coracle::inspector here;
  std::puts(here.url().c_str());
  std::fflush(stdout);
  coracle::static_thread_pool pool{2};
  coracle::reserve_frame_memory(1000, 5);
  coracle::io_service io;
  io.run(run(io, pool));
}
