// expect: ipv6_address::from_string(text).value() parses it
// tests/compile_fail/ipv6_endpoint_of_text.cpp -- text where the address belongs.
// SPDX-License-Identifier: MIT
#include <coracle/net/ipv6_endpoint.hpp>

void wrong() {
  const coracle::net::ipv6_endpoint right{{}, 80};
#ifndef CORACLE_COMPILE_FAIL_CONTROL
  const coracle::net::ipv6_endpoint endpoint{"::1", 80};
#endif
}
