// expect: an operation takes no time limit: write co_await timeout(client.recv(room), 5s)
// tests/compile_fail/unix_accept_timeout.cpp -- a time limit of a Unix socket's accept().
// SPDX-License-Identifier: MIT
#include <chrono>
#include <coracle/core/task.hpp>
#include <coracle/net/unix_socket.hpp>
#include <coracle/time/timeout.hpp>

coracle::task<> wrong(coracle::net::unix_socket& listener) {
#ifndef CORACLE_COMPILE_FAIL_CONTROL
  auto client = co_await listener.accept(std::chrono::seconds(5));
#else
  auto client = co_await coracle::timeout(listener.accept(), std::chrono::seconds(5));
#endif
}
