// expect: needs a port, such as 443
// tests/compile_fail/connect_no_port.cpp -- a host without a port.
// SPDX-License-Identifier: MIT
#include <coracle/core/task.hpp>
#include <coracle/net/connect.hpp>

coracle::task<> wrong(coracle::io_service& io) {
  co_await coracle::net::connect(io, "example.org", 80);
#ifndef CORACLE_COMPILE_FAIL_CONTROL
  co_await coracle::net::connect(io, "example.org");
#endif
}
