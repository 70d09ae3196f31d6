// expect: an operation takes no time limit: write co_await timeout(client.recv(room), 5s)
// tests/compile_fail/unix_recv_timeout.cpp -- a time where an operation of a Unix socket takes a stop token.
// SPDX-License-Identifier: MIT
#include <chrono>
#include <coracle/core/task.hpp>
#include <coracle/net/unix_socket.hpp>
#include <coracle/time/timeout.hpp>

coracle::task<std::size_t> wrong(coracle::net::unix_socket& client) {
  char room[64];
  std::size_t size = co_await coracle::timeout(client.recv(room), std::chrono::seconds(5));
#ifndef CORACLE_COMPILE_FAIL_CONTROL
  size += co_await client.recv(room, std::chrono::seconds(5));
#endif
  co_return size;
}
