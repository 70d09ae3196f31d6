// bench/scenario/io_neighbours.cpp -- a round trip and a timer on an io_service that is always busy.
// SPDX-License-Identifier: MIT
#include "io_neighbours.hpp"

#include <array>
#include <coracle/coracle.hpp>
#include <coracle/io.hpp>
#include <memory>
#include <vector>

#include "scenario.hpp"
#include "scratch_file.hpp"

namespace {
using coracle::async_scope;
using coracle::io_service;
using coracle::read_only_file;
using coracle::task;
using coracle::net::ipv4_address;
using coracle::net::ipv4_endpoint;
using coracle::net::socket;
using namespace coracle_bench;
using steady = std::chrono::steady_clock;

/// The neighbours run as long as this is true.
using running = bool;

// ---- the neighbours -----------------------------------------------------------------------------------

task<> read_on(const read_only_file& file, std::uint64_t first, const running& go_on) {
  struct alignas(read_block) block {
    char bytes[read_block];
  };
  const auto buffer = std::make_unique<block>();
  std::uint64_t next = first;
  while (go_on) co_await file.read(next++ % read_blocks * read_block, buffer->bytes, read_block);
}
struct file_readers {
  file_readers(io_service& io, coracle::file_buffering_mode mode, int count)
      : file(read_only_file::open(io, scratch.name(), coracle::file_share_mode::read, mode)), count_(count) {}
  void start(async_scope& scope, const running& go_on) const {
    for (int i = 0; i != count_; ++i) scope.spawn(read_on(file, 977 * static_cast<std::uint64_t>(i), go_on));
  }
  scratch_file scratch{read_block * read_blocks};
  read_only_file file;
  int count_;
};

struct udp_pair {
  explicit udp_pair(io_service& io) : sender(socket::create_udpv4(io)), receiver(socket::create_udpv4(io)) {
    receiver.bind(ipv4_endpoint{ipv4_address::loopback(), 0});
  }
  void start(async_scope& scope, const running& go_on) { scope.spawn(talk(go_on)); }
  task<> talk(const running& go_on) {
    const auto to = receiver.local_endpoint();
    std::array<char, 64> bytes{};
    while (go_on) {
      co_await sender.send_to(to, bytes.data(), bytes.size());
      co_await receiver.recv_from(bytes.data(), bytes.size());
    }
  }
  socket sender, receiver;
};

/// The receiver never has to wait for the sender.
struct tcp_stream {
  explicit tcp_stream(io_service& io) : client(socket::create_tcpv4(io)), server(socket::create_tcpv4(io)) {
    socket listener = socket::create_tcpv4(io);
    listener.bind(ipv4_endpoint{ipv4_address::loopback(), 0});
    listener.listen();
    const auto connect = [this](socket& from) -> task<> {
      co_await client.connect(from.local_endpoint());
      co_await from.accept(server);
    };
    io.run(connect(listener));
  }
  void start(async_scope& scope, const running& go_on) { scope.spawn(stream(go_on)); }
  task<> stream(const running& go_on) {
    const auto sent = std::make_unique<std::array<char, stream_block>>();
    const auto received = std::make_unique<std::array<char, stream_block>>();
    while (go_on) {
      for (std::size_t left = co_await client.send(sent->data(), sent->size()); left != 0;) {
        left -= co_await server.recv(received->data(), left);
      }
    }
  }
  socket client, server;
};

// ---- the round trip and the timer, which have to wait -------------------------------------------------

task<> tick_beside(io_service& io, scenario& run, running& go_on) {
  for (int i = 0; i != ticks; ++i) {
    const auto due = steady::now() + tick;
    co_await io.schedule_at(due);
    run.waited(steady::now() - due);
  }
  go_on = false;
}

task<> answer(socket& server) {
  char byte = 0;
  while (co_await server.recv(&byte, 1) == 1) co_await server.send(&byte, 1);
}
task<> ask_beside(socket& client, scenario& run, running& go_on) {
  char byte = 0;
  for (int i = 0; i != round_trips; ++i) {
    const auto begun = steady::now();
    co_await client.send(&byte, 1);
    co_await client.recv(&byte, 1);
    run.waited(steady::now() - begun);
  }
  client.close_send();
  go_on = false;
}

template <class... Neighbours>
task<> all_beside(task<> waits, const running& go_on, Neighbours&... neighbours) {
  async_scope scope;
  (neighbours.start(scope, go_on), ...);
  co_await std::move(waits);
  co_await scope.join();
}

template <class Neighbours>
void timer_beside(scenario& run, io_service& io, Neighbours& neighbours) {
  running go_on = true;
  run.measure([&] { io.run(all_beside(tick_beside(io, run, go_on), go_on, neighbours)); });
}

void timer_beside_file_readers(scenario& run) {
  io_service io;
  const file_readers neighbours{io, coracle::file_buffering_mode::default_, readers};
  timer_beside(run, io, neighbours);
}
void timer_beside_direct_readers(scenario& run) {
  io_service io;
  const file_readers neighbours{io, coracle::file_buffering_mode::unbuffered, direct_readers};
  timer_beside(run, io, neighbours);
}
void timer_beside_udp(scenario& run) {
  io_service io;
  udp_pair neighbours{io};
  timer_beside(run, io, neighbours);
}
void timer_beside_tcp(scenario& run) {
  io_service io;
  tcp_stream neighbours{io};
  timer_beside(run, io, neighbours);
}

void round_trip_beside_file_readers(scenario& run) {
  io_service io;
  const file_readers neighbours{io, coracle::file_buffering_mode::default_, readers};
  tcp_stream ends{io};
  running go_on = true;
  run.measure([&] {
    io.run(coracle::when_all(all_beside(ask_beside(ends.client, run, go_on), go_on, neighbours),
                             answer(ends.server)));
  });
}
void round_trip_alone(scenario& run) {
  io_service io;
  tcp_stream ends{io};
  running go_on = true;
  run.measure([&] { io.run(coracle::when_all(ask_beside(ends.client, run, go_on), answer(ends.server))); });
}

CORACLE_SCENARIO(timer_beside_file_readers);
CORACLE_SCENARIO(timer_beside_direct_readers);
CORACLE_SCENARIO(timer_beside_udp);
CORACLE_SCENARIO(timer_beside_tcp);
CORACLE_SCENARIO(round_trip_beside_file_readers);
CORACLE_SCENARIO(round_trip_alone);
}  // namespace
