// expect: neither bytes nor text: pass a pointer and a number of bytes
// tests/compile_fail/send_vector_of_int.cpp -- elements that are no bytes.
// SPDX-License-Identifier: MIT
#include <coracle/core/task.hpp>
#include <coracle/net/socket.hpp>
#include <string>
#include <vector>

coracle::task<> wrong(coracle::net::socket& client, const std::vector<int>& numbers) {
  co_await client.send(numbers.data(), numbers.size() * sizeof(int));
#ifndef CORACLE_COMPILE_FAIL_CONTROL
  co_await client.send(numbers);
#endif
}
