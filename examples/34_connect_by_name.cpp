// examples/34_connect_by_name.cpp -- connect to a host by name: the first of its addresses to answer is used.
// SPDX-License-Identifier: MIT
#include <chrono>
#include <coracle/coracle.hpp>
#include <coracle/io.hpp>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <string>

using coracle::net::socket;
using namespace std::chrono_literals;

coracle::task<> greet(socket& listener) {
  socket client = co_await coracle::net::accept_with_backoff(listener);
  co_await client.send_all("hello\n");
}

/// The timeout limits the whole, except that a resolver call that has begun is awaited.
coracle::task<> ask(coracle::io_service& io, std::string host, std::uint16_t port) {
  try {
    socket connection = co_await coracle::timeout(coracle::net::connect(io, host, port), 5s);
    coracle::buffered_reader reader{connection};
    const auto line = co_await reader.read_line();
    std::printf("%s says: %s\n", host.c_str(), std::string(line.value_or("nothing")).c_str());
  } catch (const coracle::timed_out&) {
    std::printf("%s: no answer\n", host.c_str());
  } catch (const std::exception&) {  // std::system_error, or an error_group with one for each address
    std::printf("%s: not found, or refused\n", host.c_str());
  }
}

/// If localhost also has the address ::1, that is tried first and refused.
coracle::task<> run(coracle::io_service& io) {
  socket listener = socket::create_tcpv4(io);
  listener.bind(coracle::net::ipv4_endpoint{coracle::net::ipv4_address::loopback(), 0});
  listener.listen();
  const std::uint16_t port = listener.local_endpoint().port();
  co_await coracle::when_all(greet(listener), ask(io, "localhost", port));
  listener.close();
  co_await ask(io, "localhost", port);
}

int main() {
  coracle::io_service io;
  io.run(run(io));
}

// Output:
//   localhost says: hello
//   localhost: not found, or refused
