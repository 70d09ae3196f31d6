// coracle/compose/scope_policy.hpp -- how a scope handles the failure of a child.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/base/check.hpp>
#include <coracle/base/functional.hpp>
#include <exception>
#include <utility>

namespace coracle {
/// What a scope does if a child ends with an exception. A cancelled child has not failed.
///
///     coracle::async_scope scope{coracle::scope_policy::collect_all()};
class scope_policy {
 public:
  using handler = std::function<void(std::exception_ptr)>;

  /// The first error stops the other children; join() throws it, together with those that follow.
  [[nodiscard]] static scope_policy fail_fast() noexcept { return scope_policy{true, nullptr}; }
  /// Stops no children; join() throws all errors.
  [[nodiscard]] static scope_policy collect_all() noexcept { return scope_policy{false, nullptr}; }
  /// Stops no children; `on_error` receives each error on the thread on which the child ended, so possibly on
  /// several threads at once. If it throws, std::terminate is called. Requires: `on_error` is not empty.
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
