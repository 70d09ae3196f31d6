// src/net/ipv6_endpoint.cpp -- the text form of an IPv6 address and a port.
// SPDX-License-Identifier: MIT
#include <coracle/net/ipv6_endpoint.hpp>

#include "text.hpp"

namespace coracle::net {
std::optional<ipv6_endpoint> ipv6_endpoint::from_string(std::string_view input) noexcept {
  const std::size_t bracket = input.find("]:");
  if (!input.starts_with('[') || bracket == std::string_view::npos) return std::nullopt;
  const auto address = ipv6_address::from_string(input.substr(1, bracket - 1));
  const auto port = text::parse_port(input.substr(bracket + 2));
  if (!address || !port) return std::nullopt;
  return ipv6_endpoint(*address, *port);
}

std::string ipv6_endpoint::to_string() const {
  char buffer[1 + text::longest_ipv6 + 1 + text::longest_port];
  buffer[0] = '[';
  char* end = text::print(buffer + 1, address_);
  *end++ = ']';
  return std::string(buffer, text::print_port(end, port_));
}
}  // namespace coracle::net
