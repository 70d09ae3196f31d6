// expect: an operation takes no time limit: write co_await timeout(client.recv(room), 5s)
// tests/compile_fail/tls_handshake_timeout.cpp -- a time limit of a handshake.
// SPDX-License-Identifier: MIT
#include <chrono>
#include <coracle/core/task.hpp>
#include <coracle/time/timeout.hpp>
#include <coracle/tls/stream.hpp>

coracle::task<> wrong(coracle::tls::stream<coracle::net::socket>& secure) {
#ifndef CORACLE_COMPILE_FAIL_CONTROL
  co_await secure.handshake(std::chrono::seconds(5));
#else
  co_await coracle::timeout(secure.handshake(), std::chrono::seconds(5));
#endif
}
