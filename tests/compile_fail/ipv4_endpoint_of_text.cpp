// expect: ipv4_address::from_string(text).value() parses it
// tests/compile_fail/ipv4_endpoint_of_text.cpp -- text where the address belongs.
// SPDX-License-Identifier: MIT
#include <coracle/net/ipv4_endpoint.hpp>

void wrong() {
  const coracle::net::ipv4_endpoint right{{}, 80};
#ifndef CORACLE_COMPILE_FAIL_CONTROL
  const coracle::net::ipv4_endpoint endpoint{"127.0.0.1", 80};
#endif
}
