// coracle/core/operation_cancelled.hpp -- the exception that says: stopped, as asked.
// SPDX-License-Identifier: MIT
#pragma once
#include <exception>

namespace coracle {
/// Thrown by an operation that has a value to give and was stopped before it had one. It is no failure: whoever
/// requested the stop expects it.
///
///     try { co_await io.schedule_after(1s, token); } catch (const coracle::operation_cancelled&) { co_return; }
class operation_cancelled : public std::exception {
 public:
  operation_cancelled() noexcept = default;
  [[nodiscard]] const char* what() const noexcept override { return "operation cancelled"; }
};
}  // namespace coracle
