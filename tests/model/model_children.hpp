// tests/model/model_children.hpp -- children that end when a model check resumes them.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/core/error_group.hpp>
#include <coracle/core/task.hpp>
#include <stdexcept>

#include "model_waits.hpp"

namespace coracle_test {
/// Once resumed, it writes `value` to `data` and returns it.
inline coracle::task<int> later(std::coroutine_handle<>& handle, plain_int& data, int value) {
  co_await hand_out{handle};
  data = value;
  co_return value;
}
inline coracle::task<int> fails(std::coroutine_handle<>& handle) {
  co_await hand_out{handle};
  throw std::runtime_error("failed");
}
/// Resumes `first` on a thread of its own, and `second` meanwhile.
inline void resume_both(std::coroutine_handle<> first, std::coroutine_handle<> second) {
  model_thread thread{[first] { coracle::resume(first); }};
  coracle::resume(second);
  thread.join();
}
/// Two children fail at the same moment: no error is lost.
template <class Await>
void two_failures(Await await_both) {
  std::coroutine_handle<> a, b;
  std::size_t failed = 0;
  const auto wait = [&]() -> detached {
    std::size_t errors = 0;
    try {
      co_await await_both(fails(a), fails(b));
    } catch (const coracle::error_group& all) {
      errors = all.errors().size();
    }
    failed += errors;
  };
  wait();
  resume_both(a, b);
  model_expect(failed == 2, "both errors arrive");
}
}  // namespace coracle_test
