// expect: give the source a name
// tests/compile_fail/buffered_reader_of_temporary.cpp -- a source that ends with the expression.
// SPDX-License-Identifier: MIT
#include <coracle/io/buffered_reader.hpp>
#include <coracle/net/connect.hpp>

coracle::task<> wrong(coracle::io_service& io) {
  coracle::net::socket connection = co_await coracle::net::connect(io, "example.org", 80);
  coracle::buffered_reader right{connection};
  coracle::buffered_reader<coracle::net::socket&> also_right{connection, 512};
#ifndef CORACLE_COMPILE_FAIL_CONTROL
  coracle::buffered_reader reader{co_await coracle::net::connect(io, "example.org", 80)};
#endif
}
