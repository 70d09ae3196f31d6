// tests/stress/sockets.cpp -- sockets and files served by two threads: no data is lost, mixed up or leaked.
// SPDX-License-Identifier: MIT
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <coracle/compose/async_scope.hpp>
#include <coracle/compose/when_all.hpp>
#include <coracle/core/operation_cancelled.hpp>
#include <coracle/core/stop.hpp>
#include <coracle/core/sync_wait.hpp>
#include <coracle/core/task.hpp>
#include <coracle/io/io_service.hpp>
#include <coracle/io/read_write_file.hpp>
#include <coracle/net/socket.hpp>
#include <deque>
#include <filesystem>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "../support/stress.hpp"

namespace {
using coracle::io_service;
using coracle::operation_cancelled;
using coracle::stop_source;
using coracle::stop_token;
using coracle::task;
using coracle::net::ipv4_address;
using coracle::net::ipv4_endpoint;
using coracle::net::socket;

/// An io_service whose events two threads process.
class served {
 public:
  served() {
    for (std::thread& each : threads_) each = std::thread([this] { io.process_events(); });
  }
  served(const served&) = delete;
  served& operator=(const served&) = delete;
  ~served() {
    io.stop();
    for (std::thread& each : threads_) each.join();
  }
  io_service io;

 private:
  std::array<std::thread, 2> threads_;
};

socket bound(socket made) {
  made.bind(ipv4_endpoint{ipv4_address::loopback(), 0});
  return made;
}
socket listening(io_service& io) {
  socket listener = bound(socket::create_tcpv4(io));
  listener.listen();
  return listener;
}
/// Returns a byte that depends on its sender and its position.
char expected(int who, std::size_t position) noexcept {
  return static_cast<char>(static_cast<std::size_t>(who) * 31 + position * 7 + position / 251);
}

task<> echo(socket client) {
  std::array<char, 3000> buffer;
  for (;;) {
    const std::size_t size = co_await client.recv(buffer.data(), buffer.size());
    if (size == 0) break;
    co_await client.send_all(buffer.data(), size);
  }
  client.close_send();
  co_await client.disconnect();
}
task<> serve(io_service& io, socket& listener, stop_token stop) {
  co_await io.schedule();
  coracle::async_scope clients;
  try {
    for (;;) {
      socket client = co_await listener.accept(stop);
      clients.spawn(echo(std::move(client)));
    }
  } catch (const operation_cancelled&) {
  }
  co_await clients.join();
}
/// Sends `size` bytes and concurrently reads them back. Returns how many came back correct.
task<> talk(socket& listener, io_service& io, int who, std::size_t size, std::atomic<long long>& right) {
  co_await io.schedule();
  socket connection = socket::create_tcpv4(io);
  co_await connection.connect(listener.local_endpoint());
  const auto send = [&]() -> task<> {
    co_await io.schedule();
    std::array<char, 1024> block;
    for (std::size_t sent = 0; sent != size;) {
      const std::size_t part = std::min(block.size(), size - sent);
      for (std::size_t i = 0; i != part; ++i) block[i] = expected(who, sent + i);
      co_await connection.send_all(block.data(), part);
      sent += part;
    }
    connection.close_send();
  };
  const auto receive = [&]() -> task<> {
    co_await io.schedule();
    std::array<char, 2000> buffer;
    std::size_t position = 0;
    for (;;) {
      const std::size_t got = co_await connection.recv(buffer.data(), buffer.size());
      if (got == 0) break;
      long long matches = 0;
      for (std::size_t i = 0; i != got; ++i) matches += buffer[i] == expected(who, position + i);
      right += matches;
      position += got;
    }
  };
  co_await coracle::when_all(send(), receive());
  co_await connection.disconnect();
}

/// Many clients of one echo server. Returns how many bytes came back correct.
long long echo_many(int clients, std::size_t size) {
  served by;
  socket listener = listening(by.io);
  stop_source source;
  std::atomic<long long> right{0};
  const auto all_talk = [&]() -> task<> {
    std::vector<task<>> all;
    for (int i = 0; i != clients; ++i) all.push_back(talk(listener, by.io, i, size, right));
    co_await coracle::when_all(std::move(all));
    source.request_stop();
  };
  coracle::sync_wait(coracle::when_all(all_talk(), serve(by.io, listener, source.get_token())));
  return right;
}

struct outcome {
  int rounds = 0;
  long long finished = 0;   // operations that gave something
  long long cancelled = 0;  // operations that a stop request ended
  long long left = 0;       // what there was to be had afterwards
};

/// Each round starts an operation and provides what completes it, while another thread requests stop. The
/// operation consumes what was provided, or it is still available: never both, never neither.
template <class Start, class Give>
outcome race(int most, Start start, Give give) {
  outcome found;
  std::deque<stop_source> sources(static_cast<std::size_t>(most));
  std::atomic<long long> finished{0}, cancelled{0};
  coracle::async_scope running;
  const auto run = [&](std::size_t i) -> task<> {
    try {
      co_await start(sources[i].get_token());
      ++finished;
    } catch (const operation_cancelled&) {
      ++cancelled;
    }
  };
  found.rounds = coracle_test::side_by_side(
      most,
      [&](int i) {
        running.spawn(run(static_cast<std::size_t>(i)));
        give();
      },
      [&](int i) { sources[static_cast<std::size_t>(i)].request_stop(); });
  coracle::sync_wait(running.join());
  found.finished = finished;
  found.cancelled = cancelled;
  return found;
}

outcome race_receive(int most) {
  served by;
  socket listener = listening(by.io), client = socket::create_tcpv4(by.io),
         server = socket::create_tcpv4(by.io);
  coracle::sync_wait(coracle::when_all(client.connect(listener.local_endpoint()), listener.accept(server)));
  const auto receive = [&](stop_token stop) -> task<> {
    char byte = 0;
    co_await server.recv(&byte, 1, stop);
  };
  outcome found = race(most, receive, [&] {
    while (::send(client.native_handle(), "x", 1, 0) != 1) std::this_thread::yield();
  });
  client.close_send();
  const auto count_rest = [&]() -> task<> {
    std::array<char, 4096> buffer;
    for (;;) {
      const std::size_t size = co_await server.recv(buffer.data(), buffer.size());
      if (size == 0) break;
      found.left += static_cast<long long>(size);
    }
  };
  coracle::sync_wait(count_rest());
  return found;
}

outcome race_accept(int most) {
  served by;
  socket listener = listening(by.io);
  const auto accept = [&](stop_token stop) -> task<> {
    const socket accepted = co_await listener.accept(stop);
  };
  outcome found = race(most, accept, [&] {
    socket client = socket::create_tcpv4(by.io);
    coracle::sync_wait(client.connect(listener.local_endpoint()));
  });
  const auto count_rest = [&]() -> task<> {
    const long long rest = found.rounds - found.finished;
    for (; found.left != rest; ++found.left) co_await listener.accept();
  };
  coracle::sync_wait(count_rest());
  return found;
}

/// Writes of one byte each, at distinct offsets in any order: those that succeeded are in the file.
outcome race_write(int most) {
  served by;
  std::string folder = (std::filesystem::temp_directory_path() / "coracle_stress.XXXXXX").string();
  if (!::mkdtemp(folder.data())) return {};
  outcome found;
  {
    auto file = coracle::read_write_file::open(by.io, folder + "/file");
    std::atomic<std::uint64_t> place{0};
    const auto write = [&](stop_token stop) -> task<> { co_await file.write(place++, "x", 1, stop); };
    found = race(most, write, [] {});
    const auto count = [&]() -> task<> {
      std::vector<char> text(static_cast<std::size_t>(most) + 1);
      const std::size_t size = co_await file.read(0, text.data(), text.size());
      for (std::size_t i = 0; i != size; ++i) found.left += text[i] == 'x';
    };
    coracle::sync_wait(count());
  }
  std::filesystem::remove_all(folder);
  return found;
}

long open_descriptors() {
  long count = 0;
  for (const auto& each : std::filesystem::directory_iterator("/proc/self/fd"))
    count += each.path().empty() ? 0 : 1;
  return count;
}
}  // namespace

int main(int argc, char** argv) {
  coracle_test::stress run("sockets", argc, argv, 20'000);
  const long before = open_descriptors();
  constexpr int clients = 40;
  const std::size_t size = run.count() * std::size_t{5};
  run.expect("bytes echoed", echo_many(clients, size), static_cast<long long>(clients * size));
  const outcome received = race_receive(run.int_count());
  run.expect("receives ended", received.finished + received.cancelled, received.rounds);
  run.expect("bytes taken or left", received.finished + received.left, received.rounds);
  const outcome accepted = race_accept(run.int_count() / 10);
  run.expect("accepts ended", accepted.finished + accepted.cancelled, accepted.rounds);
  run.expect("connections taken or left", accepted.finished + accepted.left, accepted.rounds);
  const outcome written = race_write(run.int_count());
  run.expect("writes ended", written.finished + written.cancelled, written.rounds);
  run.expect("bytes in the file", written.left, written.finished);
  run.expect("descriptors leaked", open_descriptors() - before, 0);
  return run.finish();
}
