// coracle/compose/scope_policy.hpp -- how a scope handles the failure of a child.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/base/check.hpp>
#include <coracle/base/functional.hpp>
#include <exception>
#include <utility>

namespace coracle {
/// What a scope does about a child that ends with an exception. One that is cancelled has not failed.
///
///     coracle::async_scope scope{coracle::scope_policy::collect_all()};
class scope_policy {
 public:
  using handler = std::function<void(std::exception_ptr)>;

  /// The first error stops the other children; join() throws it, and those that follow with it.
  [[nodiscard]] static scope_policy fail_fast() noexcept { return scope_policy{true, nullptr}; }
  /// Nobody is stopped; join() throws all errors.
  [[nodiscard]] static scope_policy collect_all() noexcept { return scope_policy{false, nullptr}; }
  /// Nobody is stopped; `on_error` gets each error, on the thread on which the child has ended, so perhaps on
  /// several at once. It must not throw: std::terminate. Requires: `on_error` is not empty.
  [[nodiscard]] static scope_policy supervise(handler on_error) noexcept {
    CORACLE_REQUIRE(on_error, "scope_policy::supervise() needs a function that gets the errors");
    return scope_policy{false, std::move(on_error)};
  }

  [[nodiscard]] bool stops_siblings() const noexcept { return stops_siblings_; }
  /// If empty, errors are kept for join().
  [[nodiscard]] const handler& on_error() const noexcept { return on_error_; }

 private:
  scope_policy(bool stops, handler on_error) noexcept
      : stops_siblings_(stops), on_error_(std::move(on_error)) {}
  bool stops_siblings_;
  handler on_error_;
};
}  // namespace coracle
