// coracle/net/ip_endpoint.hpp -- an internet address of either family, and a port.
// SPDX-License-Identifier: MIT
#pragma once
#include <compare>
#include <concepts>
#include <coracle/net/ip_address.hpp>
#include <coracle/net/ipv4_endpoint.hpp>
#include <coracle/net/ipv6_endpoint.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace coracle::net {
/// An IPv4 or an IPv6 address, and a port: where a socket is bound or connected.
///
///     ip_endpoint server = ip_endpoint::from_string("[2001:db8::1]:443").value();
///     connect(server.address(), server.port());
///
/// Prefer ipv4_endpoint or ipv6_endpoint where the family is fixed.
/// Order         IPv4 before IPv6, then by address, then by port.
/// Exceptions    only to_string() may throw (std::bad_alloc).
/// Cost          24 bytes.
class ip_endpoint {
 public:
  /// The IPv4 endpoint 0.0.0.0:0.
  constexpr ip_endpoint() noexcept = default;
  explicit constexpr ip_endpoint(const ip_address& address, std::uint16_t port = 0) noexcept
      : address_(address), port_(port) {}
  template <std::convertible_to<std::string_view> Text>
  ip_endpoint(const Text&, std::uint16_t) = delete;  // ip_address::from_string(text).value() parses it
  constexpr ip_endpoint(ipv4_endpoint endpoint) noexcept : ip_endpoint(endpoint.address(), endpoint.port()) {}
  constexpr ip_endpoint(ipv6_endpoint endpoint) noexcept : ip_endpoint(endpoint.address(), endpoint.port()) {}

  constexpr bool is_ipv4() const noexcept { return address_.is_ipv4(); }
  constexpr bool is_ipv6() const noexcept { return address_.is_ipv6(); }
  /// Requires: is_ipv4().
  constexpr ipv4_endpoint to_ipv4() const noexcept { return ipv4_endpoint(address_.to_ipv4(), port_); }
  /// Requires: is_ipv6().
  constexpr ipv6_endpoint to_ipv6() const noexcept { return ipv6_endpoint(address_.to_ipv6(), port_); }
  constexpr const ip_address& address() const& noexcept { return address_; }
  constexpr ip_address address() const&& noexcept { return address_; }
  constexpr std::uint16_t port() const noexcept { return port_; }

  /// "1.2.3.4:80" or "[::1]:80".
  static std::optional<ip_endpoint> from_string(std::string_view text) noexcept;
  std::string to_string() const;

  friend constexpr bool operator==(const ip_endpoint&, const ip_endpoint&) noexcept = default;
  friend constexpr std::strong_ordering operator<=>(const ip_endpoint&,
                                                    const ip_endpoint&) noexcept = default;

 private:
  ip_address address_;
  std::uint16_t port_ = 0;
};
}  // namespace coracle::net

template <>
struct std::hash<coracle::net::ip_endpoint> {
  std::size_t operator()(const coracle::net::ip_endpoint& endpoint) const noexcept {
    return std::hash<coracle::net::ip_address>{}(endpoint.address()) * 31 + endpoint.port();
  }
};
