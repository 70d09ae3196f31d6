// examples/tls/main.cpp -- a server and a client that speak TLS, on sockets that know nothing of it.
// SPDX-License-Identifier: MIT
//
//   tls                                   a server and three clients in this process
//   tls certificate HOST CERTIFICATE KEY  writes a certificate for HOST, signed by its own key, and the key
//   tls serve CERTIFICATE KEY [PORT]      answers each line in capitals, on loopback, until Ctrl-C
//   tls get HOST PORT [AUTHORITIES]       prints what an HTTPS server answers to GET /
#include <signal.h>

#include <cctype>
#include <chrono>
#include <coracle/coracle.hpp>
#include <coracle/io.hpp>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <string>
#include <string_view>

#include "tls_stream.hpp"

using coracle::task;
using coracle::net::socket;
using namespace std::chrono_literals;

/// Answers each line in capitals. `client`: a socket, or a tls::stream over one.
template <coracle::byte_stream Stream>
task<> shout(Stream& client) {
  coracle::buffered_reader lines{client};
  for (;;) {
    const auto line = co_await lines.read_line();
    if (!line) break;
    std::string answer{*line};
    for (char& each : answer) each = static_cast<char>(std::toupper(static_cast<unsigned char>(each)));
    co_await client.send_all(answer + "\n");
  }
}
/// One connection of the server. The time limit is for clients that connect and say nothing.
task<> handle(socket client, const tls::context& common) {
  tls::stream secure{std::move(client), common};
  co_await coracle::timeout(secure.handshake(), 2s);
  co_await shout(secure);
  co_await secure.shutdown();
}

socket listen(coracle::io_service& io, std::uint16_t port) {
  socket listener = socket::create_tcpv4(io);
  listener.bind(coracle::net::ipv4_endpoint{coracle::net::ipv4_address::loopback(), port});
  listener.listen();
  return listener;
}

// ---- the demonstration

task<> talk(coracle::io_service& io, coracle::net::ip_endpoint server, const tls::context& common,
            const char* host) try {
  tls::stream secure{co_await coracle::net::connect(io, server), common, host};
  co_await secure.handshake();
  std::printf("%s: %s\n", host, secure.protocol());
  coracle::buffered_reader lines{secure};
  // A wait that is cut short loses nothing.
  const auto early = co_await coracle::as_optional(coracle::stop_after(lines.read_line(), 20ms));
  std::puts(early ? "an answer to nothing?" : "no line within 20 ms");
  co_await secure.send_all("nobody reads this on the way\n");
  const auto answer = co_await lines.read_line();
  std::printf("answer: %.*s\n", static_cast<int>(answer->size()), answer->data());
  co_await secure.shutdown();
} catch (const tls::error& error) {
  std::printf("%s: %s\n", host, error.what());
}

task<> talk_three_times(coracle::io_service& io, coracle::net::ip_endpoint server,
                        const std::string& certificate) {
  const tls::context friendly = tls::context::client_trusting(certificate);
  const tls::context suspicious = tls::context::client_trusting(tls::make_identity("elsewhere").certificate);
  co_await talk(io, server, friendly, "localhost");
  co_await talk(io, server, friendly, "example.org");
  co_await talk(io, server, suspicious, "localhost");
}

task<> demonstrate(coracle::io_service& io) {
  const tls::identity mine = tls::make_identity("localhost");
  const tls::context common = tls::context::server(mine.certificate, mine.key);
  socket listener = listen(io, 0);
  const auto with_tls = [&](socket client) { return handle(std::move(client), common); };
  co_await coracle::when_any(talk_three_times(io, listener.local_endpoint(), mine.certificate),
                             coracle::net::serve(listener, with_tls));
}

// ---- the commands

task<> write_certificate(coracle::io_service& io, std::string host, std::string certificate,
                         std::string key) {
  const tls::identity made = tls::make_identity(host);
  co_await coracle::filesystem::write_atomically(io, certificate, made.certificate);
  const auto only_mine = std::filesystem::perms::owner_read | std::filesystem::perms::owner_write;
  co_await coracle::filesystem::write_atomically(io, key, made.key, only_mine);
}

task<> serve(coracle::io_service& io, std::string certificate, std::string key, std::uint16_t port) {
  const tls::context common = tls::context::server(co_await coracle::filesystem::read_file(io, certificate),
                                                   co_await coracle::filesystem::read_file(io, key));
  coracle::signal_set signals{io, {SIGINT, SIGTERM}};
  socket listener = listen(io, port);
  std::printf("port %u\n", static_cast<unsigned>(listener.local_endpoint().port()));
  const auto with_tls = [&](socket client) { return handle(std::move(client), common); };
  const auto tell = [](const std::exception_ptr& error) {
    try {
      std::rethrow_exception(error);
    } catch (const std::exception& failed) {
      std::printf("a connection failed: %s\n", failed.what());
    }
  };
  co_await coracle::when_any(signals.wait(), coracle::net::serve(listener, with_tls, {.drain = 1s}, tell));
}

task<> get(coracle::io_service& io, std::string host, std::string port, std::string authorities) {
  tls::context common = tls::context::client();
  if (!authorities.empty()) {
    const std::string trusted = co_await coracle::filesystem::read_file(io, authorities);
    common = tls::context::client_trusting(trusted);
  }
  tls::stream secure{co_await coracle::net::connect(io, host, port), common, host};
  co_await secure.handshake();
  co_await secure.send_all("GET / HTTP/1.1\r\nHost: " + host + "\r\nConnection: close\r\n\r\n");
  char text[4096];
  for (;;) {
    const std::size_t size = co_await secure.read_some(text);
    if (size == 0) break;
    std::fwrite(text, 1, size, stdout);
  }
}

int main(int count, char** arguments) try {
  const std::string_view what = count > 1 ? arguments[1] : "";
  std::setvbuf(stdout, nullptr, _IOLBF, 0);  // writes each line immediately, also into a file
  coracle::io_service io;
  if (count == 1) {
    io.run(demonstrate(io));
  } else if (what == "certificate" && count == 5) {
    io.run(write_certificate(io, arguments[2], arguments[3], arguments[4]));
  } else if (what == "serve" && (count == 4 || count == 5)) {
    const int port = count == 5 ? std::atoi(arguments[4]) : 0;
    io.run(serve(io, arguments[2], arguments[3], static_cast<std::uint16_t>(port)));
  } else if (what == "get" && (count == 4 || count == 5)) {
    io.run(coracle::timeout(get(io, arguments[2], arguments[3], count == 5 ? arguments[4] : ""), 10s));
  } else {
    std::fputs(
        "usage: tls [certificate HOST CERTIFICATE KEY | serve CERTIFICATE KEY [PORT] | get HOST PORT "
        "[AUTHORITIES]]\n",
        stderr);
    return 2;
  }
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "tls: %s\n", error.what());
  return 1;
}
