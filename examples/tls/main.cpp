// examples/tls/main.cpp -- a server and a client of TLS, with certificates for both sides if wanted.
// SPDX-License-Identifier: MIT
//
//   tls serve CERTIFICATE KEY [AUTHORITIES]   answers each line in capitals, on loopback, until Ctrl-C; only
//                                             clients with a certificate of AUTHORITIES, if given
//   tls get HOST PORT [AUTHORITIES [CERTIFICATE KEY]]
//                                             prints what an HTTPS server answers to GET /
//
// For a certificate to try it with:
//
//   openssl req -x509 -newkey ed25519 -nodes -days 1 -subj /CN=localhost -addext subjectAltName=DNS:localhost
//     -out certificate.pem -keyout key.pem
#include <signal.h>

#include <cctype>
#include <chrono>
#include <coracle/coracle.hpp>
#include <coracle/io.hpp>
#include <coracle/tls/connect.hpp>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <string_view>
#include <vector>

namespace tls = coracle::tls;
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
    answer += '\n';
    co_await client.send_all(answer);
  }
}
/// One connection of the server. The time limit is for clients that connect and say nothing.
task<> handle(socket client, const tls::context& common) {
  tls::stream secure{std::move(client), common};
  co_await coracle::timeout(secure.handshake(), 2s);
  if (const std::string who = secure.peer_subject(); !who.empty()) std::printf("%s\n", who.c_str());
  co_await shout(secure);
  co_await secure.shutdown();
}

socket listen(coracle::io_service& io) {
  socket listener = socket::create_tcpv4(io);
  listener.bind(coracle::net::ipv4_endpoint{coracle::net::ipv4_address::loopback(), 0});
  listener.listen();
  return listener;
}

task<std::string> read(coracle::io_service& io, const std::string& path) {
  return coracle::filesystem::read_file(io, path);
}

task<> serve(coracle::io_service& io, std::vector<std::string> files) {
  const std::string certificate = co_await read(io, files.at(0)), key = co_await read(io, files.at(1));
  tls::context common = tls::context::server(certificate, key);
  if (files.size() > 2) {
    const std::string authorities = co_await read(io, files[2]);
    common.verify_clients(authorities);
  }
  common.set_protocols({"shout", "http/1.1"});
  coracle::signal_set signals{io, {SIGINT, SIGTERM}};
  socket listener = listen(io);
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

task<> get(coracle::io_service& io, std::string host, std::string port, std::vector<std::string> files) {
  tls::context common = tls::context::client();
  if (!files.empty()) {
    const std::string authorities = co_await read(io, files[0]);
    common = tls::context::client_trusting(authorities);
  }
  if (files.size() > 1) {
    const std::string certificate = co_await read(io, files[1]), key = co_await read(io, files.at(2));
    common.present(certificate, key);
  }
  common.set_protocols({"http/1.1"});
  auto secure = co_await tls::connect(io, host, port, common);
  std::fprintf(stderr, "%s %s\n", std::string{secure.protocol()}.c_str(), std::string{secure.alpn()}.c_str());
  const std::string request = "GET / HTTP/1.1\r\nHost: " + host + "\r\nConnection: close\r\n\r\n";
  co_await secure.send_all(request);
  char text[4096];
  for (;;) {
    const std::size_t size = co_await secure.read_some(text);
    if (size == 0) break;
    std::fwrite(text, 1, size, stdout);
  }
}

int main(int count, char** arguments) try {
  const std::vector<std::string> all(arguments + 1, arguments + count);
  std::setvbuf(stdout, nullptr, _IOLBF, 0);  // writes each line immediately, also into a file
  coracle::io_service io;
  if ((all.size() == 3 || all.size() == 4) && all[0] == "serve") {
    io.run(serve(io, {all.begin() + 1, all.end()}));
  } else if ((all.size() == 3 || all.size() == 4 || all.size() == 6) && all[0] == "get") {
    io.run(coracle::timeout(get(io, all[1], all[2], {all.begin() + 3, all.end()}), 10s));
  } else {
    std::fputs(
        "usage: tls serve CERTIFICATE KEY [AUTHORITIES] | tls get HOST PORT [AUTHORITIES [CERTIFICATE "
        "KEY]]\n",
        stderr);
    return 2;
  }
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "tls: %s\n", error.what());
  return 1;
}
