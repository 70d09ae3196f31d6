// src/core/error_group.cpp -- the errors of a group, which its copies share, and their text.
// SPDX-License-Identifier: MIT
#include <coracle/base/atomic.hpp>
#include <coracle/base/check.hpp>
#include <coracle/core/error_group.hpp>
#include <cstdint>
#include <new>
#include <string>

namespace coracle {
namespace {
std::string text_of(const std::exception_ptr& error) {
  CORACLE_TRY() { std::rethrow_exception(error); }
  CORACLE_CATCH(const error_group&, nested) { return '(' + std::string(nested.what()) + ')'; }
  CORACLE_CATCH(const std::exception&, known) { return known.what(); }
  CORACLE_CATCH_ALL() { return "not a std::exception"; }
}
/// If a stop source cannot be allocated, every waiting child below it fails with std::bad_alloc.
bool all_are_bad_alloc(const std::vector<std::exception_ptr>& errors) noexcept {
  for (const std::exception_ptr& each : errors) {
    CORACLE_TRY() { std::rethrow_exception(each); }
    CORACLE_CATCH(const std::bad_alloc&, error) {}
    CORACLE_CATCH_ALL() { return false; }
  }
  return true;
}
}  // namespace

struct error_group::contents {
  explicit contents(std::vector<std::exception_ptr>&& given)
      : errors(std::move(given)), text(std::to_string(errors.size()) + " errors") {
    CORACLE_REQUIRE(!errors.empty(), "an error_group was made of no errors: pass at least one");
    const char* separator = ": ";
    for (const std::exception_ptr& each : errors) {
      CORACLE_REQUIRE(each || !CORACLE_EXCEPTIONS(),
                      "an error_group was made of a null exception_ptr: pass only errors");
      text += std::exchange(separator, "; ");
      text += text_of(each);
    }
  }
  std::vector<std::exception_ptr> errors;
  std::string text;
  //   [G1] one more  relaxed  the caller has one already
  //   [G2] one less  acq_rel  the last one sees that the others have read, then deletes   pairs with G2
  detail::atomic<std::uint32_t> owners{1};
};

error_group::error_group(std::vector<std::exception_ptr> errors) : shared_(new contents(std::move(errors))) {}
error_group::error_group(const error_group& other) noexcept : std::exception(other), shared_(other.shared_) {
  shared_->owners.fetch_add(1, detail::memory_order_relaxed); /*G1*/
}
error_group::~error_group() {
  if (shared_->owners.fetch_sub(1, detail::memory_order_acq_rel) == 1) delete shared_; /*G2*/
}
const std::vector<std::exception_ptr>& error_group::errors() const noexcept { return shared_->errors; }
const char* error_group::what() const noexcept { return shared_->text.c_str(); }

void detail::gathered_errors::add(std::exception_ptr error) noexcept {
  if (!error) return;
  if (!first_) {
    first_ = std::move(error);
    return;
  }
  CORACLE_TRY() { others_.push_back(std::move(error)); }
  CORACLE_CATCH(const std::bad_alloc&, lost) {}  // the others are thrown without it
}
void detail::gathered_errors::add_first(std::exception_ptr error) noexcept {
  std::swap(first_, error);
  if (!error) return;
  CORACLE_TRY() { others_.insert(others_.begin(), std::move(error)); }
  CORACLE_CATCH(const std::bad_alloc&, lost) {}
}
std::exception_ptr detail::gathered_errors::together() noexcept {
  if (!others_.empty()) {
    CORACLE_TRY() {
      others_.insert(others_.begin(), first_);
      if (!all_are_bad_alloc(others_)) first_ = std::make_exception_ptr(error_group(std::move(others_)));
    }
    CORACLE_CATCH(const std::bad_alloc&, lost) {}  // the first one is thrown alone
  }
  return std::move(first_);
}
}  // namespace coracle
