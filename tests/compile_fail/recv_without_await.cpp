// expect: co_await channel.recv()
// tests/compile_fail/recv_without_await.cpp -- an element that is not awaited.
// SPDX-License-Identifier: MIT
#include <coracle/channels/channel.hpp>
#include <coracle/core/task.hpp>
#include <optional>

coracle::task<int> wrong(coracle::channel<int>& numbers) {
#ifndef CORACLE_COMPILE_FAIL_CONTROL
  std::optional<int> number = numbers.recv();
#else
  std::optional<int> number = co_await numbers.recv();
#endif
  co_return *number;
}
