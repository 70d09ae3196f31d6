// src/io/owned_fd.hpp -- a descriptor that is closed at the end of its scope.
// SPDX-License-Identifier: MIT
#pragma once
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

namespace coracle::detail {
/// Throws std::system_error for errno.
[[noreturn]] inline void throw_errno(const char* what) {
  throw std::system_error(errno, std::system_category(), what);
}

/// Owns a file descriptor.
class owned_fd {
 public:
  /// Throws std::system_error with `what` if `fd` is -1.
  owned_fd(int fd, const char* what) : fd_(fd) {
    if (fd < 0) throw_errno(what);
  }
  owned_fd(owned_fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  owned_fd& operator=(owned_fd&&) = delete;
  ~owned_fd() {
    if (fd_ >= 0) ::close(fd_);
  }
  [[nodiscard]] int get() const noexcept { return fd_; }
  /// The caller now owns it.
  [[nodiscard]] int release() && noexcept { return std::exchange(fd_, -1); }

 private:
  int fd_;
};
}  // namespace coracle::detail
