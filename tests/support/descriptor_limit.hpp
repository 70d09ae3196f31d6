// tests/support/descriptor_limit.hpp -- a process that can open few descriptors more, or none.
// SPDX-License-Identifier: MIT
#pragma once
#include <doctest/doctest.h>
#include <sys/resource.h>
#include <unistd.h>

namespace coracle_test {
/// Limits how many more descriptors the process can open, for its lifetime.
class descriptor_limit {
 public:
  explicit descriptor_limit(int more) {
    REQUIRE(::getrlimit(RLIMIT_NOFILE, &before_) == 0);
    ::close(next_free_);
    set(more);
  }
  descriptor_limit(const descriptor_limit&) = delete;
  descriptor_limit& operator=(const descriptor_limit&) = delete;
  ~descriptor_limit() { ::setrlimit(RLIMIT_NOFILE, &before_); }

  /// `more`: than there were at construction.
  void set(int more) {
    rlimit less = before_;
    less.rlim_cur = static_cast<rlim_t>(next_free_ + more);
    REQUIRE(::setrlimit(RLIMIT_NOFILE, &less) == 0);
  }

 private:
  rlimit before_{};
  const int next_free_ = ::dup(STDERR_FILENO);
};
}  // namespace coracle_test
