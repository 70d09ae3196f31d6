// tests/unit/net_ip_address_test.cpp -- addresses of either family.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <coracle/net/ip_address.hpp>
#include <type_traits>
#include <unordered_set>
#include <utility>

#include "../support/abort_message.hpp"

namespace {
using coracle::net::ip_address;
using coracle::net::ipv4_address;
using coracle::net::ipv6_address;

static_assert(std::is_trivially_copyable_v<ip_address>);
static_assert(noexcept(ip_address::from_string({})));

constexpr ip_address four = ipv4_address(192, 168, 0, 1), six = ipv6_address(0xaabb, 1);
static_assert(four.is_ipv4() && !four.is_ipv6() && four.to_ipv4() == ipv4_address(192, 168, 0, 1));
static_assert(six.is_ipv6() && !six.is_ipv4() && six.to_ipv6() == ipv6_address(0xaabb, 1));
static_assert(four.bytes()[0] == 192 && four.bytes()[3] == 1 && six.bytes()[15] == 1);
static_assert(ip_address() == ipv4_address() && ip_address().is_ipv4());
static_assert(four == ipv4_address(192, 168, 0, 1) && ipv6_address(0xaabb, 1) == six && four != six);

// IPv4 addresses sort first, whatever their bytes are.
static_assert(ip_address(ipv4_address(255, 255, 255, 255)) < ip_address(ipv6_address()));
static_assert(ip_address(ipv4_address(1)) < ip_address(ipv4_address(2)));
static_assert(ip_address(ipv6_address(1, 0)) > ip_address(ipv6_address(0, 1)));
static_assert(ip_address(ipv4_address()) != ip_address(ipv6_address()));
static_assert(ip_address(ipv4_address(1)) != ip_address(ipv6_address::mapped(ipv4_address(1))));

TEST_CASE("ip_address: the example of its header") {
  const auto use = [](const ipv6_address& ipv6) { CHECK(ipv6.is_loopback()); };
  ip_address address = ip_address::from_string("::1").value();
  if (address.is_ipv6()) use(address.to_ipv6());
  CHECK(address.is_ipv6());
}

TEST_CASE("ip_address: text of either family is read and written") {
  for (const char* text : {"192.168.0.1", "::", "2001:db8::1", "::ffff:192.168.0.1"}) {
    CAPTURE(text);
    CHECK(ip_address::from_string(text).value().to_string() == text);
  }
  CHECK(ip_address::from_string("1.2.3.4") == ipv4_address(1, 2, 3, 4));
  CHECK(ip_address::from_string("::1.2.3.4") == ipv6_address(0, 0x01020304));
}

TEST_CASE("ip_address: other text is refused, a single integer among it") {
  for (const char* text : {"", "foo", " 1.2.3.4", "1.2.3.4x", "1", "16909060", "1.2.3", "[::1]", "::1%lo"}) {
    CAPTURE(text);
    CHECK_FALSE(ip_address::from_string(text));
  }
}

TEST_CASE("ip_address: each question is answered by the family that it holds") {
  bool (ip_address::* const questions[])() const noexcept = {
      &ip_address::is_unspecified, &ip_address::is_loopback, &ip_address::is_private_network,
      &ip_address::is_link_local, &ip_address::is_multicast};
  const char* const examples[][2] = {{"0.0.0.0", "::"},
                                     {"127.0.0.1", "::1"},
                                     {"10.0.0.1", "fc00::1"},
                                     {"169.254.0.1", "fe80::1"},
                                     {"224.0.0.1", "ff02::1"}};
  for (std::size_t example = 0; example != 5; ++example) {
    for (std::size_t question = 0; question != 5; ++question) {
      for (const char* text : examples[example]) {
        CAPTURE(text);
        CHECK((ip_address::from_string(text).value().*questions[question])() == (example == question));
      }
    }
  }
}

TEST_CASE("ip_address: the other family's address is not given out") {
  using coracle_test::abort_message;
  CHECK(abort_message([] { static_cast<void>(ip_address(ipv6_address()).to_ipv4()); }) ==
        "coracle: to_ipv4() of an IPv6 address: check is_ipv4() first\n");
  CHECK(abort_message([] { static_cast<void>(ip_address().to_ipv6()); }) ==
        "coracle: to_ipv6() of an IPv4 address: check is_ipv6() first\n");
}

TEST_CASE("ip_address: it may be a key of a hash table") {
  std::unordered_set<ip_address> seen{ipv4_address(), ipv6_address()};
  CHECK(seen.size() == 2);
  CHECK(seen.contains(ipv6_address()));
  CHECK_FALSE(seen.contains(ipv4_address(1)));
}
}  // namespace
