// expect: pass the token of the source: source.get_token()
// tests/compile_fail/stop_source_for_token.cpp -- a source where an operation takes a token.
// SPDX-License-Identifier: MIT
#include <coracle/core/task.hpp>
#include <coracle/net/socket.hpp>

coracle::task<> wrong(coracle::net::socket& client, coracle::stop_source& source) {
  char line[64];
  co_await client.recv(line, source.get_token());
#ifndef CORACLE_COMPILE_FAIL_CONTROL
  co_await client.recv(line, source);
#endif
}
