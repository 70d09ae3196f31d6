// expect: an operation takes no time limit: write co_await timeout(client.recv(room), 5s)
// tests/compile_fail/connect_timeout.cpp -- a time limit behind the port.
// SPDX-License-Identifier: MIT
#include <chrono>
#include <coracle/core/task.hpp>
#include <coracle/net/connect.hpp>
#include <coracle/time/timeout.hpp>

coracle::task<> wrong(coracle::io_service& io) {
#ifndef CORACLE_COMPILE_FAIL_CONTROL
  co_await coracle::net::connect(io, "example.org", 443, std::chrono::seconds(5));
#else
  co_await coracle::timeout(coracle::net::connect(io, "example.org", 443), std::chrono::seconds(5));
#endif
}
