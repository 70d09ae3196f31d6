// coracle/compose/as_expected.hpp -- how work ended, as an expected: its value, or why it has none.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/compose/as_outcome.hpp>
#include <coracle/utility/expected.hpp>
#include <exception>
#include <functional>

namespace coracle {
/// Why work has no result: the error that left it, or the reason for which it was stopped.
class no_result {
 public:
  /// Requires: `error` is not null.
  explicit no_result(std::exception_ptr error) noexcept : error_(std::move(error)) {
    CORACLE_REQUIRE(error_ || !CORACLE_EXCEPTIONS(),
                    "a no_result was made of a null exception_ptr: pass an error or a stop_reason");
  }
  /// Requires: `why` is not none.
  explicit no_result(stop_reason why) noexcept : reason_(why) {
    CORACLE_REQUIRE(is_cancelled(), "a no_result was made of stop_reason::none: pass an error or a reason");
  }

  [[nodiscard]] bool is_cancelled() const noexcept { return reason_ != stop_reason::none; }
  /// Returns why the work was stopped, or none if it failed.
  [[nodiscard]] stop_reason reason() const noexcept { return reason_; }
  /// Returns the error, or null if the work was stopped.
  [[nodiscard]] const std::exception_ptr& error() const noexcept { return error_; }
  /// Throws the error, or operation_cancelled.
  [[noreturn]] void rethrow() const {
    if (is_cancelled()) detail::throw_cancelled(reason_);
    detail::rethrow(error_);
  }

 private:
  std::exception_ptr error_;
  stop_reason reason_ = stop_reason::none;
};

namespace detail {
template <class Awaitable>
class [[nodiscard("as_expected does nothing until it is awaited")]] as_expected_operation
    : public ended_work<as_expected_operation<Awaitable>, Awaitable> {
  using result = kept_result_t<Awaitable>;
  using value = std::conditional_t<std::is_void_v<result>, void, element_t<result>>;

 public:
  using ended_work<as_expected_operation, Awaitable>::ended_work;
  static awaiting_frame above(stop_reason) noexcept { return {nullptr, awaiting_frame::kind::quiet}; }
  expected<value, no_result> await_resume() noexcept(keeps_end<Awaitable>) {
    auto end = this->finished().take_outcome();
    if (end.is_cancelled()) return unexpected<no_result>(no_result(end.reason()));
    if (end.has_error()) return unexpected<no_result>(no_result(end.error()));
    if constexpr (std::is_void_v<value>) {
      return {};
    } else {
      return std::move(end).get();
    }
  }
};
}  // namespace detail

/// As as_outcome(), but returns the value in an expected, and in place of it a no_result, which says whether
/// `work` failed or was stopped. An lvalue reference is returned as std::reference_wrapper.
///
///     coracle::expected<page, coracle::no_result> got = co_await coracle::as_expected(fetch(address));
///     if (!got && got.error().is_cancelled()) co_return;
///     show(got ? *got : not_found);
///
/// Prefer as_outcome() if the error is only passed on.
/// Exceptions  those of moving `work` in and its value out.
template <detail::work Work>
auto as_expected(Work&& work) {
  return detail::as_expected_operation<detail::work_t<Work>>(detail::as_awaitable(static_cast<Work&&>(work)));
}
template <class T>
  requires(!detail::work<T>)
auto as_expected(T&&) {
  static_assert(detail::is_work<T>,
                "as_expected needs an awaitable: a call that returns a task, or std::move of a task that has "
                "a name; or a function that returns one");
  return detail::any_awaiter{};
}
}  // namespace coracle
