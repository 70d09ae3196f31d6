// expect: net::connect(io, host, port) begins with the io_service of the socket
// tests/compile_fail/connect_no_io_service.cpp -- a connection without an io_service.
// SPDX-License-Identifier: MIT
#include <coracle/net/connect.hpp>

coracle::task<> wrong(coracle::io_service& io) {
  const auto right = co_await coracle::net::connect(io, "example.org", 443);
#ifndef CORACLE_COMPILE_FAIL_CONTROL
  const coracle::net::socket connection = co_await coracle::net::connect("example.org", 443);
#endif
}
