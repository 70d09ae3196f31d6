// coracle/net/ipv4_endpoint.hpp -- an IPv4 address and a port.
// SPDX-License-Identifier: MIT
#pragma once
#include <compare>
#include <concepts>
#include <coracle/net/ipv4_address.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace coracle::net {
/// An IPv4 address and a port.
///
///     ipv4_endpoint endpoint(ipv4_address::loopback(), 8080);
///     std::string text = endpoint.to_string();  // "127.0.0.1:8080"
///
/// Prefer ip_endpoint when the family is known only at run time.
/// Order         by address, then by port.
/// Exceptions    only to_string() may throw (std::bad_alloc).
/// Cost          8 bytes.
class ipv4_endpoint {
 public:
  /// 0.0.0.0:0.
  constexpr ipv4_endpoint() noexcept = default;
  explicit constexpr ipv4_endpoint(ipv4_address address, std::uint16_t port = 0) noexcept
      : address_(address), port_(port) {}
  template <std::convertible_to<std::string_view> Text>
  ipv4_endpoint(const Text&, std::uint16_t) = delete;  // ipv4_address::from_string(text).value() parses it

  constexpr const ipv4_address& address() const& noexcept { return address_; }
  constexpr ipv4_address address() const&& noexcept { return address_; }
  constexpr std::uint16_t port() const noexcept { return port_; }

  /// Parses "1.2.3.4:80": an address in dotted decimal only, and a port from 0 to 65535 without leading
  /// zeros.
  static std::optional<ipv4_endpoint> from_string(std::string_view text) noexcept;
  std::string to_string() const;

  friend constexpr bool operator==(const ipv4_endpoint&, const ipv4_endpoint&) noexcept = default;
  friend constexpr std::strong_ordering operator<=>(const ipv4_endpoint&,
                                                    const ipv4_endpoint&) noexcept = default;

 private:
  ipv4_address address_;
  std::uint16_t port_ = 0;
};
}  // namespace coracle::net

template <>
struct std::hash<coracle::net::ipv4_endpoint> {
  std::size_t operator()(const coracle::net::ipv4_endpoint& endpoint) const noexcept {
    return std::hash<std::uint64_t>{}(std::uint64_t{endpoint.address().to_integer()} << 16 | endpoint.port());
  }
};
