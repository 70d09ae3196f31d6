// expect: the limits before on_error are serve_limits, such as {.connections = 100}, or {}
// tests/compile_fail/serve_limits.cpp -- an on_error where the limits belong.
// SPDX-License-Identifier: MIT
#include <coracle/net/serve.hpp>

coracle::task<> wrong(coracle::net::socket& listener) {
  const auto handler = [](coracle::net::socket) -> coracle::task<> { co_return; };
  const auto report = [](const std::exception_ptr&) {};
  const coracle::net::serve_limits limits{.connections = 5};
  co_await coracle::net::serve(listener, handler, limits, report);
#ifndef CORACLE_COMPILE_FAIL_CONTROL
  co_await coracle::net::serve(listener, handler, report);
#endif
}
