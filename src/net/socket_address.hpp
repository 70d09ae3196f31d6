// src/net/socket_address.hpp -- conversions between endpoints and the kernel's socket addresses.
// SPDX-License-Identifier: MIT
#pragma once
#include <netinet/in.h>
#include <sys/socket.h>

#include <coracle/base/check.hpp>
#include <coracle/net/ip_endpoint.hpp>
#include <cstring>

namespace coracle::detail {
/// Fills `storage` for bind, connect or sendto, and returns the length to pass with it.
inline socklen_t to_sockaddr(const net::ip_endpoint& endpoint, sockaddr_storage& storage) noexcept {
  std::memset(&storage, 0, sizeof storage);
  if (endpoint.is_ipv4()) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(endpoint.port());
    std::memcpy(&address.sin_addr, endpoint.address().bytes(), 4);
    std::memcpy(&storage, &address, sizeof address);
    return sizeof address;
  }
  sockaddr_in6 address{};
  address.sin6_family = AF_INET6;
  address.sin6_port = htons(endpoint.port());
  std::memcpy(&address.sin6_addr, endpoint.address().bytes(), 16);
  std::memcpy(&storage, &address, sizeof address);
  return sizeof address;
}

/// Converts an address that accept, recvfrom or getsockname has stored. The zone of a link-local address is
/// dropped. Requires: the family is AF_INET or AF_INET6.
inline net::ip_endpoint from_sockaddr(const sockaddr_storage& storage) noexcept {
  if (storage.ss_family == AF_INET) {
    sockaddr_in address;
    std::memcpy(&address, &storage, sizeof address);
    return net::ipv4_endpoint(net::ipv4_address(ntohl(address.sin_addr.s_addr)), ntohs(address.sin_port));
  }
  CORACLE_REQUIRE(storage.ss_family == AF_INET6, "a socket address is neither IPv4 nor IPv6");
  sockaddr_in6 address;
  std::memcpy(&address, &storage, sizeof address);
  return net::ipv6_endpoint(net::ipv6_address(address.sin6_addr.s6_addr), ntohs(address.sin6_port));
}
}  // namespace coracle::detail
