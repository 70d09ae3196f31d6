// coracle/utility/optional_coroutine.hpp -- std::optional as a coroutine: co_await unwraps, or returns early.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/core/detail/allocated_promise.hpp>
#include <coracle/utility/detail/early_result.hpp>
#include <optional>

namespace coracle::detail {
template <class T>
inline constexpr bool is_optional = false;
template <class T>
inline constexpr bool is_optional<std::optional<T>> = true;

/// Awaits `source`: returns a reference to the value of an lvalue; moves the value out of an rvalue. Of an
/// optional<T&> it returns the reference.
template <class Optional>
class [[nodiscard]] optional_awaiter {
  using value_type = typename std::remove_cvref_t<Optional>::value_type;
  using dereferenced = decltype(*std::declval<Optional>());

 public:
  using result_type = std::conditional_t<std::is_lvalue_reference_v<dereferenced>, dereferenced, value_type>;

  explicit optional_awaiter(Optional&& source) noexcept : source_(static_cast<Optional&&>(source)) {}
  bool await_ready() const noexcept { return source_.has_value(); }
  template <class Promise>
  void await_suspend(std::coroutine_handle<Promise> self) const noexcept {
    self.promise().end_early(std::nullopt);
  }
  result_type await_resume() const { return *static_cast<Optional&&>(source_); }

 private:
  Optional&& source_;
};

template <class T>
struct not_an_optional {
  static_assert(!sizeof(T*), "a coroutine that returns std::optional can co_await only a std::optional");
};

/// A coroutine that returns std::optional.
///
///     std::optional<int> sum(std::optional<int> a, std::optional<int> b) {
///       co_return co_await a + co_await b;
///     }
///
/// Awaiting an optional without a value destroys the locals and returns std::nullopt. `co_return` takes
/// anything from which std::optional<T> can be constructed. No other library of the program may make
/// std::optional a coroutine type.
/// Order         the body runs inside the call.
/// Exceptions    an exception that leaves the body is thrown from the call. clang 22 at -O0 then reads the
///               freed frame, which AddressSanitizer reports; at -O1 it does not.
/// Cost          one frame from the recycler, one move of the result.
template <class T>
struct CORACLE_CHECKED_ABI() optional_promise : early_result_promise<std::optional<T>> {
  template <class Optional>
    requires is_optional<std::remove_cvref_t<Optional>>
  optional_awaiter<Optional> await_transform(Optional&& source) const noexcept {
    return optional_awaiter<Optional>(static_cast<Optional&&>(source));
  }
  template <class U>
  refused_await<not_an_optional<std::remove_cvref_t<U>>> await_transform(U&&) const noexcept {
    return {};
  }
};
}  // namespace coracle::detail

template <class T, class... Args>
struct std::coroutine_traits<std::optional<T>, Args...> {
  using promise_type = coracle::detail::optional_promise<T>;
};
/// With `std::allocator_arg_t, allocator` as its first parameters (after the object, for a member function or
/// a lambda) it takes its frame from a copy of that allocator.
template <class T, class... Params>
  requires requires { typename coracle::detail::given_allocator<Params...>::type; }
struct std::coroutine_traits<std::optional<T>, Params...> {
  using promise_type =
      coracle::detail::allocated_promise<coracle::detail::optional_promise<T>,
                                         typename coracle::detail::given_allocator<Params...>::type>;
};
