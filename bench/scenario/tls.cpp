// bench/scenario/tls.cpp -- TLS over a TCP connection whose two sides are on one thread.
// SPDX-License-Identifier: MIT
#include "tls.hpp"

#include <coracle/compose/when_all.hpp>
#include <coracle/core/task.hpp>
#include <coracle/io/io_service.hpp>
#include <coracle/net/connect.hpp>
#include <coracle/net/socket.hpp>
#include <coracle/tls/stream.hpp>
#include <string>
#include <utility>

#include "scenario.hpp"

namespace {
using namespace coracle_bench;
using coracle::io_service;
using coracle::task;
using coracle::net::socket;
using coracle::tls::context;
using secure_socket = coracle::tls::stream<socket>;

struct tls_host {
  tls_host() {
    listener.bind(coracle::net::ipv4_endpoint{coracle::net::ipv4_address::loopback(), 0});
    listener.listen();
  }
  task<secure_socket> accept() {
    socket accepted = co_await listener.accept();
    secure_socket secure{std::move(accepted), of_server};
    co_await secure.handshake();
    co_return secure;
  }
  task<secure_socket> connect() {
    socket connection = socket::create_tcpv4(io);
    co_await connection.connect(listener.local_endpoint());
    secure_socket secure{std::move(connection), of_client, "localhost"};
    co_await secure.handshake();
    co_return secure;
  }

  io_service io;
  socket listener = socket::create_tcpv4(io);
  context of_server = context::server(test_server().certificate, test_server().key);
  context of_client = context::client_trusting(test_authority().certificate());
};

task<> read_all(secure_socket& from, char* to, std::size_t size) {
  for (std::size_t done = 0; done != size;) {
    const std::size_t got = co_await from.read_some(to + done, size - done);
    if (got == 0) co_return;
    done += got;
  }
}

void tls_round_trips(scenario& run) {
  tls_host host;
  int answers = 0;
  const auto answer = [&](secure_socket& side) -> task<> {
    char bytes[tls_message];
    for (int i = 0; i != tls_trips; ++i) {
      co_await read_all(side, bytes, tls_message);
      co_await side.send_all(bytes, tls_message);
    }
  };
  const auto ask = [&](secure_socket& side) -> task<> {
    char bytes[tls_message] = {};
    for (; answers != tls_trips; ++answers) {
      co_await side.send_all(bytes, tls_message);
      co_await read_all(side, bytes, tls_message);
    }
  };
  const auto all = [&]() -> task<> {
    auto [server, client] = co_await coracle::when_all(host.accept(), host.connect());
    co_await coracle::when_all(answer(server), ask(client));
  };
  run.measure([&] { host.io.run(all()); });
  run.expect(answers == tls_trips, "every message is answered");
}
CORACLE_SCENARIO(tls_round_trips);

void tls_transfer(scenario& run) {
  tls_host host;
  std::size_t received = 0;
  const auto receive = [&](secure_socket& side) -> task<> {
    std::string bytes(tls_piece, ' ');
    for (;;) {
      const std::size_t got = co_await side.read_some(bytes.data(), bytes.size());
      if (got == 0) break;
      received += got;
    }
  };
  const auto send = [&](secure_socket& side) -> task<> {
    const std::string bytes(tls_piece, 'x');
    for (int i = 0; i != tls_pieces; ++i) co_await side.send_all(bytes);
    co_await side.shutdown();
  };
  const auto all = [&]() -> task<> {
    auto [server, client] = co_await coracle::when_all(host.accept(), host.connect());
    co_await coracle::when_all(receive(server), send(client));
  };
  run.measure([&] { host.io.run(all()); });
  run.expect(received == tls_piece * tls_pieces, "everything arrives");
}
CORACLE_SCENARIO(tls_transfer);

void tls_handshakes(scenario& run) {
  tls_host host;
  int agreed = 0;
  const auto all = [&]() -> task<> {
    for (; agreed != tls_connections; ++agreed) {
      auto both = co_await coracle::when_all(host.accept(), host.connect());
    }
  };
  run.measure([&] { host.io.run(all()); });
  run.expect(agreed == tls_connections, "every handshake succeeds");
}
CORACLE_SCENARIO(tls_handshakes);
}  // namespace
