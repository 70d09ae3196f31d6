// bench/scenario/io_neighbours_asio.cpp -- io_neighbours.cpp with Boost.Asio. It reads no files over epoll: a
// coroutine that reads a file makes the system call itself, and then yields.
// SPDX-License-Identifier: MIT
#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ip/udp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <memory>

#include "../rivals/asio.hpp"
#include "io_neighbours.hpp"
#include "scenario.hpp"
#include "scratch_file.hpp"

namespace {
using namespace coracle_bench;
using asio::awaitable;
using asio::deferred;
using asio::ip::tcp;
using asio::ip::udp;
using steady = std::chrono::steady_clock;
using running = bool;

struct file_readers {
  file_readers(int flags, int how_many)
      : fd(::open(scratch.name().c_str(), O_RDONLY | flags)), count(how_many) {}
  file_readers(const file_readers&) = delete;
  file_readers& operator=(const file_readers&) = delete;
  ~file_readers() { ::close(fd); }
  void start(asio::io_context& io, const running& go_on) const {
    for (int i = 0; i != count; ++i) {
      asio::co_spawn(io, read_on(io, fd, 977 * static_cast<std::size_t>(i), go_on), asio::detached);
    }
  }
  static awaitable<void> read_on(asio::io_context& io, int fd, std::size_t first, const running& go_on) {
    struct alignas(read_block) block {
      char bytes[read_block];
    };
    const auto buffer = std::make_unique<block>();
    std::size_t next = first;
    while (go_on) {
      static_cast<void>(
          !::pread(fd, buffer->bytes, read_block, static_cast<off_t>(next++ % read_blocks * read_block)));
      co_await asio::post(io, deferred);
    }
  }
  scratch_file scratch{read_block * read_blocks};
  int fd, count;
};
struct udp_pair {
  explicit udp_pair(asio::io_context& io)
      : sender(io, udp::v4()), receiver(io, udp::endpoint{asio::ip::address_v4::loopback(), 0}) {}
  void start(asio::io_context& io, const running& go_on) { asio::co_spawn(io, talk(go_on), asio::detached); }
  awaitable<void> talk(const running& go_on) {
    const udp::endpoint to = receiver.local_endpoint();
    udp::endpoint from;
    std::array<char, 64> bytes{};
    while (go_on) {
      co_await sender.async_send_to(asio::buffer(bytes), to, deferred);
      co_await receiver.async_receive_from(asio::buffer(bytes), from, deferred);
    }
  }
  udp::socket sender, receiver;
};
struct tcp_stream {
  explicit tcp_stream(asio::io_context& io) : client(io), server(io) {
    tcp::acceptor listener{io, tcp::endpoint{asio::ip::address_v4::loopback(), 0}};
    client.connect(listener.local_endpoint());
    listener.accept(server);
    for (tcp::socket* each : {&client, &server}) each->set_option(tcp::no_delay{true});
  }
  void start(asio::io_context& io, const running& go_on) {
    asio::co_spawn(io, stream(go_on), asio::detached);
  }
  awaitable<void> stream(const running& go_on) {
    const auto sent = std::make_unique<std::array<char, stream_block>>();
    const auto received = std::make_unique<std::array<char, stream_block>>();
    while (go_on) {
      for (std::size_t left = co_await client.async_write_some(asio::buffer(*sent), deferred); left != 0;) {
        left -= co_await server.async_read_some(asio::buffer(received->data(), left), deferred);
      }
    }
  }
  tcp::socket client, server;
};

awaitable<void> tick_beside(asio::io_context& io, scenario& run, running& go_on) {
  asio::steady_timer timer{io};
  for (int i = 0; i != ticks; ++i) {
    const auto due = steady::now() + tick;
    timer.expires_at(due);
    co_await timer.async_wait(deferred);
    run.waited(steady::now() - due);
  }
  go_on = false;
}
awaitable<void> answer(tcp::socket& server) {
  char byte = 0;
  for (;;) {
    const auto [ended, got] =
        co_await server.async_read_some(asio::buffer(&byte, 1), asio::as_tuple(deferred));
    if (ended) break;
    co_await server.async_write_some(asio::buffer(&byte, got), deferred);
  }
}
awaitable<void> ask_beside(tcp::socket& client, scenario& run, running& go_on) {
  char byte = 0;
  for (int i = 0; i != round_trips; ++i) {
    const auto begun = steady::now();
    co_await client.async_write_some(asio::buffer(&byte, 1), deferred);
    co_await client.async_read_some(asio::buffer(&byte, 1), deferred);
    run.waited(steady::now() - begun);
  }
  client.shutdown(tcp::socket::shutdown_send);
  go_on = false;
}

template <class Neighbours>
void timer_beside(scenario& run, asio::io_context& io, Neighbours& neighbours) {
  running go_on = true;
  run.measure([&] {
    neighbours.start(io, go_on);
    run_on(io, tick_beside(io, run, go_on));
  });
}
void asio_timer_beside_file_readers(scenario& run) {
  asio::io_context io{1};
  const file_readers neighbours{0, readers};
  timer_beside(run, io, neighbours);
}
void asio_timer_beside_direct_readers(scenario& run) {
  asio::io_context io{1};
  const file_readers neighbours{O_DIRECT, direct_readers};
  timer_beside(run, io, neighbours);
}
void asio_timer_beside_udp(scenario& run) {
  asio::io_context io{1};
  udp_pair neighbours{io};
  timer_beside(run, io, neighbours);
}
void asio_timer_beside_tcp(scenario& run) {
  asio::io_context io{1};
  tcp_stream neighbours{io};
  timer_beside(run, io, neighbours);
}
void asio_round_trip_beside_file_readers(scenario& run) {
  asio::io_context io{1};
  const file_readers neighbours{0, readers};
  tcp_stream ends{io};
  running go_on = true;
  run.measure([&] {
    neighbours.start(io, go_on);
    asio::co_spawn(io, answer(ends.server), asio::detached);
    run_on(io, ask_beside(ends.client, run, go_on));
  });
}
void asio_round_trip_alone(scenario& run) {
  asio::io_context io{1};
  tcp_stream ends{io};
  running go_on = true;
  run.measure([&] {
    asio::co_spawn(io, answer(ends.server), asio::detached);
    run_on(io, ask_beside(ends.client, run, go_on));
  });
}

CORACLE_SCENARIO(asio_timer_beside_file_readers);
CORACLE_SCENARIO(asio_timer_beside_direct_readers);
CORACLE_SCENARIO(asio_timer_beside_udp);
CORACLE_SCENARIO(asio_timer_beside_tcp);
CORACLE_SCENARIO(asio_round_trip_beside_file_readers);
CORACLE_SCENARIO(asio_round_trip_alone);
}  // namespace
