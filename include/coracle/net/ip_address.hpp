// coracle/net/ip_address.hpp -- an internet address of either family.
// SPDX-License-Identifier: MIT
#pragma once
#include <compare>
#include <coracle/base/check.hpp>
#include <coracle/net/ipv4_address.hpp>
#include <coracle/net/ipv6_address.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace coracle::net {
/// An IPv4 or an IPv6 address.
///
///     ip_address address = ip_address::from_string("::1").value();
///     if (address.is_ipv6()) use(address.to_ipv6());
///
/// Prefer ipv4_address or ipv6_address where the family is fixed.
/// Order         IPv4 before IPv6, then by value. An IPv4 address never equals an IPv6 one, mapped or not.
/// Exceptions    only to_string() may throw (std::bad_alloc).
/// Cost          20 bytes.
class ip_address {
 public:
  /// The IPv4 address 0.0.0.0.
  constexpr ip_address() noexcept = default;
  constexpr ip_address(ipv4_address address) noexcept : bits_(std::uint64_t{address.to_integer()} << 32, 0) {}
  constexpr ip_address(ipv6_address address) noexcept : is_ipv6_(true), bits_(address) {}

  constexpr bool is_ipv4() const noexcept { return !is_ipv6_; }
  constexpr bool is_ipv6() const noexcept { return is_ipv6_; }
  /// Requires: is_ipv4().
  constexpr ipv4_address to_ipv4() const noexcept {
    CORACLE_REQUIRE(is_ipv4(), "to_ipv4() of an IPv6 address: check is_ipv4() first");
    return ipv4_address(static_cast<std::uint32_t>(bits_.subnet_prefix() >> 32));
  }
  /// Requires: is_ipv6().
  constexpr const ipv6_address& to_ipv6() const& noexcept {
    CORACLE_REQUIRE(is_ipv6(), "to_ipv6() of an IPv4 address: check is_ipv6() first");
    return bits_;
  }
  constexpr ipv6_address to_ipv6() const&& noexcept { return to_ipv6(); }
  /// Four or sixteen bytes in network order.
  constexpr const std::uint8_t* bytes() const noexcept { return bits_.bytes(); }

  /// Parses "1.2.3.4", or an IPv6 address. Rejects a single integer, which would more likely be a misplaced
  /// port or count than an address.
  static std::optional<ip_address> from_string(std::string_view text) noexcept;
  std::string to_string() const;

  constexpr bool is_unspecified() const noexcept { return bits_ == ipv6_address::unspecified(); }
  constexpr bool is_loopback() const noexcept {
    return is_ipv6_ ? bits_.is_loopback() : to_ipv4().is_loopback();
  }
  constexpr bool is_private_network() const noexcept {
    return is_ipv6_ ? bits_.is_private_network() : to_ipv4().is_private_network();
  }
  constexpr bool is_link_local() const noexcept {
    return is_ipv6_ ? bits_.is_link_local() : to_ipv4().is_link_local();
  }
  constexpr bool is_multicast() const noexcept {
    return is_ipv6_ ? bits_.is_multicast() : to_ipv4().is_multicast();
  }

  friend constexpr bool operator==(const ip_address&, const ip_address&) noexcept = default;
  friend constexpr std::strong_ordering operator<=>(const ip_address&, const ip_address&) noexcept = default;

 private:
  bool is_ipv6_ = false;
  ipv6_address bits_;  // holds an IPv4 address in the first four bytes; the others are zero
};
}  // namespace coracle::net

template <>
struct std::hash<coracle::net::ip_address> {
  std::size_t operator()(const coracle::net::ip_address& address) const noexcept;
};
