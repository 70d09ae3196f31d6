// expect: for a unix_socket, write serve(listener, handler)
// tests/compile_fail/serve_on_unix_socket.cpp -- a listener whose connections cannot be spread.
// SPDX-License-Identifier: MIT
#include <coracle/net/serve_on.hpp>
#include <coracle/net/unix_socket.hpp>

coracle::task<> wrong(coracle::io_service_group& workers, coracle::net::unix_socket& listener) {
  const auto handler = [](coracle::net::unix_socket) -> coracle::task<> { co_return; };
  co_await coracle::net::serve(listener, handler);
#ifndef CORACLE_COMPILE_FAIL_CONTROL
  co_await coracle::net::serve_on(workers, listener, handler);
#endif
}
