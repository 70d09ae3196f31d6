// coracle/core/detail/leaving_exception.hpp -- reports that an exception leaves a task.
// SPDX-License-Identifier: MIT
#pragma once

namespace coracle::detail {
/// Called while an exception that has left the body of a task is being handled. Null in a program that does
/// not link inspect/exception_trace.hpp.
[[gnu::weak]] void exception_leaves(void* frame) noexcept;
inline void report_leaving_exception(void* frame) noexcept {
  if (exception_leaves) exception_leaves(frame);
}
}  // namespace coracle::detail
