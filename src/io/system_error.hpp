// src/io/system_error.hpp -- a failed system call as an exception.
// SPDX-License-Identifier: MIT
#pragma once
#include <cerrno>
#include <string>
#include <system_error>

namespace coracle::detail {
/// `error` is a value of errno.
[[noreturn]] inline void throw_error(int error, const std::string& what) {
  throw std::system_error(error, std::system_category(), what);
}
/// As throw_error(), for errno.
[[noreturn]] inline void throw_errno(const char* what) {
  const int error = errno;
  throw_error(error, what);
}
}  // namespace coracle::detail
