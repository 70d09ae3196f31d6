// expect: on_error takes a std::exception_ptr
// tests/compile_fail/serve_on_error.cpp -- an on_error that takes an exception.
// SPDX-License-Identifier: MIT
#include <coracle/net/serve.hpp>
#include <exception>

coracle::task<> wrong(coracle::net::socket& listener) {
  const auto handler = [](coracle::net::socket) -> coracle::task<> { co_return; };
  co_await coracle::net::serve(listener, handler, {.connections = 5}, nullptr);
#ifndef CORACLE_COMPILE_FAIL_CONTROL
  const auto report = [](const std::exception&) {};
  co_await coracle::net::serve(listener, handler, {.connections = 5}, report);
#endif
}
