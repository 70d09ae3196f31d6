// tests/fuzz/addresses.cpp -- texts of addresses and endpoints: read as the C library does, written, read
// again.
// SPDX-License-Identifier: MIT
#include <coracle/net/ip_endpoint.hpp>
#include <string>

#include "../support/libc_addresses.hpp"
#include "fuzz.hpp"

namespace {
using coracle_test::exactly;
using coracle_test::must;
using namespace coracle::net;

/// What was read is written in a form that is read as the same.
template <class Address>
std::optional<Address> read(const std::string& text) {
  const auto found = Address::from_string(exactly(text));
  if (found)
    must(Address::from_string(exactly(found->to_string())) == found, "written, and not read as the same");
  return found;
}

void check_ipv4(const std::string& text) {
  const auto found = read<ipv4_address>(text);
  if (found && text.find('.') == text.npos) {  // which the C library does not read
    must(std::to_string(found->to_integer()) == text, "an integer that is another address");
  } else {
    must(found == coracle_test::libc_ipv4(text), "an IPv4 address that the C library reads otherwise");
  }
}
}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  check_ipv4(text);
  must(read<ipv6_address>(text) == coracle_test::libc_ipv6(text),
       "an IPv6 address that the C library reads otherwise");
  must(read<ip_address>(text) == coracle_test::libc_address(text),
       "an address that the C library reads otherwise");
  const auto endpoint = read<ip_endpoint>(text);
  must(endpoint == coracle_test::libc_endpoint(text), "an endpoint that is not what its parts are");
  const auto ipv4 = read<ipv4_endpoint>(text);
  must(ipv4.has_value() == (endpoint && endpoint->is_ipv4()),
       "an IPv4 endpoint that is no endpoint, or the reverse");
  must(!ipv4 || *ipv4 == endpoint->to_ipv4(), "an IPv4 endpoint that is another as an endpoint");
  const auto ipv6 = read<ipv6_endpoint>(text);
  must(ipv6.has_value() == (endpoint && endpoint->is_ipv6()),
       "an IPv6 endpoint that is no endpoint, or the reverse");
  must(!ipv6 || *ipv6 == endpoint->to_ipv6(), "an IPv6 endpoint that is another as an endpoint");
  return 0;
}
