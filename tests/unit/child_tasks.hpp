// tests/unit/child_tasks.hpp -- tasks that tests run concurrently with others.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/core/task.hpp>
#include <coracle/sync/async_manual_reset_event.hpp>
#include <exception>
#include <stdexcept>
#include <string>

namespace coracle_test {
template <class T>
coracle::task<T> give(T value) {
  co_return static_cast<T&&>(value);
}
inline coracle::task<> nothing() { co_return; }
inline coracle::task<int> after(coracle::async_manual_reset_event& event, int value) {
  co_await event;
  co_return value;
}
inline coracle::task<int> fail(const char* what) {
  throw std::runtime_error(what);
  co_return 0;
}
inline coracle::task<int> fail_after(coracle::async_manual_reset_event& event, const char* what) {
  co_await event;
  throw std::runtime_error(what);
}
inline std::string message_of(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& e) {
    return e.what();
  }
}
}  // namespace coracle_test
