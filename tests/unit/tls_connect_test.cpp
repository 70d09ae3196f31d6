// tests/unit/tls_connect_test.cpp -- TLS over sockets: connect, serve, time limits and stop requests.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <chrono>
#include <coracle/compose/when_all.hpp>
#include <coracle/compose/when_any.hpp>
#include <coracle/io/buffered_reader.hpp>
#include <coracle/io/io_service.hpp>
#include <coracle/net/connect.hpp>
#include <coracle/net/serve.hpp>
#include <coracle/time/timeout.hpp>
#include <coracle/tls/connect.hpp>
#include <exception>
#include <string>
#include <system_error>
#include <utility>

#include "../support/abort_message.hpp"
#include "../support/tls_identity.hpp"
#include "connected_sockets.hpp"
#include "service_under_test.hpp"

namespace {
using coracle::io_service;
using coracle::task;
using coracle::net::socket;
using coracle::tls::context;
using coracle::tls::errc;
using coracle_test::is_cancelled;
using coracle_test::service_under_test;
using coracle_test::test_authority;
using coracle_test::test_server;
using coracle_test::connected_sockets::error_of;
using coracle_test::connected_sockets::listening;
using namespace std::chrono_literals;

context client_context() { return context::client_trusting(test_authority().certificate()); }
context server_context() { return context::server(test_server().certificate, test_server().key); }

std::uint16_t port_of(const socket& listener) { return listener.local_endpoint().port(); }

/// Serves connections with `handle` until `work` is done.
template <class Handle>
task<> beside_server(socket& listener, Handle handle, task<> work) {
  const auto ignore = [](const std::exception_ptr&) {};
  co_await coracle::when_any(std::move(work), coracle::net::serve(listener, handle, {}, ignore));
}

task<> echo_lines(socket client, const context& common) {
  coracle::tls::stream secure{std::move(client), common};
  co_await secure.handshake();
  coracle::buffered_reader lines{secure};
  while (const auto line = co_await lines.read_line()) {
    const std::string answer = std::string{*line} + "!\n";
    co_await secure.send_all(answer);
  }
  co_await secure.shutdown();
}

TEST_CASE("tls::connect: by name, by address, with a port as a number or as text") {
  io_service io;
  socket listener = listening(io);
  const context of_client = client_context(), of_server = server_context();
  const auto handle = [&](socket client) { return echo_lines(std::move(client), of_server); };
  const auto ask = [&](std::string host) -> task<> {
    auto secure = co_await coracle::tls::connect(io, host, port_of(listener), of_client);
    static_assert(std::is_same_v<decltype(secure), coracle::tls::stream<socket>>);
    co_await secure.send_all("hello\n");
    std::string answer(7, ' ');
    coracle::buffered_reader reader{secure};
    CHECK(co_await reader.read_exactly(answer) == 7);
    CHECK(answer == "hello!\n");
    co_await secure.shutdown();
    CHECK(co_await reader.read_some(answer) == 0);
    secure.close();
    CHECK(secure.below().native_handle() == -1);
  };
  const auto ask_all = [&]() -> task<> {
    co_await coracle::when_all(ask("localhost"), ask("127.0.0.1"));
    const std::string port = std::to_string(port_of(listener));
    auto secure = co_await coracle::tls::connect(io, "localhost", port, of_client);
    co_await secure.shutdown();
  };
  io.run(beside_server(listener, handle, ask_all()));
}

TEST_CASE("tls::connect: errors of the handshake, of the connection and of the name come through") {
  io_service io;
  socket listener = listening(io);
  const context of_server = server_context(), trusting = client_context(),
                distrusting = context::client_trusting(coracle_test::authority{"another"}.certificate());
  const auto handle = [&](socket client) { return echo_lines(std::move(client), of_server); };
  const auto try_all = [&]() -> task<> {
    const std::uint16_t port = port_of(listener);
    CHECK(co_await error_of(coracle::tls::connect(io, "localhost", port, distrusting)) ==
          errc::certificate_rejected);
    CHECK(co_await error_of(coracle::tls::connect(io, "127.0.0.2", port, trusting)) ==
          std::errc::connection_refused);
    CHECK(co_await error_of(coracle::tls::connect(io, "no.such.name.invalid", "no such service", trusting)));
  };
  io.run(beside_server(listener, handle, try_all()));
  CHECK(coracle_test::abort_message([] {
          io_service mine;
          const context wrong = server_context();
          mine.run(coracle::tls::connect(mine, "localhost", "1", wrong));
        }).find("pass context::client()") != std::string::npos);
}

TEST_CASE("tls::connect: a server that says nothing is left at a time limit or a stop request") {
  io_service io;
  socket listener = listening(io);
  const context trusting = client_context();
  const auto wait = [&]() -> task<> {
    const std::uint16_t port = port_of(listener);
    bool is_late = false;
    try {
      co_await coracle::timeout(coracle::tls::connect(io, "localhost", port, trusting), 1ms);
    } catch (const coracle::timed_out&) {
      is_late = true;
    }
    CHECK(is_late);
    coracle::stop_source stop;
    stop.request_stop();
    CHECK(co_await is_cancelled(
        coracle::with_stop(coracle::tls::connect(io, "localhost", port, trusting), stop.get_token())));
  };
  io.run(wait());
}

TEST_CASE("tls: over sockets of the system and of a simulated host, in both directions at once") {
  service_under_test here;
  io_service& io = here.io;
  auto ends = coracle_test::connected_sockets::connected(io);
  const context of_client = client_context(), of_server = server_context();
  coracle::tls::stream client{std::move(ends.client), of_client, "localhost"};
  coracle::tls::stream server{std::move(ends.server), of_server};
  const auto say = [](auto& to, char what) -> task<> {
    const std::string text(500'000, what);
    co_await to.send_all(text);
    co_await to.shutdown();
  };
  const auto hear = [](auto& from, char what) -> task<> {
    std::string piece(30'000, ' ');
    std::size_t heard = 0;
    for (;;) {
      const std::size_t size = co_await from.read_some(piece);
      if (size == 0) break;
      CHECK(piece.find_first_not_of(what) >= size);
      heard += size;
    }
    CHECK(heard == 500'000);
  };
  const auto talk = [&]() -> task<> {
    co_await coracle::when_all(client.handshake(), server.handshake());
    co_await coracle::when_all(say(client, 'c'), hear(server, 'c'), say(server, 's'), hear(client, 's'));
  };
  io.run(talk());
}

TEST_CASE("tls: a peer that resets the connection raises no signal, and its error is the socket's") {
  io_service io;
  auto ends = coracle_test::connected_sockets::connected(io);
  const context of_client = client_context(), of_server = server_context();
  coracle::tls::stream client{std::move(ends.client), of_client, "localhost"};
  coracle::tls::stream server{std::move(ends.server), of_server};
  const auto talk = [&]() -> task<> {
    co_await coracle::when_all(client.handshake(), server.handshake());
    co_await client.send_all("unread, so that the end is a reset");
    server.close();
    std::error_code error;
    while (!error) error = co_await error_of(client.write_some("more"));
    CHECK((error == std::errc::broken_pipe || error == std::errc::connection_reset));
  };
  io.run(talk());
}
}  // namespace
