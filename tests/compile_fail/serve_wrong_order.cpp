// expect: serve() needs a listener, such as a socket or unix_socket, and a function that takes a connection of it by value
// tests/compile_fail/serve_wrong_order.cpp -- the handler before the listener.
// SPDX-License-Identifier: MIT
#include <coracle/net/serve.hpp>

coracle::task<> wrong(coracle::net::socket& listener) {
  const auto handler = [](coracle::net::socket) -> coracle::task<> { co_return; };
  co_await coracle::net::serve(listener, handler);
#ifndef CORACLE_COMPILE_FAIL_CONTROL
  co_await coracle::net::serve(handler, listener);
#endif
}
