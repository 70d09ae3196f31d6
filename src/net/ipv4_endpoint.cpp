// src/net/ipv4_endpoint.cpp -- the text form of an IPv4 address and a port.
// SPDX-License-Identifier: MIT
#include <coracle/net/ipv4_endpoint.hpp>

#include "text.hpp"

namespace coracle::net {
std::optional<ipv4_endpoint> ipv4_endpoint::from_string(std::string_view input) noexcept {
  const std::size_t colon = input.find(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const auto address = text::parse_dotted(input.substr(0, colon));
  const auto port = text::parse_port(input.substr(colon + 1));
  if (!address || !port) return std::nullopt;
  return ipv4_endpoint(*address, *port);
}

std::string ipv4_endpoint::to_string() const {
  char buffer[text::longest_ipv4 + text::longest_port];
  char* const end = text::print(buffer, address_);
  return std::string(buffer, text::print_port(end, port_));
}
}  // namespace coracle::net
