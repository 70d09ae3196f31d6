// expect: tls::connect(io, host, port, context) needs a tls::context
// tests/compile_fail/tls_connect_no_context.cpp -- a connection that says not whom to trust.
// SPDX-License-Identifier: MIT
#include <coracle/core/task.hpp>
#include <coracle/tls/connect.hpp>

coracle::task<> wrong(coracle::io_service& io, const coracle::tls::context& common) {
  co_await coracle::tls::connect(io, "example.org", 443, common);
#ifndef CORACLE_COMPILE_FAIL_CONTROL
  co_await coracle::tls::connect(io, "example.org", 443);
#endif
}
