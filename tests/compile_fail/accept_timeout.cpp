// expect: an operation takes no time limit
// tests/compile_fail/accept_timeout.cpp -- a time where an operation takes a stop token.
// SPDX-License-Identifier: MIT
#include <chrono>
#include <coracle/core/task.hpp>
#include <coracle/net/socket.hpp>
#include <coracle/time/timeout.hpp>

coracle::task<> wrong(coracle::net::socket& listener) {
  auto client = co_await coracle::timeout(listener.accept(), std::chrono::seconds(5));
#ifndef CORACLE_COMPILE_FAIL_CONTROL
  client = co_await listener.accept(std::chrono::seconds(5));
#endif
  client.close();
}
