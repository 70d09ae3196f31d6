// tests/unit/net_ipv6_address_test.cpp -- IPv6 addresses: values, ranges, the text forms of two RFCs.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <coracle/net/ipv6_address.hpp>
#include <string>
#include <type_traits>
#include <unordered_set>

namespace {
using coracle::net::ipv4_address;
using coracle::net::ipv6_address;

static_assert(std::is_trivially_copyable_v<ipv6_address>);
static_assert(sizeof(ipv6_address) == 16);
static_assert(noexcept(ipv6_address::from_string({})));

// Everything but the text forms is usable in constant expressions.
constexpr ipv6_address sample(0x2001'0db8'0003'0004, 0x0005'0006'0007'0008);
static_assert(sample == ipv6_address(0x2001, 0xdb8, 3, 4, 5, 6, 7, 8));
constexpr std::uint16_t sample_groups[8] = {0x2001, 0xdb8, 3, 4, 5, 6, 7, 8};
static_assert(sample == ipv6_address(sample_groups));
static_assert(ipv6_address(sample.bytes()) == sample);
static_assert(sample.bytes()[0] == 0x20 && sample.bytes()[1] == 1 && sample.bytes()[15] == 8);
static_assert(sample.subnet_prefix() == 0x2001'0db8'0003'0004);
static_assert(sample.interface_identifier() == 0x0005'0006'0007'0008);
static_assert(ipv6_address() == ipv6_address::unspecified());
static_assert(ipv6_address(0, 2) < ipv6_address(1, 1) && ipv6_address(1, 1) < ipv6_address(1, 2));
static_assert(ipv6_address(0, 0x80) > ipv6_address(0, 0x7f) && ipv6_address(0, 1) != ipv6_address(1, 0));

ipv6_address read(std::string_view text) { return ipv6_address::from_string(text).value(); }

TEST_CASE("ipv6_address: the example of its header") {
  auto address = ipv6_address::from_string("2001:DB8:0:0:0:0:0:1").value();
  std::string text = address.to_string();  // "2001:db8::1"
  CHECK(text == "2001:db8::1");
}

TEST_CASE("ipv6_address: each range holds its first and last address and not their neighbours") {
  struct range {
    const char *before, *first, *last, *after;
    bool (ipv6_address::*holds)() const noexcept;
  };
  const range ranges[] = {
      {"fbff::", "fc00::", "fdff:ffff::", "fe00::", &ipv6_address::is_private_network},
      {"fe7f:ffff::", "fe80::", "febf:ffff::", "fec0::", &ipv6_address::is_link_local},
      {"feff:ffff::", "ff00::", "ffff:ffff::", "::", &ipv6_address::is_multicast},
      {"::", "::1", "::1", "::2", &ipv6_address::is_loopback},
      {"1::", "::", "::", "::1", &ipv6_address::is_unspecified},
      {"::fffe:127.0.0.1", "::1", "::1", "::ffff:127.0.0.1", &ipv6_address::is_loopback},
  };
  for (const range& each : ranges) {
    CAPTURE(each.first);
    CHECK_FALSE((read(each.before).*each.holds)());
    CHECK((read(each.first).*each.holds)());
    CHECK((read(each.last).*each.holds)());
    CHECK_FALSE((read(each.after).*each.holds)());
  }
}

TEST_CASE("ipv6_address: a mapped IPv4 address is found again, and only there") {
  constexpr ipv4_address ipv4(192, 0, 2, 1);
  static_assert(ipv6_address::mapped(ipv4).mapped_ipv4() == ipv4);
  CHECK(ipv6_address::mapped(ipv4) == read("::ffff:192.0.2.1"));
  for (const char* text : {"::192.0.2.1", "::fffe:192.0.2.1", "::1:ffff:192.0.2.1", "1::ffff:192.0.2.1",
                           "::", "64:ff9b::192.0.2.1", "::ffff:0:192.0.2.1"}) {
    CAPTURE(text);
    CHECK_FALSE(read(text).mapped_ipv4());
  }
}

TEST_CASE("ipv6_address: the examples of RFC 4291, 2.2, are read") {
  CHECK(read("ABCD:EF01:2345:6789:ABCD:EF01:2345:6789") ==
        ipv6_address(0xabcdef0123456789, 0xabcdef0123456789));
  CHECK(read("2001:DB8:0:0:8:800:200C:417A") == ipv6_address(0x2001, 0xdb8, 0, 0, 8, 0x800, 0x200c, 0x417a));
  CHECK(read("2001:DB8::8:800:200C:417A") == read("2001:DB8:0:0:8:800:200C:417A"));
  CHECK(read("FF01::101") == read("FF01:0:0:0:0:0:0:101"));
  CHECK(read("::1") == ipv6_address::loopback());
  CHECK(read("::") == ipv6_address::unspecified());
  CHECK(read("0:0:0:0:0:0:13.1.68.3") == read("::13.1.68.3"));
  CHECK(read("0:0:0:0:0:FFFF:129.144.52.38") == read("::FFFF:129.144.52.38"));
  CHECK(read("::13.1.68.3") == ipv6_address(0, 0x0d014403));
}

TEST_CASE("ipv6_address: '::' stands for one or more groups, anywhere") {
  CHECK(read("::2:3:4:5:6:7:8") == ipv6_address(0, 2, 3, 4, 5, 6, 7, 8));
  CHECK(read("1::3:4:5:6:7:8") == ipv6_address(1, 0, 3, 4, 5, 6, 7, 8));
  CHECK(read("1:2:3:4:5:6:7::") == ipv6_address(1, 2, 3, 4, 5, 6, 7, 0));
  CHECK(read("1::8") == ipv6_address(1, 0, 0, 0, 0, 0, 0, 8));
  CHECK(read("1:2::7:8") == ipv6_address(1, 2, 0, 0, 0, 0, 7, 8));
  CHECK(read("1::") == ipv6_address(1, 0, 0, 0, 0, 0, 0, 0));
  CHECK(read("1:2:3:4:5::1.2.3.4") == ipv6_address(1, 2, 3, 4, 5, 0, 0x102, 0x304));
  CHECK(read("0001:0:00:000:0000::0") == ipv6_address(1, 0, 0, 0, 0, 0, 0, 0));
}

TEST_CASE("ipv6_address: groups that are not eight are refused") {
  for (const char* text :
       {"1", "1:2:3:4:5:6:7", "1:2:3:4:5:6:7:8:9", "1:2:3:4:5:6:7:8::", "::1:2:3:4:5:6:7:8",
        "1:2:3:4::5:6:7:8", "1:2:3:4:5:6:7:1.2.3.4", "1:2:3:4:5:1.2.3.4", "::1:2:3:4:5:6:1.2.3.4",
        "1::2:3:4:5:6:1.2.3.4", "1:2:3:4:5:6:7:8:1.2.3.4", "1.2.3.4", "1:2:3:4:5:6::1.2.3.4"}) {
    CAPTURE(text);
    CHECK_FALSE(ipv6_address::from_string(text));
  }
}

TEST_CASE("ipv6_address: other text is refused") {
  for (const char* text : {"",
                           " ",
                           ":",
                           ":::",
                           "::::",
                           ":1",
                           "1:",
                           ":1:2:3:4:5:6:7:8",
                           "1:2:3:4:5:6:7:",
                           "1:2:3:4:5:6:7:8:",
                           "1:::2",
                           "1::2::3",
                           "::1::",
                           "1::2:",
                           ":1::2",
                           "g::",
                           "::g",
                           "12345::",
                           "::00001",
                           "::1 ",
                           " ::1",
                           "::1\n",
                           "::-1",
                           "::+1",
                           "::0x1",
                           "1;2::",
                           "[::1]",
                           "::1/128",
                           "fe80::1%eth0",
                           "fe80::1%1",
                           "::1%",
                           "::1.2.3",
                           "::1.2",
                           "::1.",
                           "::1.2.3.",
                           "::1.2.3.4.",
                           "::1.2.3.4.5",
                           "::1.2.3.4:",
                           "::1.2.3.4:5",
                           "::.2.3.4",
                           "::1..3.4",
                           "::256.2.3.4",
                           "::1.2.3.256",
                           "::a.2.3.4",
                           "::1.2.3.a",
                           "::01.2.3.4",
                           "::1.2.3.04",
                           "::1111.2.3.4",
                           "::16909060",
                           "1.2.3.4::",
                           "1:1.2.3.4::",
                           "::ffff:1.2.3.4 ",
                           "::ffff: 1.2.3.4"}) {
    CAPTURE(text);
    CHECK_FALSE(ipv6_address::from_string(text));
  }
  CHECK_FALSE(ipv6_address::from_string({}));
  CHECK_FALSE(ipv6_address::from_string({"::1\0", 4}));
}

TEST_CASE("ipv6_address: only as much of the text is read as there is") {
  const std::string text = "::12.2.3.45";
  CHECK(ipv6_address::from_string({text.data(), 10}) == read("::12.2.3.4"));
  CHECK(ipv6_address::from_string({text.data(), 4}) == read("::12"));
  CHECK(ipv6_address::from_string({text.data(), 3}) == read("::1"));
  CHECK(ipv6_address::from_string({text.data(), 2}) == read("::"));
  for (std::size_t length : {0U, 1U, 5U, 6U, 7U, 8U, 9U}) {
    CAPTURE(length);
    CHECK_FALSE(ipv6_address::from_string({text.data(), length}));
  }
}

TEST_CASE("ipv6_address: to_string() follows RFC 5952") {
  const char* const pairs[][2] = {
      {"2001:0db8::0001", "2001:db8::1"},                // 4.1, no leading zeros
      {"2001:db8:0:0:0:0:2:1", "2001:db8::2:1"},         // 4.2.1, "::" as long as it can be
      {"2001:db8:0:1:1:1:1:1", "2001:db8:0:1:1:1:1:1"},  // 4.2.2, not for one group
      {"2001:0:0:1:0:0:0:1", "2001:0:0:1::1"},           // 4.2.3, the longest run
      {"2001:db8:0:0:1:0:0:1", "2001:db8::1:0:0:1"},     // 4.2.3, the first of equals
      {"2001:DB8::AAAA", "2001:db8::aaaa"},              // 4.3, lower case
      {"0:0:0:0:0:ffff:192.0.2.1", "::ffff:192.0.2.1"},  // 5
      {"::ffff:0:0", "::ffff:0.0.0.0"},                  //
      {"64:ff9b::c000:221", "64:ff9b::192.0.2.33"},      // RFC 6052, 2.4
      {"64:ff9b::", "64:ff9b::0.0.0.0"},                 //
      {"64:ff9b:1::c000:221", "64:ff9b:1::c000:221"},    // that prefix is for local use
      {"64:ff9b::1:c000:221", "64:ff9b::1:c000:221"},    //
      {"::192.0.2.1", "::c000:201"},                     // the retired ::/96
      {"::ffff:0:192.0.2.1", "::ffff:0:c000:201"},       // the retired ::ffff:0:0:0/96
      {"1:ffff::192.0.2.1", "1:ffff::c000:201"},         //
      {"0:0:0:0:0:0:0:0", "::"},                         //
      {"0:0:0:0:0:0:0:1", "::1"},                        //
      {"1:0:0:0:0:0:0:0", "1::"},                        //
      {"0:1:0:1:0:1:0:1", "0:1:0:1:0:1:0:1"},            //
      {"0:0:1:1:1:1:0:0", "::1:1:1:1:0:0"},              //
      {"0:1:1:1:1:0:0:0", "0:1:1:1:1::"},                //
      {"10:100:1000:1:a:ab:abc:abcd", "10:100:1000:1:a:ab:abc:abcd"},
      {"ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"},
  };
  for (const auto& [from, to] : pairs) CHECK(read(from).to_string() == to);
}

TEST_CASE("ipv6_address: it may be a key of a hash table") {
  std::unordered_set<ipv6_address> seen{read("::1"), read("1::")};
  CHECK(seen.contains(read("1::")));
  CHECK_FALSE(seen.contains(read("1::1")));
}
}  // namespace
