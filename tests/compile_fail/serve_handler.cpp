// expect: serve() needs a listener, such as a socket or unix_socket, and a function that takes a connection of it by value
// tests/compile_fail/serve_handler.cpp -- a handler that takes a reference to its connection.
// SPDX-License-Identifier: MIT
#include <coracle/net/serve.hpp>

coracle::task<> wrong(coracle::net::socket& listener) {
  const auto right = [](coracle::net::socket) -> coracle::task<> { co_return; };
  co_await coracle::net::serve(listener, right, {.connections = 5});
#ifndef CORACLE_COMPILE_FAIL_CONTROL
  const auto handler = [](coracle::net::socket&) -> coracle::task<> { co_return; };
  co_await coracle::net::serve(listener, handler, {.connections = 5});
#endif
}
