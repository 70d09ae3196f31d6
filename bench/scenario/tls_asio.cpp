// bench/scenario/tls_asio.cpp -- tls.cpp with Boost.Asio, which uses OpenSSL too.
// SPDX-License-Identifier: MIT
#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/asio/write.hpp>
#include <string>
#include <utility>

#include "../rivals/asio.hpp"
#include "scenario.hpp"
#include "tls.hpp"

namespace {
using namespace coracle_bench;
using asio::awaitable;
using asio::deferred;
using asio::ip::tcp;
using secure_socket = asio::ssl::stream<tcp::socket>;
using namespace asio::experimental::awaitable_operators;

struct tls_host {
  tls_host() {
    const auto& its = test_server();
    of_server.use_certificate_chain(asio::buffer(its.certificate));
    of_server.use_private_key(asio::buffer(its.key), asio::ssl::context::pem);
    of_client.add_certificate_authority(asio::buffer(test_authority().certificate()));
    of_client.set_verify_mode(asio::ssl::verify_peer);
    of_client.set_verify_callback(asio::ssl::host_name_verification("localhost"));
  }
  awaitable<secure_socket> accept() {
    tcp::socket accepted = co_await listener.async_accept(deferred);
    accepted.set_option(tcp::no_delay{true});
    secure_socket secure{std::move(accepted), of_server};
    co_await secure.async_handshake(asio::ssl::stream_base::server, deferred);
    co_return std::move(secure);
  }
  awaitable<secure_socket> connect() {
    tcp::socket connection{io, tcp::v4()};
    co_await connection.async_connect(listener.local_endpoint(), deferred);
    connection.set_option(tcp::no_delay{true});
    secure_socket secure{std::move(connection), of_client};
    SSL_set_tlsext_host_name(secure.native_handle(), "localhost");
    co_await secure.async_handshake(asio::ssl::stream_base::client, deferred);
    co_return std::move(secure);
  }

  asio::io_context io{1};
  tcp::acceptor listener{io, tcp::endpoint{asio::ip::address_v4::loopback(), 0}};
  asio::ssl::context of_server{asio::ssl::context::tls_server}, of_client{asio::ssl::context::tls_client};
};

void asio_tls_round_trips(scenario& run) {
  tls_host host;
  int answers = 0;
  const auto answer = [&](secure_socket& side) -> awaitable<void> {
    std::array<char, tls_message> bytes{};
    for (int i = 0; i != tls_trips; ++i) {
      co_await asio::async_read(side, asio::buffer(bytes), deferred);
      co_await asio::async_write(side, asio::buffer(bytes), deferred);
    }
  };
  const auto ask = [&](secure_socket& side) -> awaitable<void> {
    std::array<char, tls_message> bytes{};
    for (; answers != tls_trips; ++answers) {
      co_await asio::async_write(side, asio::buffer(bytes), deferred);
      co_await asio::async_read(side, asio::buffer(bytes), deferred);
    }
  };
  const auto all = [&]() -> awaitable<void> {
    auto [server, client] = co_await (host.accept() && host.connect());
    co_await (answer(server) && ask(client));
  };
  run.measure([&] { run_on(host.io, all()); });
  run.expect(answers == tls_trips, "every message is answered");
}
CORACLE_SCENARIO(asio_tls_round_trips);

void asio_tls_transfer(scenario& run) {
  tls_host host;
  std::size_t received = 0;
  const auto receive = [&](secure_socket& side) -> awaitable<void> {
    std::string bytes(tls_piece, ' ');
    while (received != tls_piece * tls_pieces)
      received += co_await side.async_read_some(asio::buffer(bytes), deferred);
  };
  const auto send = [&](secure_socket& side) -> awaitable<void> {
    const std::string bytes(tls_piece, 'x');
    for (int i = 0; i != tls_pieces; ++i) co_await asio::async_write(side, asio::buffer(bytes), deferred);
  };
  const auto all = [&]() -> awaitable<void> {
    auto [server, client] = co_await (host.accept() && host.connect());
    co_await (receive(server) && send(client));
  };
  run.measure([&] { run_on(host.io, all()); });
  run.expect(received == tls_piece * tls_pieces, "everything arrives");
}
CORACLE_SCENARIO(asio_tls_transfer);

void asio_tls_handshakes(scenario& run) {
  tls_host host;
  int agreed = 0;
  const auto all = [&]() -> awaitable<void> {
    for (; agreed != tls_connections; ++agreed) {
      auto both = co_await (host.accept() && host.connect());
    }
  };
  run.measure([&] { run_on(host.io, all()); });
  run.expect(agreed == tls_connections, "every handshake succeeds");
}
CORACLE_SCENARIO(asio_tls_handshakes);
}  // namespace
