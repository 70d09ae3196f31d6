// coracle/utility/expected_coroutine.hpp -- expected as a coroutine: co_await unwraps, or returns early.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/core/detail/allocated_promise.hpp>
#include <coracle/utility/detail/early_result.hpp>
#include <coracle/utility/expected.hpp>

namespace coracle::detail {
template <class T>
inline constexpr bool is_any_expected = false;
template <class T, class E>
inline constexpr bool is_any_expected<expected<T, E>> = true;
template <class T>
inline constexpr bool is_any_unexpected = false;
template <class E>
inline constexpr bool is_any_unexpected<unexpected<E>> = true;

template <class T>
inline constexpr bool expected_or_unexpected =
    is_any_expected<std::remove_cvref_t<T>> || is_any_unexpected<std::remove_cvref_t<T>>;
/// The type of `source.error()`, by the value category of `Source`.
template <class Source>
using error_of = decltype(std::declval<Source>().error());

/// Awaits `source`: returns a reference to the value of an lvalue; moves the value out of an rvalue.
template <class Source>
class [[nodiscard]] expected_awaiter {
 public:
  explicit expected_awaiter(Source&& source) noexcept : source_(static_cast<Source&&>(source)) {}
  bool await_ready() const noexcept {
    if constexpr (is_any_expected<std::remove_cvref_t<Source>>) {
      return source_.has_value();
    } else {
      return false;
    }
  }
  template <class Promise>
  void await_suspend(std::coroutine_handle<Promise> self) const {
    self.promise().end_early(unexpect, static_cast<Source&&>(source_).error());
  }
  decltype(auto) await_resume() const {
    if constexpr (is_any_expected<std::remove_cvref_t<Source>>) {
      using value_type = typename std::remove_cvref_t<Source>::value_type;
      if constexpr (std::is_void_v<value_type>) {
        return;
      } else if constexpr (std::is_lvalue_reference_v<Source>) {
        return *source_;
      } else {
        return value_type(*static_cast<Source&&>(source_));
      }
    }
  }

 private:
  Source&& source_;
};

template <class E>
struct CORACLE_CHECKED_ABI() returns_nothing_expected : early_state<expected<void, E>> {
  void return_void() noexcept { this->result().emplace(); }
};

template <class T, class E>
using expected_returns =
    std::conditional_t<std::is_void_v<T>, returns_nothing_expected<E>, early_returns<expected<T, E>>>;

template <class T>
struct not_unwrapped {
  static_assert(!expected_or_unexpected<T>,
                "the error of the awaited expected does not convert to the error type of this coroutine");
  static_assert(expected_or_unexpected<T>,
                "a coroutine that returns expected can co_await only an expected or an unexpected");
};

/// A coroutine that returns coracle::expected (std::expected if available).
///
///     coracle::expected<int, parse_error> sum(std::string_view a, std::string_view b) {
///       co_return co_await parse(a) + co_await parse(b);
///     }
///
/// Awaiting an expected that holds an error, or `co_await coracle::unexpected(error)`, destroys the locals
/// and returns the error, converted to `E`. `co_return` takes anything from which expected<T, E> can be
/// constructed; a coroutine that returns expected<void, E> uses `co_return;` or flows off its end. Where
/// `expected` is std::expected, no other library of the program may make that a coroutine type.
/// Order         the body runs inside the call.
/// Exceptions    an exception that leaves the body is thrown from the call. clang 22 at -O0 then reads the
///               freed frame, which AddressSanitizer reports; at -O1 it does not.
/// Cost          one frame from the recycler, one move of the result.
template <class T, class E>
struct CORACLE_CHECKED_ABI() expected_promise : early_result_promise<expected<T, E>, expected_returns<T, E>> {
  template <class Source>
    requires(expected_or_unexpected<Source> && std::is_convertible_v<error_of<Source>, E>)
  expected_awaiter<Source> await_transform(Source&& source) const noexcept {
    return expected_awaiter<Source>(static_cast<Source&&>(source));
  }
  template <class U>
  refused_await<not_unwrapped<U>> await_transform(U&&) const noexcept {
    return {};
  }
};
}  // namespace coracle::detail

template <class T, class E, class... Args>
struct std::coroutine_traits<coracle::expected<T, E>, Args...> {
  using promise_type = coracle::detail::expected_promise<T, E>;
};
/// With `std::allocator_arg_t, allocator` as its first parameters (after the object, for a member function or
/// a lambda) it takes its frame from a copy of that allocator.
template <class T, class E, class... Params>
  requires requires { typename coracle::detail::given_allocator<Params...>::type; }
struct std::coroutine_traits<coracle::expected<T, E>, Params...> {
  using promise_type =
      coracle::detail::allocated_promise<coracle::detail::expected_promise<T, E>,
                                         typename coracle::detail::given_allocator<Params...>::type>;
};
