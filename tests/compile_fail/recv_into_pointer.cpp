// expect: no range of bytes: pass a pointer and a number of bytes
// tests/compile_fail/recv_into_pointer.cpp -- a pointer without a size.
// SPDX-License-Identifier: MIT
#include <coracle/core/task.hpp>
#include <coracle/net/socket.hpp>
#include <string>
#include <vector>

coracle::task<> wrong(coracle::net::socket& client, char* room) {
  co_await client.recv(room, 4);
#ifndef CORACLE_COMPILE_FAIL_CONTROL
  co_await client.recv(room);
#endif
}
