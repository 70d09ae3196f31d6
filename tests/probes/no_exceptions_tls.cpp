// tests/probes/no_exceptions_tls.cpp -- TLS in a program compiled with -fno-exceptions: what a peer can do is
// no end of the program.
// SPDX-License-Identifier: MIT
#include <sys/socket.h>

#include <chrono>
#include <coracle/compose/as_outcome.hpp>
#include <coracle/compose/when_all.hpp>
#include <coracle/compose/when_any.hpp>
#include <coracle/io/io_service.hpp>
#include <coracle/net/connect.hpp>
#include <coracle/time/sleep.hpp>
#include <coracle/time/timeout.hpp>
#include <coracle/tls/connect.hpp>
#include <string>
#include <utility>

#include "../support/abort_message.hpp"
#include "../support/expect.hpp"
#include "../support/tls_identity.hpp"

namespace {
using coracle::as_outcome;
using coracle::io_service;
using coracle::task;
using coracle::net::socket;
using coracle::tls::context;
using coracle_test::expect;
using namespace std::chrono_literals;
using secure_socket = coracle::tls::stream<socket>;

socket listening(io_service& io) {
  socket listener = socket::create_tcpv4(io);
  listener.bind(coracle::net::ipv4_endpoint{coracle::net::ipv4_address::loopback(), 0});
  listener.listen();
  return listener;
}
context client_context() { return context::client_trusting(coracle_test::test_authority().certificate()); }
context server_context() {
  return context::server(coracle_test::test_server().certificate, coracle_test::test_server().key);
}

/// Returns true if the connection ended well.
task<bool> answer(socket client, const context& common) {
  secure_socket secure{std::move(client), common};
  const auto agreed = co_await as_outcome(secure.handshake());
  if (!agreed.has_value()) co_return false;
  std::string text(5, ' ');
  auto got = co_await as_outcome(secure.read_some(text));
  if (!got.has_value()) co_return false;
  const auto sent = co_await as_outcome(secure.send_all(text));
  if (!sent.has_value()) co_return false;
  const auto ended = co_await as_outcome(secure.shutdown());
  co_return ended.has_value();
}

task<> ask(io_service& io, std::uint16_t port, const context& common) {
  auto secure = co_await coracle::tls::connect(io, "localhost", port, common);
  co_await secure.send_all("hello");
  std::string text(5, ' ');
  const std::size_t size = co_await secure.read_some(text);
  expect(size == 5 && text == "hello", "an answer comes");
}

void connections_end_well_or_not() {
  io_service io;
  socket listener = listening(io);
  const std::uint16_t port = listener.local_endpoint().port();
  const context of_server = server_context(), of_client = client_context();
  const context distrusting =
      context::client_trusting(coracle_test::authority{"another authority"}.certificate());
  const auto one = [&](task<> client) -> task<bool> {
    const auto serve = [&]() -> task<bool> {
      socket accepted = co_await listener.accept();
      const bool ended_well = co_await answer(std::move(accepted), of_server);
      co_return ended_well;
    };
    const auto [ended_well, ignored] = co_await coracle::when_all(serve(), std::move(client));
    static_cast<void>(ignored);
    co_return ended_well;
  };
  const auto refuse = [&]() -> task<> {
    const auto end = co_await as_outcome(coracle::tls::connect(io, "localhost", port, distrusting));
    expect(end.has_error(), "a client is told of a certificate that it does not accept");
  };
  const auto babble = [&]() -> task<> {
    socket connection = co_await coracle::net::connect(io, listener.local_endpoint());
    co_await connection.send_all("no TLS, and closed with the alert unread");
  };
  const auto reset = [&]() -> task<> {
    auto secure = co_await coracle::tls::connect(io, "localhost", port, of_client);
    const linger reset_at_once{1, 0};
    ::setsockopt(secure.below().native_handle(), SOL_SOCKET, SO_LINGER, &reset_at_once, sizeof reset_at_once);
    secure.close();
  };
  const auto try_all = [&]() -> task<> {
    const bool first = co_await one(ask(io, port, of_client));
    expect(first, "a connection ends well");
    const bool second = co_await one(refuse());
    expect(!second, "a server is told that its certificate is not accepted");
    const bool third = co_await one(babble());
    expect(!third, "a server is told that its client speaks no TLS");
    const bool fourth = co_await one(reset());
    expect(!fourth, "a server is told that its client has reset the connection");
  };
  io.run(try_all());
}

void waits_are_stopped() {
  io_service io;
  socket listener = listening(io);
  const context of_client = client_context();
  const auto wait = [&]() -> task<> {
    socket connection = co_await coracle::net::connect(io, listener.local_endpoint());
    secure_socket secure{std::move(connection), of_client, "localhost"};
    const auto end = co_await as_outcome(coracle::stop_after(secure.handshake(), 1ms));
    expect(end.is_cancelled(), "a handshake is timed out");
    const auto race = co_await coracle::when_any(secure.handshake(), io.schedule());
    expect(race.index() == 1, "a handshake loses a race");
  };
  io.run(wait());
}

void an_error_that_nobody_takes_ends_the_program() {
  const std::string last_words = coracle_test::abort_message([] {
    io_service io;
    socket listener = listening(io);
    const context of_server = server_context();
    const context distrusting =
        context::client_trusting(coracle_test::authority{"another authority"}.certificate());
    io.run(coracle::when_all(ask(io, listener.local_endpoint().port(), distrusting), [&]() -> task<> {
      socket accepted = co_await listener.accept();
      static_cast<void>(co_await answer(std::move(accepted), of_server));
    }()));
  });
  expect(last_words.find("(the certificate is not accepted: ") != std::string::npos,
         "the program's last words name the error");
}
}  // namespace

int main() {
  expect(!CORACLE_EXCEPTIONS(), "the program is compiled with -fno-exceptions");
  connections_end_well_or_not();
  waits_are_stopped();
  an_error_that_nobody_takes_ends_the_program();
  return coracle_test::exit_status("a program without exceptions speaks TLS");
}
