// expect: read-only or a temporary: pass a variable that can be written to
// tests/compile_fail/recv_into_const.cpp -- a buffer that cannot be written to.
// SPDX-License-Identifier: MIT
#include <coracle/core/task.hpp>
#include <coracle/net/socket.hpp>
#include <string>
#include <vector>

coracle::task<> wrong(coracle::net::socket& client, const std::string& text) {
  co_await client.send(text);
#ifndef CORACLE_COMPILE_FAIL_CONTROL
  co_await client.recv(text);
#endif
}
