// coracle/core/error_group.hpp -- several errors as one exception, so that none is lost.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/base/atomic.hpp>
#include <coracle/core/result.hpp>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <new>
#include <string>
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
  explicit error_group(std::vector<std::exception_ptr> errors) : shared_(new contents(std::move(errors))) {}
  error_group(const error_group& other) noexcept : std::exception(other), shared_(other.shared_) {
    shared_->owners.fetch_add(1, detail::memory_order_relaxed); /*G1*/
  }
  error_group& operator=(const error_group& other) noexcept {
    error_group copy(other);
    std::swap(shared_, copy.shared_);
    return *this;
  }
  ~error_group() override {
    if (shared_->owners.fetch_sub(1, detail::memory_order_acq_rel) == 1) delete shared_; /*G2*/
  }

  [[nodiscard]] const std::vector<std::exception_ptr>& errors() const noexcept { return shared_->errors; }
  /// The number of errors, and the text of each.
  [[nodiscard]] const char* what() const noexcept override { return shared_->text.c_str(); }

 private:
  struct contents {
    explicit contents(std::vector<std::exception_ptr>&& given)
        : errors(std::move(given)), text(std::to_string(errors.size()) + " errors") {
      const char* separator = ": ";
      for (const std::exception_ptr& each : errors) {
        text += std::exchange(separator, "; ");
        text += text_of(each);
      }
    }
    static std::string text_of(const std::exception_ptr& error) {
      CORACLE_TRY() { std::rethrow_exception(error); }
      CORACLE_CATCH(const std::exception&, known) { return known.what(); }
      CORACLE_CATCH_ALL() { return "not a std::exception"; }
    }
    std::vector<std::exception_ptr> errors;
    std::string text;
    //   [G1] one more  relaxed  the caller has one already
    //   [G2] one less  acq_rel  the last one sees that the others have read, then deletes   pairs with G2
    detail::atomic<std::uint32_t> owners{1};
  };
  contents* shared_;
};

namespace detail {
/// If a stop source cannot be allocated, every waiting child below it fails with std::bad_alloc.
CORACLE_COLD() inline bool all_say_no_memory(const std::vector<std::exception_ptr>& errors) noexcept {
  for (const std::exception_ptr& each : errors) {
    CORACLE_TRY() { std::rethrow_exception(each); }
    CORACLE_CATCH(const std::bad_alloc&, error) {}
    CORACLE_CATCH_ALL() { return false; }
  }
  return true;
}

/// Throws `first` if it is the only error; otherwise an error_group of it and of those that
/// `add_others(errors)` appends, at most `most` in all. Throws `first` alone if the group cannot be allocated
/// or all errors are std::bad_alloc.
template <class AddOthers>
[[noreturn]] CORACLE_COLD() void throw_together(std::exception_ptr first, std::size_t most,
                                                AddOthers add_others) {
  if (most > 1) {
    CORACLE_TRY() {
      std::vector<std::exception_ptr> errors{first};
      errors.reserve(most);
      add_others(errors);
      if (errors.size() > 1 && !all_say_no_memory(errors))
        first = std::make_exception_ptr(error_group(std::move(errors)));
    }
    CORACLE_CATCH(const std::bad_alloc&, error) {}  // `first` is unchanged
  }
  rethrow(first);
}
}  // namespace detail
}  // namespace coracle
