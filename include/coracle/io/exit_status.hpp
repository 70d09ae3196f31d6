// coracle/io/exit_status.hpp -- how a process has ended.
// SPDX-License-Identifier: MIT
#pragma once
#include <string>

namespace coracle {
/// How a process has ended: with an exit code, or by a signal.
class exit_status {
 public:
  [[nodiscard]] static exit_status exited_with(int code) noexcept { return {code, 0}; }
  [[nodiscard]] static exit_status killed_by(int signal) noexcept { return {-1, signal}; }

  /// Returns true if the exit code is 0.
  [[nodiscard]] bool is_success() const noexcept { return code_ == 0; }
  /// -1 if a signal has ended it.
  [[nodiscard]] int code() const noexcept { return code_; }
  /// 0 if it has exited.
  [[nodiscard]] int signal() const noexcept { return signal_; }
  /// "exited with 1" or "killed by signal 9 (Killed)".
  [[nodiscard]] std::string to_string() const;
  friend bool operator==(const exit_status&, const exit_status&) noexcept = default;

 private:
  exit_status(int code, int signal) noexcept : code_(code), signal_(signal) {}
  int code_, signal_;
};
}  // namespace coracle
