// expect: bind() needs an ip_endpoint: write ipv4_endpoint{address, port}
// tests/compile_fail/socket_bind_port.cpp -- a port alone, where a socket needs an endpoint.
// SPDX-License-Identifier: MIT
#include <coracle/net/socket.hpp>

void wrong(coracle::net::socket& listener) {
  listener.bind(coracle::net::ipv4_endpoint{coracle::net::ipv4_address{}, 80});
#ifndef CORACLE_COMPILE_FAIL_CONTROL
  listener.bind(80);
#endif
}
