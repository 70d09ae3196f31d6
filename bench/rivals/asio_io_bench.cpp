// bench/rivals/asio_io_bench.cpp -- timers and sockets of Boost.Asio.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ip/udp.hpp>
#include <boost/asio/local/connect_pair.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <vector>

#include "../micro/measure.hpp"
#include "../micro/random_delays.hpp"
#include "../micro/resident_bytes.hpp"
#include "asio.hpp"

namespace {
namespace asio = boost::asio;
using asio::awaitable;
using asio::deferred;
using asio::steady_timer;
using asio::ip::tcp;
using asio::ip::udp;
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

/// Starts a million timers and cancels them all, which calls their handlers.
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
/// All deadlines have passed, so nothing waits for the clock; the queue still delivers them in order.
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

awaitable<void> sleep(long n) {
  steady_timer timer{co_await asio::this_coro::executor};
  for (long i = 0; i < n; ++i) {
    timer.expires_after(std::chrono::microseconds(20));
    co_await timer.async_wait(deferred);
  }
}
void asio_io_sleep_20_us(benchmark::State& state) {
  asio::io_context io{1};
  measure(state, 1'000, [&io](long n) { run_on(io, sleep(n)); });
}

awaitable<void> median_lateness(nanoseconds& median) {
  steady_timer timer{co_await asio::this_coro::executor};
  std::vector<nanoseconds> late;
  for (int i = 0; i != 200; ++i) {
    const auto end = steady_timer::clock_type::now() + std::chrono::milliseconds(1);
    timer.expires_at(end);
    co_await timer.async_wait(deferred);
    late.push_back(steady_timer::clock_type::now() - end);
  }
  std::nth_element(late.begin(), late.begin() + 100, late.end());
  median = late[100];
}
void asio_lateness_of_1ms_on_io_service(benchmark::State& state) {
  asio::io_context io{1};
  for (auto _ : state) {
    nanoseconds median{};
    run_on(io, median_lateness(median));
    state.SetIterationTime(std::chrono::duration<double>(median).count());
  }
}

[[gnu::noinline]] awaitable<void> sleep_once(nanoseconds delay) {
  steady_timer timer{co_await asio::this_coro::executor, delay};
  co_await timer.async_wait(deferred);
}
double bytes_of_a_sleeper() {
  asio::io_context io{1};
  const long before = coracle_bench::resident_bytes();
  for (std::size_t i = 0; i != million; ++i) {
    asio::co_spawn(io, sleep_once(std::chrono::hours(1) + std::chrono::microseconds(i)), asio::detached);
  }
  io.poll();
  return static_cast<double>(coracle_bench::resident_bytes() - before) / million;
}
void asio_bytes_per_sleeping_task(benchmark::State& state) {
  coracle_bench::show_bytes(state, bytes_of_a_sleeper);
}

// ---- an echo: each side waits for the other ------------------------------------------------------------

template <class Socket>
awaitable<void> answer(Socket& server, long n) {
  char byte = 0;
  for (long i = 0; i < n; ++i) {
    co_await server.async_read_some(asio::buffer(&byte, 1), deferred);
    co_await server.async_write_some(asio::buffer(&byte, 1), deferred);
  }
}
template <class Socket>
awaitable<void> ask(Socket& client, long n) {
  char byte = 0;
  for (long i = 0; i < n; ++i) {
    co_await client.async_write_some(asio::buffer(&byte, 1), deferred);
    co_await client.async_read_some(asio::buffer(&byte, 1), deferred);
  }
}
template <class Socket>
void ask_and_answer(benchmark::State& state, asio::io_context& io, Socket& client, Socket& server) {
  measure(state, 5'000, [&](long n) {
    asio::co_spawn(io, answer(server, n), asio::detached);
    run_on(io, ask(client, n));
  });
}
void asio_io_echo(benchmark::State& state) {
  asio::io_context io{1};
  asio::local::stream_protocol::socket client{io}, server{io};
  asio::local::connect_pair(client, server);
  ask_and_answer(state, io, client, server);
}

tcp::acceptor listening(asio::io_context& io) {
  return {io, tcp::endpoint{asio::ip::address_v4::loopback(), 0}};
}
/// Two ends of a TCP connection over the loopback interface.
struct connection {
  asio::io_context io{1};
  tcp::socket client{io}, server{io};

  connection() {
    tcp::acceptor listener = listening(io);
    client.connect(listener.local_endpoint());
    listener.accept(server);
    for (tcp::socket* each : {&client, &server}) each->set_option(tcp::no_delay{true});
  }
};
void asio_tcp_round_trip(benchmark::State& state) {
  connection its;
  ask_and_answer(state, its.io, its.client, its.server);
}

// ---- operations that need not wait ---------------------------------------------------------------------

awaitable<void> send_and_receive(connection& its, long n) {
  char byte = 0;
  for (long i = 0; i < n; ++i) {
    co_await its.client.async_write_some(asio::buffer(&byte, 1), deferred);
    co_await its.server.async_read_some(asio::buffer(&byte, 1), deferred);
  }
}
void asio_tcp_send_then_receive(benchmark::State& state) {
  connection its;
  measure(state, 10'000, [&its](long n) { run_on(its.io, send_and_receive(its, n)); });
}

awaitable<void> connect_and_close(tcp::acceptor& listener, long n) {
  for (long i = 0; i < n; ++i) {
    tcp::socket client{listener.get_executor()};
    co_await client.async_connect(listener.local_endpoint(), deferred);
    const tcp::socket server = co_await listener.async_accept(deferred);
  }
}
void asio_tcp_connect_accept_close(benchmark::State& state) {
  asio::io_context io{1};
  tcp::acceptor listener = listening(io);
  measure(state, 1'000, [&](long n) { run_on(io, connect_and_close(listener, n)); });
}

awaitable<void> send_and_receive_datagrams(udp::socket& receiver, udp::socket& sender, long n) {
  char bytes[64] = {};
  const udp::endpoint to = receiver.local_endpoint();
  udp::endpoint from;
  for (long i = 0; i < n; ++i) {
    co_await sender.async_send_to(asio::buffer(bytes), to, deferred);
    co_await receiver.async_receive_from(asio::buffer(bytes), from, deferred);
  }
}
void asio_udp_send_to_then_recv_from(benchmark::State& state) {
  asio::io_context io{1};
  udp::socket receiver{io, udp::endpoint{asio::ip::address_v4::loopback(), 0}}, sender{io, udp::v4()};
  measure(state, 10'000, [&](long n) { run_on(io, send_and_receive_datagrams(receiver, sender, n)); });
}

CORACLE_BENCH(asio_timer_create_cancel_io_service);
CORACLE_BENCH(asio_sleep_of_a_million);
CORACLE_BENCH(asio_io_sleep_20_us);
BENCHMARK(asio_lateness_of_1ms_on_io_service)->UseManualTime()->Iterations(1);
CORACLE_BENCH_BYTES(asio_bytes_per_sleeping_task);
CORACLE_BENCH(asio_io_echo);
CORACLE_BENCH(asio_tcp_round_trip);
CORACLE_BENCH(asio_tcp_send_then_receive);
CORACLE_BENCH(asio_tcp_connect_accept_close);
CORACLE_BENCH(asio_udp_send_to_then_recv_from);
}  // namespace
