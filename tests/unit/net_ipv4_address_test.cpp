// tests/unit/net_ipv4_address_test.cpp -- IPv4 addresses: values, ranges, text.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <coracle/net/ipv4_address.hpp>
#include <string>
#include <type_traits>
#include <unordered_set>

namespace {
using coracle::net::ipv4_address;

static_assert(std::is_trivially_copyable_v<ipv4_address>);
static_assert(sizeof(ipv4_address) == 4);
static_assert(!std::is_convertible_v<std::uint32_t, ipv4_address>);
static_assert(noexcept(ipv4_address::from_string({})));

// Everything but the text forms is usable in constant expressions.
static_assert(ipv4_address() == ipv4_address(0));
static_assert(ipv4_address(0x0a0b0c0d) == ipv4_address(10, 11, 12, 13));
static_assert(ipv4_address(10, 11, 12, 13).to_integer() == 0x0a0b0c0d);
static_assert(ipv4_address({1, 2, 3, 4}).bytes()[3] == 4);
static_assert(ipv4_address(9, 255, 255, 255) < ipv4_address(10, 0, 0, 0));
static_assert(ipv4_address(128, 0, 0, 0) > ipv4_address(127, 0, 0, 0));
static_assert(ipv4_address(1) != ipv4_address(2) && ipv4_address(1) <= ipv4_address(1));

TEST_CASE("ipv4_address: the example of its header") {
  auto address = ipv4_address::from_string("192.168.0.1").value();
  bool is_mine = address.is_private_network() || address == ipv4_address::loopback();
  CHECK(is_mine);
}

TEST_CASE("ipv4_address: bytes() are in network order") {
  const ipv4_address address(0x01020304);
  for (int i = 0; i != 4; ++i) CHECK(address.bytes()[i] == i + 1);
}

TEST_CASE("ipv4_address: each range holds its first and last address and not their neighbours") {
  struct range {
    const char *before, *first, *last, *after;
    bool (ipv4_address::*holds)() const noexcept;
  };
  const range ranges[] = {
      {"126.255.255.255", "127.0.0.0", "127.255.255.255", "128.0.0.0", &ipv4_address::is_loopback},
      {"9.255.255.255", "10.0.0.0", "10.255.255.255", "11.0.0.0", &ipv4_address::is_private_network},
      {"172.15.255.255", "172.16.0.0", "172.31.255.255", "172.32.0.0", &ipv4_address::is_private_network},
      {"192.167.255.255", "192.168.0.0", "192.168.255.255", "192.169.0.0", &ipv4_address::is_private_network},
      {"192.1.168.1", "192.168.0.0", "192.168.255.255", "193.168.0.0", &ipv4_address::is_private_network},
      {"169.253.255.255", "169.254.0.0", "169.254.255.255", "169.255.0.0", &ipv4_address::is_link_local},
      {"223.255.255.255", "224.0.0.0", "239.255.255.255", "240.0.0.0", &ipv4_address::is_multicast},
      {"255.255.255.255", "0.0.0.0", "0.0.0.0", "0.0.0.1", &ipv4_address::is_unspecified},
  };
  for (const range& each : ranges) {
    CAPTURE(each.first);
    CHECK_FALSE((ipv4_address::from_string(each.before).value().*each.holds)());
    CHECK((ipv4_address::from_string(each.first).value().*each.holds)());
    CHECK((ipv4_address::from_string(each.last).value().*each.holds)());
    CHECK_FALSE((ipv4_address::from_string(each.after).value().*each.holds)());
  }
}

TEST_CASE("ipv4_address: dotted decimal is read") {
  CHECK(ipv4_address::from_string("0.0.0.0") == ipv4_address());
  CHECK(ipv4_address::from_string("1.20.30.40") == ipv4_address(1, 20, 30, 40));
  CHECK(ipv4_address::from_string("255.255.255.255") == ipv4_address(0xffffffff));
}

TEST_CASE("ipv4_address: a single decimal integer is read") {
  CHECK(ipv4_address::from_string("0") == ipv4_address());
  CHECK(ipv4_address::from_string("2130706433") == ipv4_address::loopback());
  CHECK(ipv4_address::from_string("4294967295") == ipv4_address(0xffffffff));
}

TEST_CASE("ipv4_address: other text is refused") {
  for (const char* text : {"",
                           " ",
                           ".",
                           "...",
                           "....",
                           "a",
                           "1.",
                           "1.2",
                           "1.2.3",
                           "1.2.3.",
                           ".1.2.3.4",
                           "1.2.3.4.",
                           "1.2.3.4.5",
                           "1..3.4",
                           "1.2.3.4 ",
                           " 1.2.3.4",
                           "1.2.3.4\n",
                           "1.2. 3.4",
                           "1.2.3.a",
                           "0x1.2.3.4",
                           "1.2.3.0xa",
                           "256.2.3.4",
                           "1.256.3.4",
                           "1.2.3.256",
                           "1.2.3.1000",
                           "1.2.3.4294967296",
                           "1.2.3.18446744073709551617",
                           "-1.2.3.4",
                           "+1.2.3.4",
                           "1.2.3.-0",
                           "4294967296",
                           "99999999999999999999",
                           "-1",
                           "+1",
                           "0x7f000001",
                           "1e3",
                           "1 ",
                           "1:2"}) {
    CAPTURE(text);
    CHECK_FALSE(ipv4_address::from_string(text));
  }
  CHECK_FALSE(ipv4_address::from_string({}));
  CHECK_FALSE(ipv4_address::from_string({"1.2.3.4\0", 8}));
}

TEST_CASE("ipv4_address: leading zeros are refused, since others read them as octal") {
  for (const char* text : {"00", "01", "017700000001", "01.2.3.4", "1.02.3.4", "1.2.003.4", "1.2.3.04",
                           "00.0.0.0", "1.2.3.00", "0000000000000000000001"}) {
    CAPTURE(text);
    CHECK_FALSE(ipv4_address::from_string(text));
  }
}

TEST_CASE("ipv4_address: only as much of the text is read as there is") {
  const std::string text = "1.2.3.45";
  CHECK(ipv4_address::from_string({text.data(), 7}) == ipv4_address(1, 2, 3, 4));
  CHECK_FALSE(ipv4_address::from_string({text.data(), 6}));
}

TEST_CASE("ipv4_address: to_string() gives dotted decimal") {
  CHECK(ipv4_address().to_string() == "0.0.0.0");
  CHECK(ipv4_address(1, 20, 99, 100).to_string() == "1.20.99.100");
  CHECK(ipv4_address(255, 255, 255, 255).to_string() == "255.255.255.255");
}

TEST_CASE("ipv4_address: it may be a key of a hash table") {
  std::unordered_set<ipv4_address> seen{ipv4_address(1, 2, 3, 4), ipv4_address(4, 3, 2, 1)};
  CHECK(seen.contains(ipv4_address(1, 2, 3, 4)));
  CHECK_FALSE(seen.contains(ipv4_address(1, 2, 3, 5)));
}
}  // namespace
