// tests/unit/net_libc_test.cpp -- parsing and printing addresses agrees with the C library, on random text.
// SPDX-License-Identifier: MIT
#include <arpa/inet.h>
#include <doctest/doctest.h>

#include <algorithm>
#include <coracle/net/ip_endpoint.hpp>
#include <coracle/testing/allocations.hpp>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <random>
#include <string>
#include <string_view>

#include "../support/libc_addresses.hpp"

// Deliberate differences: ipv4_address also parses a single integer, and to_string() of an IPv6 address
// prints an IPv4 tail for the prefix 64:ff9b::/96, and none for the deprecated ::/96.
namespace {
using coracle::net::ip_address;
using coracle::net::ip_endpoint;
using coracle::net::ipv4_address;
using coracle::net::ipv6_address;

using coracle_test::exactly;
using coracle_test::libc_address;
using coracle_test::libc_endpoint;
using coracle_test::libc_ipv4;
using coracle_test::libc_ipv6;

constexpr int rounds = 50'000;

class source {
 public:
  explicit source(unsigned seed) : random_(seed) {}
  std::size_t below(std::size_t limit) { return random_() % limit; }

  ipv4_address ipv4() { return ipv4_address(static_cast<std::uint32_t>(random_() >> below(32))); }
  /// Half of the groups are zero, a third are small; some addresses have a prefix with a meaning.
  ipv6_address ipv6() {
    std::uint16_t groups[8] = {};
    for (auto& group : groups) {
      if (below(2) == 0) group = static_cast<std::uint16_t>(random_() >> (16 + below(16)));
    }
    const std::uint16_t prefixes[][6] = {{0, 0, 0, 0, 0, 0xffff}, {0x64, 0xff9b}, {}};
    if (const std::size_t prefix = below(9); prefix < 3) std::copy_n(prefixes[prefix], 6, groups);
    return ipv6_address(groups);
  }
  /// A valid text form of an address, canonical or not.
  std::string text() {
    if (below(3) == 0) return ipv4().to_string();
    const ipv6_address address = ipv6();
    if (below(2) == 0) return address.to_string();
    std::string text;
    const std::size_t count = below(3) == 0 ? 6 : 8;
    for (std::size_t i = 0; i != count; ++i) {
      char group[8];
      const int value = address.bytes()[2 * i] << 8 | address.bytes()[2 * i + 1];
      std::snprintf(group, sizeof group, below(2) == 0 ? "%04X:" : "%x:", static_cast<unsigned>(value));
      text += group;
    }
    if (count == 6) return text + ipv4().to_string();
    text.pop_back();
    return text;
  }
  std::string endpoint() {
    const std::string address = text();
    const std::string port = ":" + std::to_string(below(70'000));
    return address.find(':') == address.npos ? address + port : "[" + address + "]" + port;
  }
  /// Changes, inserts, removes or repeats one to three characters.
  std::string mutated(std::string text) {
    constexpr std::string_view alphabet("0123456789abcdefABCDFEgG:::...%[]/ -+x\0", 39);
    for (std::size_t changes = 1 + below(3); changes != 0; --changes) {
      const std::size_t at = below(text.size() + 1);
      const char character = alphabet[below(alphabet.size())];
      switch (below(4)) {
        case 0:
          text.insert(at, 1, character);
          break;
        case 1:
          text.erase(at, 1 + below(3));
          break;
        case 2:
          text.insert(at, text.substr(at, below(6)));
          break;
        default:
          if (at != text.size()) text[at] = character;
      }
    }
    return text;
  }

 private:
  std::mt19937 random_;
};

TEST_CASE("net: random addresses are written as inet_ntop does, and read again") {
  source random(1);
  char buffer[INET6_ADDRSTRLEN];
  int wrong = 0, differ_on_purpose = 0;
  for (int round = 0; round != rounds; ++round) {
    const ipv4_address ipv4 = random.ipv4();
    const ipv6_address ipv6 = random.ipv6();
    wrong += ipv4.to_string() != inet_ntop(AF_INET, ipv4.bytes(), buffer, sizeof buffer);
    wrong += ip_address::from_string(ipv4.to_string()) != ipv4;
    wrong += ip_address::from_string(ipv6.to_string()) != ipv6;
    if (ipv6.to_string() != inet_ntop(AF_INET6, ipv6.bytes(), buffer, sizeof buffer)) {
      const bool retired = ipv6.subnet_prefix() == 0 && ipv6.interface_identifier() >> 32 == 0;
      const bool translated = ipv6.to_string().starts_with("64:ff9b::");
      ++(retired || translated ? differ_on_purpose : wrong);
    }
  }
  CHECK(wrong == 0);
  CHECK(differ_on_purpose > rounds / 10);
}

TEST_CASE("net: mutated addresses are read or refused as by inet_pton") {
  source random(2);
  int wrong = 0, accepted = 0, integers = 0;
  for (int round = 0; round != rounds; ++round) {
    const std::string text = random.mutated(random.text());
    const exactly view(text);
    const auto expected = libc_address(text);
    wrong += ip_address::from_string(view) != expected;
    wrong += ipv6_address::from_string(view) != libc_ipv6(text);
    const auto ipv4 = ipv4_address::from_string(view);
    if (ipv4 && text.find('.') == text.npos) {
      ++integers;
      wrong += std::to_string(ipv4->to_integer()) != text;
    } else {
      wrong += ipv4 != libc_ipv4(text);
    }
    accepted += expected.has_value();
  }
  CHECK(wrong == 0);
  CHECK(integers > 0);
  // Both outcomes must be frequent for the comparison to be meaningful.
  CHECK(accepted > rounds / 10);
  CHECK(accepted < rounds * 9 / 10);
}

TEST_CASE("net: mutated endpoints are read or refused as their two parts are") {
  source random(3);
  int wrong = 0, accepted = 0;
  for (int round = 0; round != rounds; ++round) {
    const std::string text = random.mutated(random.endpoint());
    const auto endpoint = ip_endpoint::from_string(exactly(text));
    wrong += endpoint != libc_endpoint(text);
    if (!endpoint) continue;
    ++accepted;
    wrong += ip_endpoint::from_string(exactly(endpoint->to_string())) != endpoint;
  }
  CHECK(wrong == 0);
  CHECK(accepted > rounds / 10);
  CHECK(accepted < rounds * 9 / 10);
}

TEST_CASE("net: reading does not allocate" * doctest::skip(!coracle::testing::allocations_are_counted)) {
  const std::size_t before = coracle::testing::allocations();
  const bool all = ip_endpoint::from_string("1.2.3.4:80") &&
                   ip_endpoint::from_string("[::ffff:1.2.3.4]:80") &&
                   ip_address::from_string("1:2:3:4:5:6:7:8") && !ip_address::from_string("1:2");
  const std::size_t after = coracle::testing::allocations();
  CHECK(all);
  CHECK(after == before);
}
}  // namespace
