// tests/support/libc_addresses.hpp -- the texts of addresses as the C library reads them.
// SPDX-License-Identifier: MIT
#pragma once
#include <arpa/inet.h>

#include <coracle/net/ip_endpoint.hpp>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace coracle_test {
using coracle::net::ip_address;
using coracle::net::ip_endpoint;
using coracle::net::ipv4_address;
using coracle::net::ipv6_address;

inline std::optional<ipv4_address> libc_ipv4(const std::string& text) {
  std::uint8_t bytes[4];
  if (text.find('\0') != text.npos || inet_pton(AF_INET, text.c_str(), bytes) != 1) return std::nullopt;
  return ipv4_address(bytes);
}
inline std::optional<ipv6_address> libc_ipv6(const std::string& text) {
  std::uint8_t bytes[16];
  if (text.find('\0') != text.npos || inet_pton(AF_INET6, text.c_str(), bytes) != 1) return std::nullopt;
  return ipv6_address(bytes);
}
inline std::optional<ip_address> libc_address(const std::string& text) {
  if (const auto ipv4 = libc_ipv4(text)) return *ipv4;
  if (const auto ipv6 = libc_ipv6(text)) return *ipv6;
  return std::nullopt;
}
inline std::optional<ip_endpoint> libc_endpoint(const std::string& text) {
  const std::size_t colon = text.rfind(':');
  if (colon == text.npos) return std::nullopt;
  const std::string port = text.substr(colon + 1);
  if (port.empty() || port.size() > 5 || port.find_first_not_of("0123456789") != port.npos)
    return std::nullopt;
  if ((port.size() > 1 && port[0] == '0') || std::stoi(port) > 65535) return std::nullopt;
  const auto number = static_cast<std::uint16_t>(std::stoi(port));
  const std::string host = text.substr(0, colon);
  if (const auto ipv4 = libc_ipv4(host)) return ip_endpoint(*ipv4, number);
  if (host.size() < 2 || host.front() != '[' || host.back() != ']') return std::nullopt;
  if (const auto ipv6 = libc_ipv6(host.substr(1, host.size() - 2))) return ip_endpoint(*ipv6, number);
  return std::nullopt;
}

/// An exactly sized block, so that AddressSanitizer detects a read past the end.
class exactly {
 public:
  explicit exactly(const std::string& text) : bytes_(new char[text.size()]), size_(text.size()) {
    std::memcpy(bytes_.get(), text.data(), size_);
  }
  operator std::string_view() const { return {bytes_.get(), size_}; }

 private:
  std::unique_ptr<char[]> bytes_;
  std::size_t size_;
};
}  // namespace coracle_test
