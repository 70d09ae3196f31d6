// src/io/system_error.hpp -- a failed system call as an exception.
// SPDX-License-Identifier: MIT
#pragma once
#include <string>
#include <system_error>

namespace coracle::detail {
/// `error` is a value of errno.
[[noreturn]] inline void throw_error(int error, const std::string& what) {
  throw std::system_error(error, std::system_category(), what);
}
}  // namespace coracle::detail
