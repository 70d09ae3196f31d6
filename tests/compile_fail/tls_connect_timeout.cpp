// expect: an operation takes no time limit: write co_await timeout(client.recv(room), 5s)
// tests/compile_fail/tls_connect_timeout.cpp -- a time limit behind the context.
// SPDX-License-Identifier: MIT
#include <chrono>
#include <coracle/core/task.hpp>
#include <coracle/time/timeout.hpp>
#include <coracle/tls/connect.hpp>

coracle::task<> wrong(coracle::io_service& io, const coracle::tls::context& common) {
#ifndef CORACLE_COMPILE_FAIL_CONTROL
  co_await coracle::tls::connect(io, "example.org", 443, common, std::chrono::seconds(5));
#else
  co_await coracle::timeout(coracle::tls::connect(io, "example.org", 443, common), std::chrono::seconds(5));
#endif
}
