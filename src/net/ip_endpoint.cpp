// src/net/ip_endpoint.cpp -- the text form of an endpoint of either family.
// SPDX-License-Identifier: MIT
#include <coracle/net/ip_endpoint.hpp>

namespace coracle::net {
std::optional<ip_endpoint> ip_endpoint::from_string(std::string_view input) noexcept {
  if (const auto ipv4 = ipv4_endpoint::from_string(input)) return *ipv4;
  if (const auto ipv6 = ipv6_endpoint::from_string(input)) return *ipv6;
  return std::nullopt;
}

std::string ip_endpoint::to_string() const {
  return is_ipv4() ? to_ipv4().to_string() : to_ipv6().to_string();
}
}  // namespace coracle::net
