// SPDX-License-Identifier: MIT
#include <coracle/base/check.hpp>
#include <coracle/io/io_result.hpp>
#include <coracle/net/connect.hpp>
#include <coracle/time/hedge.hpp>
#include <coracle/time/sleep.hpp>
#include <system_error>

namespace coracle::net {
coracle::detail::library_task<socket> detail::connect_body(io_service& service, ip_endpoint remote) {
  socket connection = remote.is_ipv4() ? socket::create_tcpv4(service) : socket::create_tcpv6(service);
  co_await connection.connect(remote);
  co_return connection;
}

coracle::detail::library_task<socket> detail::connect_body(io_service& service,
                                                           std::vector<ip_endpoint> addresses) {
  CORACLE_REQUIRE(!addresses.empty(), "connect() of an empty list of addresses: pass at least one");
  const auto attempt = [&](unsigned number) { return connect(service, addresses[number]); };
  socket first = co_await hedge(next_attempt_after, attempt, static_cast<unsigned>(addresses.size()));
  co_return first;
}

coracle::detail::library_task<socket> detail::connect_body(io_service& service, std::string host,
                                                           std::string port) {
  std::vector<ip_endpoint> found = co_await resolve(std::move(host), std::move(port));
  socket first = co_await connect(service, std::move(found));
  co_return first;
}

coracle::detail::library_task<unix_socket> detail::connect_body(io_service& service, unix_address remote) {
  constexpr std::chrono::milliseconds longest{128};
  unix_socket connection = unix_socket::create(service, unix_kind::stream);
  for (std::chrono::milliseconds delay{1};; delay = delay < longest ? 2 * delay : longest) {
    const auto connected = co_await coracle::detail::unless_error(std::errc::resource_unavailable_try_again,
                                                                  connection.connect(remote));
    if (connected) co_return connection;
    co_await sleep_for(delay);
  }
}
}  // namespace coracle::net
