// examples/34_connect_by_name.cpp -- connect to a host by name: the system's resolver, which blocks its
// thread, returns the addresses, which are tried in turn.
// SPDX-License-Identifier: MIT
#include <netdb.h>
#include <netinet/in.h>

#include <chrono>
#include <coracle/coracle.hpp>
#include <coracle/io.hpp>
#include <cstdio>
#include <cstring>
#include <exception>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

using coracle::net::ip_endpoint;
using coracle::net::ipv4_endpoint;
using coracle::net::ipv6_address;
using coracle::net::ipv6_endpoint;
using tcp_socket = coracle::net::socket;  // <netdb.h> has a function socket()
using namespace std::chrono_literals;

/// The error category for codes of getaddrinfo().
const std::error_category& resolver_category() {
  static const struct : std::error_category {
    const char* name() const noexcept override { return "resolver"; }
    std::string message(int error) const override { return ::gai_strerror(error); }
  } its;
  return its;
}

ip_endpoint endpoint_of(const addrinfo& entry) {
  if (entry.ai_family == AF_INET) {
    sockaddr_in from;
    std::memcpy(&from, entry.ai_addr, sizeof from);
    return ipv4_endpoint{coracle::net::ipv4_address{ntohl(from.sin_addr.s_addr)}, ntohs(from.sin_port)};
  }
  sockaddr_in6 from;
  std::memcpy(&from, entry.ai_addr, sizeof from);
  std::uint16_t groups[8];
  for (int i = 0; i != 8; ++i) {
    groups[i] =
        static_cast<std::uint16_t>(from.sin6_addr.s6_addr[2 * i] << 8 | from.sin6_addr.s6_addr[2 * i + 1]);
  }
  return ipv6_endpoint{ipv6_address{groups}, ntohs(from.sin6_port)};
}

/// Returns the addresses of a TCP service in the system's order of preference. Unlike gethostbyname(),
/// getaddrinfo() may be called on several threads at once.
coracle::task<std::vector<ip_endpoint>> resolve(std::string host, std::string service) {
  const auto look_up = [&] {
    addrinfo wanted{};
    wanted.ai_socktype = SOCK_STREAM;
    addrinfo* list = nullptr;
    const int error = ::getaddrinfo(host.c_str(), service.c_str(), &wanted, &list);
    if (error != 0) throw std::system_error(error, resolver_category(), host);
    const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner{list, &::freeaddrinfo};
    std::vector<ip_endpoint> found;
    for (const addrinfo* each = list; each; each = each->ai_next) {
      if (each->ai_family == AF_INET || each->ai_family == AF_INET6) found.push_back(endpoint_of(*each));
    }
    return found;
  };
  std::vector<ip_endpoint> found = co_await coracle::blocking(look_up);
  co_return found;
}

coracle::task<tcp_socket> connect_to(coracle::io_service& io, ip_endpoint address) {
  tcp_socket connection = address.is_ipv4() ? tcp_socket::create_tcpv4(io) : tcp_socket::create_tcpv6(io);
  co_await connection.connect(address);
  co_return connection;
}

/// Tries the addresses in turn, for 2 s each, and throws the last error. A timeout around it limits the
/// whole, except that a resolver call that has begun is awaited.
coracle::task<tcp_socket> connect_by_name(coracle::io_service& io, std::string host, std::string service) {
  const std::vector<ip_endpoint> addresses = co_await resolve(host, service);
  std::exception_ptr last = std::make_exception_ptr(std::system_error(EAI_NONAME, resolver_category(), host));
  for (const ip_endpoint& address : addresses) {
    try {
      tcp_socket connection = co_await coracle::timeout(connect_to(io, address), 2s);
      co_return connection;
    } catch (const std::system_error&) {
      last = std::current_exception();
    } catch (const coracle::timed_out&) {
      last = std::current_exception();
    }
  }
  std::rethrow_exception(last);
}

coracle::task<> greet(tcp_socket& listener) {
  tcp_socket client = co_await coracle::net::accept_with_backoff(listener);
  co_await client.send_all("hello\n", 6);
}

coracle::task<> ask(coracle::io_service& io, std::string host, std::string service) {
  try {
    tcp_socket connection = co_await connect_by_name(io, host, service);
    std::string text;
    const std::size_t size = co_await connection.recv_until(text, "\n", 100);
    std::printf("%s says: %s", host.c_str(), text.substr(0, size).c_str());
  } catch (const std::system_error& error) {
    std::printf("%s: %s\n", host.c_str(),
                error.code() == std::errc::connection_refused ? "refused" : "not found");
  }
}

/// If localhost also has the address ::1, that is tried first and refused.
coracle::task<> run(coracle::io_service& io) {
  tcp_socket listener = tcp_socket::create_tcpv4(io);
  listener.bind(ipv4_endpoint{coracle::net::ipv4_address::loopback(), 0});
  listener.listen();
  const std::string port = std::to_string(listener.local_endpoint().port());
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
//   localhost: refused
