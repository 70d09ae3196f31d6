// coracle/io/owned_descriptor.hpp -- a file descriptor that is closed at the end of its scope.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/base/exchange.hpp>
#include <utility>

namespace coracle {
/// Owns a file descriptor of the process, or none.
///
///     coracle::owned_descriptor event{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
///     coracle::stream_descriptor counter{io, std::move(event).release()};
class owned_descriptor {
 public:
  /// Owns nothing.
  owned_descriptor() noexcept = default;
  /// Takes over `fd`; -1 means none.
  explicit owned_descriptor(int fd) noexcept : fd_(fd) {}
  owned_descriptor(owned_descriptor&& other) noexcept : fd_(detail::exchange(other.fd_, -1)) {}
  owned_descriptor& operator=(owned_descriptor&& other) noexcept {
    owned_descriptor taken{std::move(other)};
    detail::swap_values(fd_, taken.fd_);
    return *this;
  }
  ~owned_descriptor() { close(); }

  void close() noexcept;
  [[nodiscard]] bool is_open() const noexcept { return fd_ >= 0; }
  /// Returns -1 if it owns none.
  [[nodiscard]] int get() const noexcept { return fd_; }
  /// Returns the descriptor, which the caller now owns and must close.
  [[nodiscard]] int release() && noexcept { return detail::exchange(fd_, -1); }
  int release() & = delete;  // std::move(descriptor).release()

 private:
  int fd_ = -1;
};
}  // namespace coracle
