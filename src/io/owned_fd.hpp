// src/io/owned_fd.hpp -- the descriptor returned by a system call, or an exception.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/io/owned_descriptor.hpp>

#include "system_error.hpp"

namespace coracle::detail {
/// Owns the descriptor that a system call has returned.
class owned_fd : public owned_descriptor {
 public:
  /// Throws std::system_error with `what` if `fd` is -1.
  owned_fd(int fd, const char* what) : owned_descriptor(fd) {
    if (fd < 0) throw_errno(what);
  }
};
}  // namespace coracle::detail
