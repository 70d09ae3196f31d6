// coracle/net/ipv4_address.hpp -- an IPv4 address: a value of four bytes.
// SPDX-License-Identifier: MIT
#pragma once
#include <compare>
#include <coracle/base/config.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace coracle::net {
/// An IPv4 address.
///
///     auto address = ipv4_address::from_string("192.168.0.1").value();
///     bool is_mine = address.is_private_network() || address == ipv4_address::loopback();
///
/// Prefer ip_address when the family is known only at run time.
/// Order         by value: 9.0.0.0 < 10.0.0.0.
/// Exceptions    only to_string() may throw (std::bad_alloc).
/// Cost          4 bytes. from_string() does not allocate, nor does to_string() if std::string stores 15
///               characters in place.
class ipv4_address {
 public:
  /// 0.0.0.0.
  constexpr ipv4_address() noexcept = default;
  /// The most significant byte comes first: 0x7f000001 is 127.0.0.1.
  explicit constexpr ipv4_address(std::uint32_t integer) noexcept
      : ipv4_address(static_cast<std::uint8_t>(integer >> 24), static_cast<std::uint8_t>(integer >> 16),
                     static_cast<std::uint8_t>(integer >> 8), static_cast<std::uint8_t>(integer)) {}
  /// Network byte order.
  explicit constexpr ipv4_address(const std::uint8_t (&bytes)[4]) noexcept
      : ipv4_address(bytes[0], bytes[1], bytes[2], bytes[3]) {}
  explicit constexpr ipv4_address(std::uint8_t b0, std::uint8_t b1, std::uint8_t b2, std::uint8_t b3) noexcept
      : bytes_{b0, b1, b2, b3} {}

  /// 127.0.0.1.
  static constexpr ipv4_address loopback() noexcept { return ipv4_address(127, 0, 0, 1); }

  /// Parses "1.2.3.4", or one decimal integer below 2^32 ("16909060"), and nothing else: no surrounding
  /// space, no hexadecimal, no two or three parts. Rejects leading zeros, because some programs read "010" as
  /// octal and others as ten.
  static std::optional<ipv4_address> from_string(std::string_view text) noexcept;
  /// "1.2.3.4".
  std::string to_string() const;

  /// Network byte order.
  constexpr const std::uint8_t (&bytes() const noexcept)[4] { return bytes_; }
  constexpr std::uint32_t to_integer() const noexcept {
    return std::uint32_t{bytes_[0]} << 24 | std::uint32_t{bytes_[1]} << 16 | std::uint32_t{bytes_[2]} << 8 |
           std::uint32_t{bytes_[3]};
  }

  /// 0.0.0.0: any address of this host.
  constexpr bool is_unspecified() const noexcept { return to_integer() == 0; }
  /// 127.0.0.0/8 (RFC 1122).
  constexpr bool is_loopback() const noexcept { return bytes_[0] == 127; }
  /// 10.0.0.0/8, 172.16.0.0/12 or 192.168.0.0/16 (RFC 1918).
  constexpr bool is_private_network() const noexcept {
    return bytes_[0] == 10 || (bytes_[0] == 172 && bytes_[1] >> 4 == 1) ||
           (bytes_[0] == 192 && bytes_[1] == 168);
  }
  /// 169.254.0.0/16 (RFC 3927).
  constexpr bool is_link_local() const noexcept { return bytes_[0] == 169 && bytes_[1] == 254; }
  /// 224.0.0.0/4 (RFC 5771).
  constexpr bool is_multicast() const noexcept { return bytes_[0] >> 4 == 14; }

  friend constexpr bool operator==(ipv4_address a, ipv4_address b) noexcept {
    return a.to_integer() == b.to_integer();
  }
  friend constexpr std::strong_ordering operator<=>(ipv4_address a, ipv4_address b) noexcept {
    return a.to_integer() <=> b.to_integer();
  }

 private:
  alignas(std::uint32_t) std::uint8_t bytes_[4] = {};
};
}  // namespace coracle::net

template <>
struct std::hash<coracle::net::ipv4_address> {
  std::size_t operator()(coracle::net::ipv4_address address) const noexcept {
    return std::hash<std::uint32_t>{}(address.to_integer());
  }
};
