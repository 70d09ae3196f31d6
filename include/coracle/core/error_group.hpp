// coracle/core/error_group.hpp -- several errors as one exception, so that none is lost.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/base/exchange.hpp>
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
    detail::swap_values(shared_, copy.shared_);
    return *this;
  }
  ~error_group() override;

  [[nodiscard]] const std::vector<std::exception_ptr>& errors() const noexcept;
  /// The number of errors, and the text of each, that of a group in parentheses.
  [[nodiscard]] const char* what() const noexcept override;

 private:
  struct contents;
  contents* shared_;
};

namespace detail {
/// The errors of some work: a single one is thrown as itself, several as an error_group. The first one is
/// thrown alone if all of them are std::bad_alloc, or if the group cannot be allocated; a later one for which
/// there is no memory is left out.
class gathered_errors {
 public:
  gathered_errors() noexcept = default;
  [[nodiscard]] bool empty() const noexcept { return !first_; }
  /// Puts an error behind those added before; null has no effect.
  void add(std::exception_ptr error) noexcept;
  /// Puts it before all others. Requires: no other error was put first.
  void add_first(std::exception_ptr error) noexcept;
  /// Returns what is thrown for all of them. Requires: not empty.
  [[nodiscard]] std::exception_ptr together() noexcept;
  /// Requires: not empty.
  [[noreturn]] CORACLE_THROWS_ABI() void throw_together() { rethrow(together()); }

 private:
  std::exception_ptr first_;
  std::vector<std::exception_ptr> others_;
};
}  // namespace detail
}  // namespace coracle
