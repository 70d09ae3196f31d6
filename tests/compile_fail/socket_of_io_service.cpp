// expect: socket::create_tcpv4(io), or net::connect(io, host, port)
// tests/compile_fail/socket_of_io_service.cpp -- a socket without a protocol.
// SPDX-License-Identifier: MIT
#include <coracle/net/socket.hpp>

void wrong(coracle::io_service& io) {
  const auto right = coracle::net::socket::create_tcpv4(io);
#ifndef CORACLE_COMPILE_FAIL_CONTROL
  coracle::net::socket listener{io};
#endif
}
