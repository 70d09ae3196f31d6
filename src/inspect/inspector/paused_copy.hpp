// SPDX-License-Identifier: MIT
// A copy of the process that stands still, to be searched while the process runs on (ADR 43).
#pragma once
#include <sys/types.h>

namespace coracle::detail {
/// A child process with a copy of the memory. Nobody is told when it ends, and it ends with this object or
/// with the thread that made it.
/// Requires: that thread blocks all signals; so does the child then, which has the handlers of the program.
class paused_copy {
 public:
  paused_copy() noexcept;
  paused_copy(const paused_copy&) = delete;
  paused_copy& operator=(const paused_copy&) = delete;
  ~paused_copy();

  /// Returns false if the system refuses to make a copy, or to read it.
  [[nodiscard]] bool exists() const noexcept { return child_ > 0; }
  [[nodiscard]] pid_t process() const noexcept { return child_; }

 private:
  void end() noexcept;
  pid_t child_;
};
}  // namespace coracle::detail
