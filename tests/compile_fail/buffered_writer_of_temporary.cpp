// expect: give the sink a name
// tests/compile_fail/buffered_writer_of_temporary.cpp -- a sink that ends with the expression.
// SPDX-License-Identifier: MIT
#include <coracle/io/buffered_writer.hpp>
#include <coracle/net/connect.hpp>

coracle::task<> wrong(coracle::io_service& io) {
  coracle::net::socket connection = co_await coracle::net::connect(io, "example.org", 80);
  coracle::buffered_writer right{connection};
  coracle::buffered_writer<coracle::net::socket&> also_right{connection, 512};
#ifndef CORACLE_COMPILE_FAIL_CONTROL
  coracle::buffered_writer writer{co_await coracle::net::connect(io, "example.org", 80)};
#endif
}
