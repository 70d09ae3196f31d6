// src/net/text.hpp -- parsing and printing shared by the text forms of addresses and endpoints.
// SPDX-License-Identifier: MIT
#pragma once
#include <algorithm>
#include <charconv>
#include <coracle/net/ipv4_address.hpp>
#include <coracle/net/ipv6_address.hpp>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace coracle::net::text {
/// Removes a decimal number of at most `limit` from the front of `text`, and returns it. Rejects a leading
/// zero.
inline std::optional<std::uint32_t> take_decimal(std::string_view& text, std::uint32_t limit) noexcept {
  const std::size_t max_digits = std::min<std::size_t>(text.size(), 10);  // UINT32_MAX has 10
  std::uint64_t number = 0;
  std::size_t length = 0;
  for (; length != max_digits && text[length] >= '0' && text[length] <= '9'; ++length) {
    number = number * 10 + static_cast<unsigned>(text[length] - '0');
  }
  if (length == 0 || number > limit || (length > 1 && text[0] == '0')) return std::nullopt;
  text.remove_prefix(length);
  return static_cast<std::uint32_t>(number);
}
inline bool take(std::string_view& text, std::string_view wanted) noexcept {
  if (!text.starts_with(wanted)) return false;
  text.remove_prefix(wanted.size());
  return true;
}
/// Parses "1.2.3.4", but no single integer.
std::optional<ipv4_address> parse_dotted(std::string_view text) noexcept;
/// Parses all of `text` as a port.
inline std::optional<std::uint16_t> parse_port(std::string_view text) noexcept {
  const auto port = take_decimal(text, 65535);
  if (!port || !text.empty()) return std::nullopt;
  return static_cast<std::uint16_t>(*port);
}

inline constexpr std::size_t longest_ipv4 = 15;  // 255.255.255.255
inline constexpr std::size_t longest_ipv6 = 39;  // eight groups of four digits
inline constexpr std::size_t longest_port = 6;   // :65535
/// Writes at most longest_ipv4 or longest_ipv6 characters, and returns the end of the text.
char* print(char* out, ipv4_address address) noexcept;
char* print(char* out, const ipv6_address& address) noexcept;
/// Writes at most longest_port characters: a colon and the number.
inline char* print_port(char* out, std::uint16_t port) noexcept {
  *out++ = ':';
  return std::to_chars(out, out + longest_port - 1, port).ptr;
}
}  // namespace coracle::net::text
