// examples/16_tcp_echo.cpp -- an echo server that Ctrl-C stops, and clients that talk to it.
// SPDX-License-Identifier: MIT
#include <signal.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <coracle/coracle.hpp>
#include <coracle/io.hpp>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <string_view>
#include <utility>

using coracle::net::socket;
using namespace std::chrono_literals;

/// Echoes until the client closes its side.
coracle::task<> echo(socket client) {
  std::array<char, 4096> buffer;
  for (;;) {
    const std::size_t size = co_await client.recv(buffer);
    if (size == 0) break;
    co_await client.send_all(buffer.data(), size);
  }
}

/// Serves until it is stopped. Clients then have five seconds to finish. If one fails, the others are still
/// served.
coracle::task<> serve(socket& listener) {
  int served = 0;
  const auto count_and_echo = [&](socket client) {
    ++served;
    return echo(std::move(client));
  };
  const auto report = [](const std::exception_ptr&) { std::puts("a client is gone"); };
  try {
    co_await coracle::net::serve(listener, count_and_echo, {.connections = 1000, .drain = 5s}, report);
  } catch (const coracle::operation_cancelled&) {
    std::printf("the server stops; clients served: %d\n", served);
  }
}

coracle::task<> talk(coracle::io_service& io, coracle::net::ip_endpoint server, std::string_view text) {
  socket connection = socket::create_tcpv4(io);
  co_await connection.connect(server);
  co_await connection.send_all(text);
  connection.close_send();
  std::array<char, 64> buffer;
  for (;;) {
    const std::size_t size = co_await connection.recv(buffer);
    if (size == 0) break;
    std::printf("the echo: %.*s\n", static_cast<int>(size), buffer.data());
  }
}
coracle::task<> talk_and_interrupt(coracle::io_service& io, coracle::net::ip_endpoint server) {
  co_await talk(io, server, "hello");
  co_await talk(io, server, "is anybody there?");
  kill(getpid(), SIGINT);  // as if Ctrl-C had been pressed
}

coracle::task<> run(coracle::io_service& io, int port) {
  coracle::signal_set ctrl_c{io, {SIGINT}};
  socket listener = socket::create_tcpv4(io);
  listener.bind(
      coracle::net::ipv4_endpoint{coracle::net::ipv4_address::loopback(), static_cast<std::uint16_t>(port)});
  listener.listen();
  // The first to end is the signal; the other is stopped and joined.
  if (port != 0) {
    co_await coracle::when_any(ctrl_c.wait(), serve(listener));
  } else {  // a free port, and clients of its own
    co_await coracle::when_all(coracle::when_any(ctrl_c.wait(), serve(listener)),
                               talk_and_interrupt(io, listener.local_endpoint()));
  }
}

/// With a port as argument, serves there until Ctrl-C.
int main(int argc, char** argv) {
  coracle::io_service io;
  io.run(run(io, argc > 1 ? std::atoi(argv[1]) : 0));
}

// Output:
//   the echo: hello
//   the echo: is anybody there?
//   the server stops; clients served: 2
