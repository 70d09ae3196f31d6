// expect: for one without it, write serve(listener, handler)
// tests/compile_fail/serve_on_listener.cpp -- a listener whose connections cannot be spread.
// SPDX-License-Identifier: MIT
#include <coracle/net/serve_on.hpp>

struct own_listener {
  coracle::net::socket_accept_new_operation accept(coracle::stop_token token) {
    return below.accept(std::move(token));
  }
  coracle::net::socket& below;
};
coracle::task<> wrong(coracle::io_service_group& workers, own_listener& listener) {
  const auto handler = [](coracle::net::socket) -> coracle::task<> { co_return; };
  co_await coracle::net::serve(listener, handler);
#ifndef CORACLE_COMPILE_FAIL_CONTROL
  co_await coracle::net::serve_on(workers, listener, handler);
#endif
}
