// examples/16_tcp_echo.cpp -- an echo server that Ctrl-C stops, and clients that talk to it.
// SPDX-License-Identifier: MIT
#include <signal.h>
#include <unistd.h>

#include <array>
#include <coracle/coracle.hpp>
#include <coracle/io.hpp>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <system_error>

using coracle::net::socket;

/// Echoes until the client closes its side.
coracle::task<> echo(socket client) {
  std::array<char, 4096> buffer;
  try {
    for (;;) {
      const std::size_t size = co_await client.recv(buffer.data(), buffer.size());
      if (size == 0) break;
      co_await client.send_all(buffer.data(), size);
    }
  } catch (const std::system_error& error) {
    std::printf("a client is gone: %s\n", error.what());  // the others are still served
  }
}

/// Serves until it is stopped, which ends every accept(), recv() and send() below. No client outlives it. If
/// it runs out of descriptors, connections wait until a client has left.
coracle::task<> serve(socket& listener) {
  int served = 0;
  const auto accept_all = [&](coracle::async_scope& clients) -> coracle::task<> {
    for (;; ++served) {
      socket client = co_await coracle::net::accept_with_backoff(listener);
      clients.spawn(echo(std::move(client)));
    }
  };
  try {
    co_await coracle::with_scope(accept_all);
  } catch (const coracle::operation_cancelled&) {
    std::printf("the server stops; clients served: %d\n", served);
  }
}

coracle::task<> talk(coracle::io_service& io, coracle::net::ip_endpoint server, std::string_view text) {
  socket connection = socket::create_tcpv4(io);
  co_await connection.connect(server);
  co_await connection.send_all(text.data(), text.size());
  connection.close_send();
  std::array<char, 64> buffer;
  for (;;) {
    const std::size_t size = co_await connection.recv(buffer.data(), buffer.size());
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
  } else {  // a free port, and its own clients
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
