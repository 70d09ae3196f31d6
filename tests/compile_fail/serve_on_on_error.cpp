// expect: on_error takes a std::exception_ptr
// tests/compile_fail/serve_on_on_error.cpp -- as serve_on_error.cpp, on several threads.
// SPDX-License-Identifier: MIT
#include <coracle/net/serve_on.hpp>
#include <exception>

coracle::task<> wrong(coracle::io_service_group& workers, coracle::net::socket& listener) {
  const auto handler = [](coracle::net::socket) -> coracle::task<> { co_return; };
  const auto right = [](std::exception_ptr) {};
  co_await coracle::net::serve_on(workers, listener, handler, {}, right);
#ifndef CORACLE_COMPILE_FAIL_CONTROL
  const auto report = [](const std::exception&) {};
  co_await coracle::net::serve_on(workers, listener, handler, {}, report);
#endif
}
