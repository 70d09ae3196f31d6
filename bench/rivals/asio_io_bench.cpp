// bench/rivals/asio_io_bench.cpp -- timers and sockets of Boost.Asio.
// SPDX-License-Identifier: MIT
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <vector>

#include "../micro/measure.hpp"
#include "../micro/random_delays.hpp"
#include "asio.hpp"

namespace {
namespace asio = boost::asio;
using asio::awaitable;
using asio::deferred;
using asio::steady_timer;
using asio::ip::tcp;
using boost::system::error_code;
using coracle_bench::measure;
using coracle_bench::million;
using coracle_bench::random_delays;
using coracle_bench::run_on;
using std::chrono::nanoseconds;

// ---- timers --------------------------------------------------------------------------------------------

std::vector<steady_timer> timers(asio::io_context& io) {
  std::vector<steady_timer> all;
  all.reserve(million);
  for (std::size_t i = 0; i != million; ++i) all.emplace_back(io);
  return all;
}

/// A million are set, all are cancelled, and their handlers hear of it.
void asio_timer_create_cancel_io_service(benchmark::State& state) {
  asio::io_context io{1};
  const auto after = random_delays(std::chrono::seconds(60));
  std::vector<steady_timer> all = timers(io);
  long cancelled = 0;
  measure(state, million, [&](long) {
    const auto now = steady_timer::clock_type::now() + std::chrono::seconds(60);
    for (std::size_t i = 0; i != million; ++i) {
      all[i].expires_at(now + after[i]);
      all[i].async_wait([&cancelled](error_code) { ++cancelled; });
    }
    for (steady_timer& each : all) each.cancel();
    io.restart();
    io.poll();
  });
  coracle_bench::need(cancelled);
}

awaitable<void> sleep_repeatedly(steady_timer& timer, steady_timer::time_point at, nanoseconds delay,
                                 long times) {
  for (long i = 0; i != times; ++i) {
    timer.expires_at(at += delay);
    co_await timer.async_wait(deferred);
  }
}
/// All moments are past, so that nobody waits for the clock; the queue gives them out in their order all the same.
void asio_sleep_of_a_million(benchmark::State& state) {
  asio::io_context io{1};
  const auto after = random_delays(std::chrono::seconds(1));
  std::vector<steady_timer> all = timers(io);
  constexpr long times = 4;
  measure(state, times * static_cast<long>(million), [&](long) {
    const auto past = steady_timer::clock_type::now() - std::chrono::minutes(1);
    for (std::size_t i = 0; i != million; ++i) {
      asio::co_spawn(io, sleep_repeatedly(all[i], past, after[i], times), asio::detached);
    }
    io.restart();
    io.run();
  });
}

// ---- an echo over the loopback interface ---------------------------------------------------------------

/// Two ends of a connection.
struct connection {
  asio::io_context io{1};
  tcp::socket client{io}, server{io};

  connection() {
    tcp::acceptor listener{io, tcp::endpoint{asio::ip::address_v4::loopback(), 0}};
    client.connect(listener.local_endpoint());
    listener.accept(server);
    for (tcp::socket* each : {&client, &server}) each->set_option(tcp::no_delay{true});
  }
};

awaitable<void> answer(tcp::socket& server, long n) {
  char byte = 0;
  for (long i = 0; i < n; ++i) {
    co_await server.async_read_some(asio::buffer(&byte, 1), deferred);
    co_await server.async_write_some(asio::buffer(&byte, 1), deferred);
  }
}
awaitable<void> ask(tcp::socket& client, long n) {
  char byte = 0;
  for (long i = 0; i < n; ++i) {
    co_await client.async_write_some(asio::buffer(&byte, 1), deferred);
    co_await client.async_read_some(asio::buffer(&byte, 1), deferred);
  }
}
void asio_tcp_round_trip(benchmark::State& state) {
  connection its;
  measure(state, 5'000, [&its](long n) {
    asio::co_spawn(its.io, answer(its.server, n), asio::detached);
    run_on(its.io, ask(its.client, n));
  });
}

CORACLE_BENCH(asio_timer_create_cancel_io_service);
CORACLE_BENCH(asio_sleep_of_a_million);
CORACLE_BENCH(asio_tcp_round_trip);
}  // namespace
