// expect: serve_on() needs a function that takes a connection by value and returns a task
// tests/compile_fail/serve_on_handler.cpp -- a handler that is no coroutine.
// SPDX-License-Identifier: MIT
#include <coracle/net/serve_on.hpp>

coracle::task<> wrong(coracle::io_service_group& workers, coracle::net::socket& listener) {
  const auto right = [](coracle::net::socket) -> coracle::task<> { co_return; };
  co_await coracle::net::serve_on(workers, listener, right);
#ifndef CORACLE_COMPILE_FAIL_CONTROL
  const auto handler = [](coracle::net::socket) {};
  co_await coracle::net::serve_on(workers, listener, handler);
#endif
}
