// src/net/ipv4_address.cpp -- the text forms of an IPv4 address.
// SPDX-License-Identifier: MIT
#include <coracle/net/ipv4_address.hpp>

#include "text.hpp"

namespace coracle::net {
std::optional<ipv4_address> text::parse_dotted(std::string_view rest) noexcept {
  std::uint32_t integer = 0;
  for (int part = 0; part != 4; ++part) {
    if (part != 0 && !take(rest, ".")) return std::nullopt;
    const auto byte = take_decimal(rest, 255);
    if (!byte) return std::nullopt;
    integer = integer << 8 | *byte;
  }
  if (!rest.empty()) return std::nullopt;
  return ipv4_address(integer);
}

char* text::print(char* out, ipv4_address address) noexcept {
  for (int part = 0; part != 4; ++part) {
    if (part != 0) *out++ = '.';
    out = std::to_chars(out, out + 3, address.bytes()[part]).ptr;
  }
  return out;
}

std::optional<ipv4_address> ipv4_address::from_string(std::string_view input) noexcept {
  if (const auto dotted = text::parse_dotted(input)) return dotted;
  const auto integer = text::take_decimal(input, UINT32_MAX);
  if (!integer || !input.empty()) return std::nullopt;
  return ipv4_address(*integer);
}

std::string ipv4_address::to_string() const {
  char buffer[text::longest_ipv4];
  return std::string(buffer, text::print(buffer, *this));
}
}  // namespace coracle::net
