// expect: the limits before on_error are serve_limits, such as {.connections = 100}, or {}
// tests/compile_fail/serve_on_limits.cpp -- a number of connections in place of the limits.
// SPDX-License-Identifier: MIT
#include <coracle/net/serve_on.hpp>

coracle::task<> wrong(coracle::io_service_group& workers, coracle::net::socket& listener) {
  const auto handler = [](coracle::net::socket) -> coracle::task<> { co_return; };
  const coracle::net::serve_limits limits{.connections = 100};
  co_await coracle::net::serve_on(workers, listener, handler, limits);
#ifndef CORACLE_COMPILE_FAIL_CONTROL
  co_await coracle::net::serve_on(workers, listener, handler, 100);
#endif
}
