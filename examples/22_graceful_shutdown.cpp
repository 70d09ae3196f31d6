// examples/22_graceful_shutdown.cpp -- a server that shuts down gracefully: it stops accepting, gives running
// requests time to finish, then cancels the rest.
// SPDX-License-Identifier: MIT
#include <signal.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <coracle/compose/when_all.hpp>
#include <coracle/core/operation_cancelled.hpp>
#include <coracle/core/task.hpp>
#include <coracle/core/with_environment.hpp>
#include <coracle/io/io_service.hpp>
#include <coracle/io/signal_set.hpp>
#include <coracle/net/serve.hpp>
#include <coracle/net/socket.hpp>
#include <coracle/sync/async_latch.hpp>
#include <coracle/time/sleep.hpp>
#include <cstdio>
#include <string_view>
#include <system_error>

using coracle::net::socket;
using namespace std::chrono_literals;

/// The work of a request. Returns false if cancelled.
coracle::task<bool> work(bool is_long) {
  try {
    co_await coracle::sleep_for(is_long ? 1h : 10ms);
  } catch (const coracle::operation_cancelled&) {
    co_return false;
  }
  co_return true;
}

coracle::task<> answer(socket client, coracle::async_latch& begun) {
  try {
    char request = 0;
    co_await client.recv(&request, 1);
    begun.count_down();
    const bool is_done = co_await work(request == 'l');
    const std::string_view reply = is_done ? "done" : "sorry, the server stops";
    co_await coracle::shielded(client.send(reply));  // even while being cancelled
  } catch (const std::system_error& error) {
    std::printf("a client is gone: %s\n", error.what());
  }
}

/// Runs until it is stopped. Running requests then have half a second to complete; after that they are
/// cancelled.
coracle::task<> serve(socket listener, coracle::stop_token shutdown, coracle::async_latch& begun) {
  const auto answer_one = [&](socket client) { return answer(std::move(client), begun); };
  const coracle::net::serve_limits limits{.connections = 100, .drain = 500ms};
  try {
    co_await coracle::stop_when(coracle::net::serve(listener, answer_one, limits), shutdown);
  } catch (const coracle::operation_cancelled&) {  // all requests have ended
  }
}

coracle::task<> ask(coracle::io_service& io, coracle::net::ip_endpoint server, const char* request) {
  socket connection = socket::create_tcpv4(io);
  co_await connection.connect(server);
  co_await connection.send(request, 1);
  std::array<char, 64> reply;
  const std::size_t size = co_await connection.recv(reply);
  std::printf("%s request: %.*s\n", request, static_cast<int>(size), reply.data());
}

coracle::task<> shut_down(coracle::signal_set& signals, coracle::stop_source server) {
  co_await signals.wait();
  std::puts("shutting down");
  server.request_stop(coracle::stop_reason::shutting_down);
}
/// As `kill PID` in another terminal.
coracle::task<> send_signal(coracle::async_latch& begun) {
  co_await begun;
  kill(getpid(), SIGTERM);
}

coracle::task<> demonstrate(coracle::io_service& io) {
  socket listener = socket::create_tcpv4(io);
  listener.bind(coracle::net::ipv4_endpoint{coracle::net::ipv4_address::loopback(), 0});  // a free port
  listener.listen();
  const auto port = listener.local_endpoint();
  coracle::signal_set signals{io, {SIGTERM, SIGINT}};
  coracle::async_latch begun{2};
  coracle::stop_source stop;
  co_await coracle::when_all(serve(std::move(listener), stop.get_token(), begun), ask(io, port, "short"),
                             ask(io, port, "long"), shut_down(signals, stop), send_signal(begun));
  std::puts("the server has ended");
}

int main() {
  coracle::io_service io;
  io.run(demonstrate(io));
}

// Output:
//   shutting down
//   short request: done
//   long request: sorry, the server stops
//   the server has ended
