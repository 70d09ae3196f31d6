// tests/unit/net_endpoint_test.cpp -- an address and a port, of one family or of either.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <coracle/net/ip_endpoint.hpp>
#include <string>
#include <type_traits>
#include <unordered_set>

#include "../../src/net/socket_address.hpp"

namespace {
using coracle::net::ip_address;
using coracle::net::ip_endpoint;
using coracle::net::ipv4_address;
using coracle::net::ipv4_endpoint;
using coracle::net::ipv6_address;
using coracle::net::ipv6_endpoint;

static_assert(std::is_trivially_copyable_v<ip_endpoint>);
static_assert(noexcept(ip_endpoint::from_string({})));

constexpr ipv4_endpoint four(ipv4_address(192, 0, 2, 1), 80);
constexpr ipv6_endpoint six(ipv6_address(0x2001'0db8'0000'0000, 1), 443);
static_assert(four.address() == ipv4_address(192, 0, 2, 1) && four.port() == 80);
static_assert(six.address() == ipv6_address(0x2001'0db8'0000'0000, 1) && six.port() == 443);
static_assert(ipv4_endpoint() == ipv4_endpoint(ipv4_address()) && ipv6_endpoint().port() == 0);
static_assert(ip_endpoint() == ipv4_endpoint());

constexpr ip_endpoint any_four = four, any_six = six;
static_assert(any_four.is_ipv4() && !any_four.is_ipv6() && any_four.to_ipv4() == four);
static_assert(any_six.is_ipv6() && !any_six.is_ipv4() && any_six.to_ipv6() == six);
static_assert(any_four.address() == ipv4_address(192, 0, 2, 1) && any_six.port() == 443);
static_assert(ip_endpoint(ip_address(four.address()), 80) == four && any_four == four && any_four != six);

// Nothing that a temporary gives refers into it: `const auto& a = socket.remote_endpoint().address();`
static_assert(std::is_same_v<decltype(ip_endpoint().address()), ip_address>);
static_assert(std::is_same_v<decltype(any_four.to_ipv4().address()), ipv4_address>);
static_assert(std::is_same_v<decltype(any_six.to_ipv6().address()), ipv6_address>);
static_assert(std::is_same_v<decltype(ip_address().to_ipv6()), ipv6_address>);
static_assert(std::is_same_v<decltype(any_four.address()), const ip_address&>);

// Ordered by address, then by port; IPv4 comes before IPv6.
static_assert(ipv4_endpoint(ipv4_address(1), 9) < ipv4_endpoint(ipv4_address(2), 1));
static_assert(ipv4_endpoint(ipv4_address(1), 1) < ipv4_endpoint(ipv4_address(1), 2));
static_assert(ipv6_endpoint(ipv6_address(0, 1), 9) < ipv6_endpoint(ipv6_address(0, 2), 1));
static_assert(ipv6_endpoint(ipv6_address(0, 1), 2) > ipv6_endpoint(ipv6_address(0, 1), 1));
static_assert(any_four < any_six && ip_endpoint(four) <= any_four);

TEST_CASE("endpoints: the examples of their headers") {
  {
    ipv4_endpoint endpoint(ipv4_address::loopback(), 8080);
    std::string text = endpoint.to_string();  // "127.0.0.1:8080"
    CHECK(text == "127.0.0.1:8080");
  }
  {
    ipv6_endpoint endpoint(ipv6_address::loopback(), 8080);
    std::string text = endpoint.to_string();  // "[::1]:8080"
    CHECK(text == "[::1]:8080");
  }
  {
    const auto connect = [](const ip_address& address, int port) {
      CHECK(address.is_ipv6());
      CHECK(port == 443);
    };
    ip_endpoint server = ip_endpoint::from_string("[2001:db8::1]:443").value();
    connect(server.address(), server.port());
  }
}

TEST_CASE("endpoints: what to_string() gives is read again") {
  CHECK(four.to_string() == "192.0.2.1:80");
  CHECK(six.to_string() == "[2001:db8::1]:443");
  CHECK(any_four.to_string() == four.to_string());
  CHECK(any_six.to_string() == six.to_string());
  CHECK(ipv4_endpoint::from_string("192.0.2.1:80") == four);
  CHECK(ipv6_endpoint::from_string("[2001:db8::1]:443") == six);
  CHECK(ip_endpoint::from_string("192.0.2.1:80") == any_four);
  CHECK(ip_endpoint::from_string("[2001:db8::1]:443") == any_six);
  const ipv4_endpoint longest4(ipv4_address(0xffffffff), 65535);
  CHECK(longest4.to_string() == "255.255.255.255:65535");
  const ipv6_endpoint longest6(ipv6_address(~0ULL, ~0ULL), 65535);
  CHECK(longest6.to_string() == "[ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff]:65535");
  CHECK(ipv6_endpoint::from_string(longest6.to_string()) == longest6);
}

TEST_CASE("endpoints: a port is 0 to 65535 in decimal digits") {
  CHECK(ipv4_endpoint::from_string("1.2.3.4:0").value().port() == 0);
  CHECK(ipv4_endpoint::from_string("1.2.3.4:65535").value().port() == 65535);
  for (const char* port : {"", " ", "65536", "4294967296", "4294967376", "99999999999999999999", "-1", "+1",
                           "0x50", "80 ", " 80", "8o", "http", "00", "080", "80:", "80:80", "8.0"}) {
    CAPTURE(port);
    CHECK_FALSE(ip_endpoint::from_string(std::string("1.2.3.4:") + port));
    CHECK_FALSE(ip_endpoint::from_string(std::string("[::1]:") + port));
  }
}

TEST_CASE("endpoints: other text is refused") {
  for (const char* text : {"",
                           ":",
                           ":80",
                           "1.2.3.4",
                           "1.2.3.4 80",
                           "1.2.3.4::80",
                           "1.2.3:80",
                           "1:80",
                           "16909060:80",
                           "01.2.3.4:80",
                           "[1.2.3.4]:80",
                           " 1.2.3.4:80",
                           "1.2.3.4 :80",
                           "::1",
                           "::1:80",
                           "2001:db8::1.80",
                           "2001:db8::1#80",
                           "[::1]",
                           "[::1]80",
                           "[::1] :80",
                           "[::1]:",
                           "[::1",
                           "::1]:80",
                           "[]:80",
                           "[",
                           "]",
                           "]:80",
                           "[]:",
                           "[[::1]]:80",
                           "[::1]]:80",
                           "[fe80::1%lo]:80",
                           "[foo]:80",
                           "[123]:80",
                           " [::1]:80",
                           "[ ::1]:80",
                           "localhost:80"}) {
    CAPTURE(text);
    CHECK_FALSE(ip_endpoint::from_string(text));
    CHECK_FALSE(ipv4_endpoint::from_string(text));
    CHECK_FALSE(ipv6_endpoint::from_string(text));
  }
  CHECK_FALSE(ipv4_endpoint::from_string("[::1]:80"));
  CHECK_FALSE(ipv6_endpoint::from_string("1.2.3.4:80"));
}

TEST_CASE("endpoints: they may be keys of a hash table") {
  CHECK(std::unordered_set<ipv4_endpoint>{four, four, ipv4_endpoint(four.address(), 81)}.size() == 2);
  CHECK(std::unordered_set<ipv6_endpoint>{six, six, ipv6_endpoint(six.address(), 81)}.size() == 2);
  CHECK(std::unordered_set<ip_endpoint>{four, six, any_four, ip_endpoint()}.size() == 3);
}

TEST_CASE("endpoints: the kernel's form is in network order and is read again") {
  using coracle::detail::from_sockaddr;
  using coracle::detail::to_sockaddr;
  sockaddr_storage storage;
  REQUIRE(to_sockaddr(four, storage) == sizeof(sockaddr_in));
  CHECK(storage.ss_family == AF_INET);
  const auto* bytes = reinterpret_cast<const unsigned char*>(&storage);
  CHECK(std::string(bytes + 2, bytes + 8) == std::string("\0\x50\xc0\0\2\1", 6));
  CHECK(from_sockaddr(storage) == four);

  REQUIRE(to_sockaddr(six, storage) == sizeof(sockaddr_in6));
  CHECK(storage.ss_family == AF_INET6);
  CHECK(std::string(bytes + 2, bytes + 12) == std::string("\1\xbb\0\0\0\0\x20\x01\x0d\xb8", 10));
  CHECK(bytes[23] == 1);
  CHECK(from_sockaddr(storage) == six);
}
}  // namespace
