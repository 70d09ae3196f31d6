// coracle/core/error_group.hpp -- several errors as one exception, so that none is lost.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/core/result.hpp>
#include <cstddef>
#include <exception>
#include <utility>
#include <vector>

namespace coracle {
/// Thrown if more than one child has failed. A single error is thrown as itself; if all errors are
/// std::bad_alloc, a single one of them is thrown.
///
///     try { co_await scope.join(); } catch (const coracle::error_group& group) { log(group.what()); }
///
/// Order    the first in time comes first.
/// Threads  copies share the errors and may be used by several threads.
class error_group : public std::exception {
 public:
  /// Throws std::bad_alloc. Requires: at least one error, none of them null.
  explicit error_group(std::vector<std::exception_ptr> errors);
  error_group(const error_group& other) noexcept;
  error_group& operator=(const error_group& other) noexcept {
    error_group copy(other);
    std::swap(shared_, copy.shared_);
    return *this;
  }
  ~error_group() override;

  [[nodiscard]] const std::vector<std::exception_ptr>& errors() const noexcept;
  /// The number of errors, and the text of each.
  [[nodiscard]] const char* what() const noexcept override;

 private:
  struct contents;
  contents* shared_;
};

namespace detail {
/// Replaces `first` by an error_group of it and of those that `add(errors, others)` appends, at most `most`
/// in all. Leaves `first` as it is if there is no other error, if the group cannot be allocated, or if all
/// errors are std::bad_alloc.
void group_errors(std::exception_ptr& first, std::size_t most,
                  void (*add)(std::vector<std::exception_ptr>& errors, void* others), void* others);

/// Throws `first` if it is the only error; otherwise what group_errors() makes of it and of those that
/// `add_others(errors)` appends.
template <class AddOthers>
[[noreturn]] CORACLE_COLD() void throw_together(std::exception_ptr first, std::size_t most,
                                                AddOthers add_others) {
  group_errors(
      first, most,
      [](std::vector<std::exception_ptr>& errors, void* others) {
        (*static_cast<AddOthers*>(others))(errors);
      },
      &add_others);
  rethrow(first);
}
}  // namespace detail
}  // namespace coracle
