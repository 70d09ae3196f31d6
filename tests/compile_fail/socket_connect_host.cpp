// expect: for the name of a host, write net::connect(io, host, port)
// tests/compile_fail/socket_connect_host.cpp -- a host and a port, where a socket needs an endpoint.
// SPDX-License-Identifier: MIT
#include <coracle/core/task.hpp>
#include <coracle/net/connect.hpp>

coracle::task<> wrong(coracle::io_service& io, coracle::net::socket& client) {
  client = co_await coracle::net::connect(io, "127.0.0.1", 80);
#ifndef CORACLE_COMPILE_FAIL_CONTROL
  co_await client.connect("127.0.0.1", 80);
#endif
}
