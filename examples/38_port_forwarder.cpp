// examples/38_port_forwarder.cpp -- a port forwarder between TCP and a Unix socket, which forwards
// half-closes.
// SPDX-License-Identifier: MIT
#include <unistd.h>

#include <array>
#include <cctype>
#include <coracle/compose/when_all.hpp>
#include <coracle/compose/when_any.hpp>
#include <coracle/core/task.hpp>
#include <coracle/io/buffered_reader.hpp>
#include <coracle/io/io_service.hpp>
#include <coracle/net/connect.hpp>
#include <coracle/net/serve.hpp>
#include <coracle/net/socket.hpp>
#include <coracle/net/unix_socket.hpp>
#include <cstdio>
#include <string>

using coracle::task;
using coracle::net::socket;
using coracle::net::unix_address;
using coracle::net::unix_socket;

/// Copies until `from` ends, then ends `to`. Returns the number of bytes.
template <class From, class To>
task<std::size_t> pump(From& from, To& to) {
  std::array<std::byte, 16 * 1024> buffer;
  std::size_t total = 0;
  for (;;) {
    const std::size_t size = co_await from.read_some(buffer);
    if (size == 0) break;
    co_await to.send_all(buffer.data(), size);
    total += size;
  }
  to.close_send();
  co_return total;
}

struct traffic {
  std::size_t up = 0, down = 0;
};
/// One connection. A direction that fails stops the other.
task<> forward(coracle::io_service& io, unix_address target, socket client, traffic& counted) {
  unix_socket server = co_await coracle::net::connect(io, target);
  const auto [up, down] = co_await coracle::when_all(pump(client, server), pump(server, client));
  counted.up += up;
  counted.down += down;
}

/// The server behind the forwarder: answers each line in capitals.
task<> shout(unix_socket client) {
  coracle::buffered_reader lines{client};
  for (;;) {
    const auto line = co_await lines.read_line();
    if (!line) break;
    std::string answer{*line};
    for (char& each : answer) each = static_cast<char>(std::toupper(static_cast<unsigned char>(each)));
    co_await client.send_all(answer + "\n");
  }
}

task<> talk(coracle::io_service& io, coracle::net::ip_endpoint server) {
  socket connection = socket::create_tcpv4(io);
  co_await connection.connect(server);
  co_await connection.send_all("through two sockets\nand back\n");
  connection.close_send();
  coracle::buffered_reader lines{connection};
  for (;;) {
    const auto line = co_await lines.read_line();
    if (!line) break;
    std::printf("answer: %.*s\n", static_cast<int>(line->size()), line->data());
  }
}

task<> demonstrate(coracle::io_service& io) {
  const unix_address hidden = unix_address::abstract("coracle-shout-" + std::to_string(getpid()));
  unix_socket inner = unix_socket::create(io, coracle::net::unix_kind::stream);
  inner.bind(hidden);
  inner.listen();
  socket outer = socket::create_tcpv4(io);
  outer.bind(coracle::net::ipv4_endpoint{coracle::net::ipv4_address::loopback(), 0});  // a free port
  outer.listen();

  traffic all;
  const auto forward_one = [&](socket client) { return forward(io, hidden, std::move(client), all); };
  // When the client has what it wants, the servers are stopped, and drain.
  co_await coracle::when_any(talk(io, outer.local_endpoint()), coracle::net::serve(outer, forward_one),
                             coracle::net::serve(inner, shout));
  std::printf("forwarded %zu bytes up, %zu down\n", all.up, all.down);
}

int main() {
  coracle::io_service io;
  io.run(demonstrate(io));
}

// Output:
//   answer: THROUGH TWO SOCKETS
//   answer: AND BACK
//   forwarded 29 bytes up, 29 down
