// coracle/io/detail/one_operation.hpp -- detects operations of one object that overlap, in checked builds.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/base/check.hpp>

namespace coracle::detail {
class set_in_scope {
 public:
  explicit set_in_scope(bool& flag) noexcept : flag_(flag) { flag_ = true; }
  set_in_scope(const set_in_scope&) = delete;
  set_in_scope& operator=(const set_in_scope&) = delete;
  ~set_in_scope() { flag_ = false; }

 private:
  bool& flag_;
};
}  // namespace coracle::detail

/// The first statement of an operation that must not overlap another one of its object, in which `flag` says
/// that one is under way. No object, not even an empty one, in other builds: g++ gives each 8 bytes in the
/// coroutine's frame.
#if CORACLE_CHECKS()
#define CORACLE_CHECK_ONE_OPERATION(flag, message) \
  CORACLE_CHECK(!(flag), message);                 \
  const ::coracle::detail::set_in_scope under_way { flag }
#else
#define CORACLE_CHECK_ONE_OPERATION(flag, message) void()
#endif
