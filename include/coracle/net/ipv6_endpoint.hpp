// coracle/net/ipv6_endpoint.hpp -- an IPv6 address and a port.
// SPDX-License-Identifier: MIT
#pragma once
#include <compare>
#include <concepts>
#include <coracle/net/ipv6_address.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace coracle::net {
/// An IPv6 address and a port.
///
///     ipv6_endpoint endpoint(ipv6_address::loopback(), 8080);
///     std::string text = endpoint.to_string();  // "[::1]:8080"
///
/// Prefer ip_endpoint when the family is known only at run time.
/// Order         by address, then by port.
/// Exceptions    only to_string() may throw (std::bad_alloc).
/// Cost          20 bytes.
class ipv6_endpoint {
 public:
  /// [::]:0.
  constexpr ipv6_endpoint() noexcept = default;
  explicit constexpr ipv6_endpoint(ipv6_address address, std::uint16_t port = 0) noexcept
      : address_(address), port_(port) {}
  template <std::convertible_to<std::string_view> Text>
  ipv6_endpoint(const Text&, std::uint16_t) = delete;  // ipv6_address::from_string(text).value() parses it

  constexpr const ipv6_address& address() const& noexcept { return address_; }
  constexpr ipv6_address address() const&& noexcept { return address_; }
  constexpr std::uint16_t port() const noexcept { return port_; }

  /// Parses "[::1]:80" (RFC 5952, 6). The brackets are required; the port is 0 to 65535, without leading
  /// zeros.
  static std::optional<ipv6_endpoint> from_string(std::string_view text) noexcept;
  std::string to_string() const;

  friend constexpr bool operator==(const ipv6_endpoint&, const ipv6_endpoint&) noexcept = default;
  friend constexpr std::strong_ordering operator<=>(const ipv6_endpoint&,
                                                    const ipv6_endpoint&) noexcept = default;

 private:
  ipv6_address address_;
  std::uint16_t port_ = 0;
};
}  // namespace coracle::net

template <>
struct std::hash<coracle::net::ipv6_endpoint> {
  std::size_t operator()(const coracle::net::ipv6_endpoint& endpoint) const noexcept {
    return std::hash<coracle::net::ipv6_address>{}(endpoint.address()) * 31 + endpoint.port();
  }
};
