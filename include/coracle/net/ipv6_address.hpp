// coracle/net/ipv6_address.hpp -- an IPv6 address: a value of sixteen bytes.
// SPDX-License-Identifier: MIT
#pragma once
#include <compare>
#include <coracle/net/ipv4_address.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace coracle::net {
/// An IPv6 address, without a zone.
///
///     auto address = ipv6_address::from_string("2001:DB8:0:0:0:0:0:1").value();
///     std::string text = address.to_string();  // "2001:db8::1"
///
/// Prefer ip_address when the family is known only at run time.
/// Order         by value, as bytes in network order.
/// Exceptions    only to_string() may throw (std::bad_alloc).
/// Cost          16 bytes; from_string() does not allocate.
class ipv6_address {
 public:
  /// The unspecified address, "::".
  constexpr ipv6_address() noexcept = default;
  /// The upper and the lower 64 bits.
  explicit constexpr ipv6_address(std::uint64_t subnet_prefix, std::uint64_t interface_identifier) noexcept {
    for (int i = 0; i != 8; ++i) {
      bytes_[i] = static_cast<std::uint8_t>(subnet_prefix >> (56 - 8 * i));
      bytes_[8 + i] = static_cast<std::uint8_t>(interface_identifier >> (56 - 8 * i));
    }
  }
  /// The eight groups of the text form, from the left.
  constexpr ipv6_address(std::uint16_t g0, std::uint16_t g1, std::uint16_t g2, std::uint16_t g3,
                         std::uint16_t g4, std::uint16_t g5, std::uint16_t g6, std::uint16_t g7) noexcept
      : ipv6_address(join(g0, g1, g2, g3), join(g4, g5, g6, g7)) {}
  explicit constexpr ipv6_address(const std::uint16_t (&groups)[8]) noexcept
      : ipv6_address(groups[0], groups[1], groups[2], groups[3], groups[4], groups[5], groups[6], groups[7]) {
  }
  /// Network byte order.
  explicit constexpr ipv6_address(const std::uint8_t (&bytes)[16]) noexcept {
    for (int i = 0; i != 16; ++i) bytes_[i] = bytes[i];
  }

  /// "::".
  static constexpr ipv6_address unspecified() noexcept { return ipv6_address(); }
  /// "::1".
  static constexpr ipv6_address loopback() noexcept { return ipv6_address(0, 1); }
  /// "::ffff:1.2.3.4": an IPv4 peer, as a socket for both families reports it (RFC 4291, 2.5.5.2).
  static constexpr ipv6_address mapped(ipv4_address address) noexcept {
    return ipv6_address(0, mapped_prefix << 32 | address.to_integer());
  }

  /// Parses the three forms of RFC 4291, 2.2: eight groups of one to four hexadecimal digits, in either case;
  /// one "::" for one or more groups of zeros; an IPv4 address in dotted decimal for the last two groups.
  /// Rejects spaces, brackets, a prefix length, and a zone ("%eth0"), which is local to one host and not part
  /// of the address.
  static std::optional<ipv6_address> from_string(std::string_view text) noexcept;
  /// The form that RFC 5952 recommends: lower case, no leading zeros, "::" for the first of the longest runs
  /// of two or more zero groups. Addresses whose prefix marks an embedded IPv4 address, ::ffff:0:0/96 or
  /// 64:ff9b::/96 (RFC 6052), end in dotted decimal; those of the deprecated prefix ::/96 do not.
  std::string to_string() const;

  /// Network byte order.
  constexpr const std::uint8_t (&bytes() const noexcept)[16] { return bytes_; }
  /// The upper 64 bits.
  constexpr std::uint64_t subnet_prefix() const noexcept { return half(0); }
  /// The lower 64 bits.
  constexpr std::uint64_t interface_identifier() const noexcept { return half(8); }
  /// The IPv4 address of a mapped() address; std::nullopt for other addresses.
  // A template: the members of std::optional are instantiated only where it is called.
  template <class IPv4 = ipv4_address>
  constexpr std::optional<IPv4> mapped_ipv4() const noexcept {
    if (half(0) != 0 || half(8) >> 32 != mapped_prefix) return std::nullopt;
    return IPv4(static_cast<std::uint32_t>(half(8)));
  }

  // All of these return false for a mapped address: test the result of mapped_ipv4() instead.
  /// "::": any address of this host.
  constexpr bool is_unspecified() const noexcept { return *this == unspecified(); }
  /// "::1".
  constexpr bool is_loopback() const noexcept { return *this == loopback(); }
  /// fc00::/7, the unique local addresses (RFC 4193).
  constexpr bool is_private_network() const noexcept { return (bytes_[0] & 0xfe) == 0xfc; }
  /// fe80::/10 (RFC 4291).
  constexpr bool is_link_local() const noexcept { return bytes_[0] == 0xfe && bytes_[1] >> 6 == 2; }
  /// ff00::/8 (RFC 4291).
  constexpr bool is_multicast() const noexcept { return bytes_[0] == 0xff; }

  friend constexpr bool operator==(const ipv6_address& a, const ipv6_address& b) noexcept {
    return a.half(0) == b.half(0) && a.half(8) == b.half(8);
  }
  friend constexpr std::strong_ordering operator<=>(const ipv6_address& a, const ipv6_address& b) noexcept {
    const std::strong_ordering upper = a.half(0) <=> b.half(0);
    return std::is_neq(upper) ? upper : a.half(8) <=> b.half(8);
  }

 private:
  static constexpr std::uint64_t mapped_prefix = 0xffff;

  static constexpr std::uint64_t join(std::uint16_t a, std::uint16_t b, std::uint16_t c,
                                      std::uint16_t d) noexcept {
    return std::uint64_t{a} << 48 | std::uint64_t{b} << 32 | std::uint64_t{c} << 16 | std::uint64_t{d};
  }
  constexpr std::uint64_t half(int first) const noexcept {
    std::uint64_t integer = 0;
    for (int i = 0; i != 8; ++i) integer = integer << 8 | bytes_[first + i];
    return integer;
  }

  alignas(std::uint32_t) std::uint8_t bytes_[16] = {};
};
}  // namespace coracle::net

template <>
struct std::hash<coracle::net::ipv6_address> {
  std::size_t operator()(const coracle::net::ipv6_address& address) const noexcept;
};
