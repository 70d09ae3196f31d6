// coracle/core/broken_promise.hpp -- the error of awaiting an empty handle.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/base/check.hpp>
#include <stdexcept>

namespace coracle {
/// Thrown when the result of an empty shared_task is awaited: nothing would ever provide one.
///
///     const coracle::shared_task<int> nothing;
///     co_await nothing;  // throws broken_promise
class broken_promise : public std::logic_error {
 public:
  broken_promise()
      : std::logic_error("an empty task was awaited: it was moved from, or never held a coroutine") {}
};

namespace detail {
[[noreturn]] CORACLE_THROWS_ABI() CORACLE_COLD() inline void throw_broken_promise() {
  CORACLE_THROW(broken_promise{}, "an empty task was awaited: it was moved from, or never held a coroutine");
}
}  // namespace detail
}  // namespace coracle
