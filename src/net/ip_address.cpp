// src/net/ip_address.cpp -- the text form of an address of either family.
// SPDX-License-Identifier: MIT
#include <coracle/net/ip_address.hpp>

#include "text.hpp"

namespace coracle::net {
std::optional<ip_address> ip_address::from_string(std::string_view input) noexcept {
  if (const auto ipv4 = text::parse_dotted(input)) return *ipv4;
  if (const auto ipv6 = ipv6_address::from_string(input)) return *ipv6;
  return std::nullopt;
}

std::string ip_address::to_string() const {
  return is_ipv4() ? to_ipv4().to_string() : to_ipv6().to_string();
}
}  // namespace coracle::net

std::size_t std::hash<coracle::net::ip_address>::operator()(
    const coracle::net::ip_address& address) const noexcept {
  return std::hash<std::string_view>{}(
      {reinterpret_cast<const char*>(address.bytes()), address.is_ipv4() ? 4U : 16U});
}
