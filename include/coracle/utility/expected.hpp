// coracle/utility/expected.hpp -- a value or an error: std::expected, or a substitute before C++23.
// SPDX-License-Identifier: MIT
#pragma once
#include <version>

#if defined(__cpp_lib_expected)
#include <expected>

namespace coracle {
using std::bad_expected_access;
using std::expected;
using std::unexpect;
using std::unexpect_t;
using std::unexpected;
}  // namespace coracle

#else
#include <concepts>
#include <coracle/base/call.hpp>
#include <coracle/base/check.hpp>
#include <coracle/utility/detail/expected_storage.hpp>
#include <exception>
#include <initializer_list>
#include <type_traits>
#include <utility>

namespace coracle {
// Translation units with and without std::expected disagree about what a function returns. The tag is part of
// the name of each function that returns an expected, so that a program that mixes them does not link: the
// linker reports `give[abi:without_std_expected]()` as undefined.
template <class T, class E>
class [[gnu::abi_tag("without_std_expected")]] expected;
template <class E>
class [[gnu::abi_tag("without_std_expected")]] unexpected;

template <class E>
class bad_expected_access;
template <>
class bad_expected_access<void> : public std::exception {
 public:
  const char* what() const noexcept override { return "bad access to a coracle::expected without a value"; }
};
/// Thrown by `value()` if there is an error instead.
template <class E>
class bad_expected_access : public bad_expected_access<void> {
 public:
  explicit bad_expected_access(E error) : error_(std::move(error)) {}
  E& error() & noexcept { return error_; }
  const E& error() const& noexcept { return error_; }
  E&& error() && noexcept { return std::move(error_); }

 private:
  E error_;
};

struct unexpect_t {
  explicit unexpect_t() = default;
};
/// Tag: construct the error in place.
inline constexpr unexpect_t unexpect{};

/// An error on its way into an expected.
template <class E>
class unexpected {
  static_assert(std::is_object_v<E> && std::same_as<E, std::remove_cvref_t<E> >, "E must be an object type");

 public:
  template <class G = E>
    requires(!std::is_same_v<std::remove_cvref_t<G>, unexpected> &&
             !std::is_same_v<std::remove_cvref_t<G>, std::in_place_t> && std::constructible_from<E, G>)
  constexpr explicit unexpected(G&& error) noexcept(std::is_nothrow_constructible_v<E, G>)
      : error_(std::forward<G>(error)) {}
  template <class... Args>
    requires std::constructible_from<E, Args...>
  constexpr explicit unexpected(std::in_place_t, Args&&... args) : error_(std::forward<Args>(args)...) {}

  constexpr E& error() & noexcept { return error_; }
  constexpr const E& error() const& noexcept { return error_; }
  constexpr E&& error() && noexcept { return std::move(error_); }
  constexpr void swap(unexpected& other) noexcept(std::is_nothrow_swappable_v<E>) {
    using std::swap;
    swap(error_, other.error_);
  }
  friend constexpr void swap(unexpected& a, unexpected& b) noexcept(noexcept(a.swap(b))) { a.swap(b); }
  template <class G>
  friend constexpr bool operator==(const unexpected& a, const unexpected<G>& b) {
    return a.error() == b.error();
  }

 private:
  E error_;
};
template <class E>
unexpected(E) -> unexpected<E>;

namespace detail {
struct no_value {};  // stands for the value of an expected<void, E>

template <class T, class... Ts>
inline constexpr bool is_one_of = (std::is_same_v<T, Ts> || ...);
template <class T>
inline constexpr bool is_expected = false;
template <class T, class E>
inline constexpr bool is_expected<expected<T, E> > = true;
template <class T>
inline constexpr bool is_unexpected = false;
template <class E>
inline constexpr bool is_unexpected<unexpected<E> > = true;

template <class T, class From>
concept takes_any_form_of = std::constructible_from<T, From&> || std::constructible_from<T, From> ||
                            std::constructible_from<T, const From&> || std::constructible_from<T, const From>;
template <class T, class From>
concept converts_from_any_form_of =
    takes_any_form_of<T, From> || std::convertible_to<From&, T> || std::convertible_to<From, T> ||
    std::convertible_to<const From&, T> || std::convertible_to<const From, T>;

template <class E>
CORACLE_FAILS()
void throw_bad_access([[maybe_unused]] E&& error) {
  CORACLE_THROW(bad_expected_access<std::decay_t<E> >(std::forward<E>(error)),
                "value() of an expected that holds an error");
}
}  // namespace detail

/// A `T`, which may be void, or an error of type `E`. Each member has the meaning of std::expected's.
///
///     coracle::expected<int, std::string> half(int n) {
///       if (n % 2 != 0) return coracle::unexpected<std::string>("odd");
///       return n / 2;
///     }
template <class T, class E>
class expected {
  static_assert(!std::is_reference_v<T> && !std::is_function_v<T>, "T must be an object type or void");
  static_assert(std::is_object_v<E>, "E must be an object type");
  template <class, class>
  friend class expected;

  static constexpr bool valueless = std::is_void_v<T>;
  using stored = std::conditional_t<valueless, detail::no_value, T>;
  using storage = detail::expected_storage<stored, E>;

  template <class U, class G, class Value, class Error>
  static constexpr bool converts_from =
      std::constructible_from<E, Error> && !detail::takes_any_form_of<unexpected<E>, expected<U, G> > &&
      (valueless ? std::is_void_v<U>
                 : std::is_constructible_v<stored, Value> &&
                       (std::same_as<std::remove_cv_t<T>, bool> ||
                        !detail::converts_from_any_form_of<stored, expected<U, G> >));
  template <class U>
  static constexpr bool is_value =
      !valueless && !detail::is_one_of<std::remove_cvref_t<U>, expected, std::in_place_t> &&
      !detail::is_unexpected<std::remove_cvref_t<U> > && std::constructible_from<stored, U>;

 public:
  using value_type = T;
  using error_type = E;
  using unexpected_type = unexpected<E>;
  template <class U>
  using rebind = expected<U, E>;

  constexpr expected() noexcept(std::is_nothrow_default_constructible_v<stored>)
    requires std::is_default_constructible_v<stored>
      : held_(std::in_place) {}
  template <class U, class G>
    requires converts_from<U, G, std::add_lvalue_reference_t<const U>, const G&>
  constexpr explicit(!(valueless || std::is_convertible_v<std::add_lvalue_reference_t<const U>, stored>) ||
                     !std::is_convertible_v<const G&, E>) expected(const expected<U, G>& other)
      : held_(std::true_type(), other.held_) {}
  template <class U, class G>
    requires converts_from<U, G, U, G>
  constexpr explicit(!(valueless || std::is_convertible_v<U, stored>) || !std::is_convertible_v<G, E>)
      expected(expected<U, G>&& other)
      : held_(std::true_type(), std::move(other.held_)) {}
  template <class U = stored>
    requires is_value<U>
  constexpr explicit(!std::is_convertible_v<U, stored>) expected(U&& value)
      : held_(std::in_place, std::forward<U>(value)) {}
  template <class G>
    requires std::constructible_from<E, const G&>
  constexpr explicit(!std::is_convertible_v<const G&, E>) expected(const unexpected<G>& error)
      : held_(detail::holds_error(), error.error()) {}
  template <class G>
    requires std::constructible_from<E, G>
  constexpr explicit(!std::is_convertible_v<G, E>) expected(unexpected<G>&& error)
      : held_(detail::holds_error(), std::move(error).error()) {}
  template <class... Args>
    requires std::constructible_from<stored, Args...>
  constexpr explicit expected(std::in_place_t, Args&&... args)
      : held_(std::in_place, std::forward<Args>(args)...) {}
  template <class U, class... Args>
    requires std::constructible_from<stored, std::initializer_list<U>&, Args...>
  constexpr explicit expected(std::in_place_t, std::initializer_list<U> list, Args&&... args)
      : held_(std::in_place, list, std::forward<Args>(args)...) {}
  template <class... Args>
    requires std::constructible_from<E, Args...>
  constexpr explicit expected(unexpect_t, Args&&... args)
      : held_(detail::holds_error(), std::forward<Args>(args)...) {}
  template <class U, class... Args>
    requires std::constructible_from<E, std::initializer_list<U>&, Args...>
  constexpr explicit expected(unexpect_t, std::initializer_list<U> list, Args&&... args)
      : held_(detail::holds_error(), list, std::forward<Args>(args)...) {}

  template <class U = stored>
    requires(is_value<U> && std::is_assignable_v<stored&, U> &&
             (detail::replaceable<stored, E> || std::is_nothrow_constructible_v<stored, U>))
  constexpr expected& operator=(U&& value) {
    held_.assign_value(std::forward<U>(value));
    return *this;
  }
  template <class G>
    requires(std::constructible_from<E, const G&> && std::is_assignable_v<E&, const G&>)
  constexpr expected& operator=(const unexpected<G>& error) {
    held_.assign_error(error.error());
    return *this;
  }
  template <class G>
    requires(std::constructible_from<E, G> && std::is_assignable_v<E&, G>)
  constexpr expected& operator=(unexpected<G>&& error) {
    held_.assign_error(std::move(error).error());
    return *this;
  }
  template <class... Args>
    requires std::is_nothrow_constructible_v<stored, Args...>
  constexpr std::add_lvalue_reference_t<T> emplace(Args&&... args) noexcept {
    held_.destroy();
    std::construct_at(std::addressof(held_.value), std::forward<Args>(args)...);
    held_.has = true;
    if constexpr (!valueless) return held_.value;
  }
  constexpr void swap(expected& other)
    requires(detail::both<std::is_swappable, stored, E> && std::is_move_assignable_v<storage>)
  {
    using std::swap;
    if (has_value() != other.has_value()) {
      std::swap(held_, other.held_);
    } else if (has_value()) {
      swap(held_.value, other.held_.value);
    } else {
      swap(held_.error, other.held_.error);
    }
  }
  friend constexpr void swap(expected& a, expected& b)
    requires requires { a.swap(b); }
  {
    a.swap(b);
  }

  // `*`, `->` and `error()` require the value or the error; `value()` throws without a value.
  [[nodiscard]] constexpr bool has_value() const noexcept { return held_.has; }
  constexpr explicit operator bool() const noexcept { return held_.has; }

  constexpr stored* operator->() noexcept
    requires(!valueless)
  {
    return std::addressof(**this);
  }
  constexpr const stored* operator->() const noexcept
    requires(!valueless)
  {
    return std::addressof(**this);
  }
  constexpr std::add_lvalue_reference_t<T> operator*() & noexcept { return get(*this); }
  constexpr std::add_lvalue_reference_t<const T> operator*() const& noexcept { return get(*this); }
  constexpr std::add_rvalue_reference_t<T> operator*() && noexcept { return get(std::move(*this)); }
  constexpr std::add_lvalue_reference_t<T> value() & {
    if (!has_value()) [[unlikely]]
      detail::throw_bad_access(held_.error);
    return get(*this);
  }
  constexpr std::add_lvalue_reference_t<const T> value() const& {
    if (!has_value()) [[unlikely]]
      detail::throw_bad_access(held_.error);
    return get(*this);
  }
  constexpr std::add_rvalue_reference_t<T> value() && {
    if (!has_value()) [[unlikely]]
      detail::throw_bad_access(std::move(held_.error));
    return get(std::move(*this));
  }
  constexpr E& error() & noexcept { return failed().held_.error; }
  constexpr const E& error() const& noexcept { return failed().held_.error; }
  constexpr E&& error() && noexcept { return std::move(failed().held_.error); }

  template <class U>
  constexpr stored value_or(U&& other) const& {
    return has_value() ? held_.value : static_cast<stored>(std::forward<U>(other));
  }
  template <class U>
  constexpr stored value_or(U&& other) && {
    return has_value() ? std::move(held_.value) : static_cast<stored>(std::forward<U>(other));
  }
  template <class G = E>
  constexpr E error_or(G&& other) const& {
    return has_value() ? static_cast<E>(std::forward<G>(other)) : held_.error;
  }
  template <class G = E>
  constexpr E error_or(G&& other) && {
    return has_value() ? static_cast<E>(std::forward<G>(other)) : std::move(held_.error);
  }

  template <class F>
  constexpr auto and_then(F&& f) & {
    return then(*this, std::forward<F>(f));
  }
  template <class F>
  constexpr auto and_then(F&& f) const& {
    return then(*this, std::forward<F>(f));
  }
  template <class F>
  constexpr auto and_then(F&& f) && {
    return then(std::move(*this), std::forward<F>(f));
  }
  template <class F>
  constexpr auto or_else(F&& f) & {
    return otherwise(*this, std::forward<F>(f));
  }
  template <class F>
  constexpr auto or_else(F&& f) const& {
    return otherwise(*this, std::forward<F>(f));
  }
  template <class F>
  constexpr auto or_else(F&& f) && {
    return otherwise(std::move(*this), std::forward<F>(f));
  }
  template <class F>
  constexpr auto transform(F&& f) & {
    return map(*this, std::forward<F>(f));
  }
  template <class F>
  constexpr auto transform(F&& f) const& {
    return map(*this, std::forward<F>(f));
  }
  template <class F>
  constexpr auto transform(F&& f) && {
    return map(std::move(*this), std::forward<F>(f));
  }
  template <class F>
  constexpr auto transform_error(F&& f) & {
    return map_error(*this, std::forward<F>(f));
  }
  template <class F>
  constexpr auto transform_error(F&& f) const& {
    return map_error(*this, std::forward<F>(f));
  }
  template <class F>
  constexpr auto transform_error(F&& f) && {
    return map_error(std::move(*this), std::forward<F>(f));
  }

  template <class U, class G>
    requires(std::is_void_v<U> == valueless)
  friend constexpr bool operator==(const expected& a, const expected<U, G>& b) {
    if (a.has_value() != b.has_value()) return false;
    if (!a.has_value()) return a.error() == b.error();
    if constexpr (valueless) {
      return true;
    } else {
      return *a == *b;
    }
  }
  template <class U>
    requires(!valueless && !detail::is_expected<U> && !detail::is_unexpected<U>)
  friend constexpr bool operator==(const expected& a, const U& value) {
    return a.has_value() && *a == value;
  }
  template <class G>
  friend constexpr bool operator==(const expected& a, const unexpected<G>& error) {
    return !a.has_value() && a.error() == error.error();
  }

 private:
  template <class Tag, class F>
  constexpr expected(detail::result_of_call result, Tag tag, F& f) : held_(result, tag, f) {}

  template <class Self>
  static constexpr decltype(auto) get(Self&& self) noexcept {
    CORACLE_CHECK(self.has_value(),
                  "the value of an expected that holds an error was accessed: test has_value() first");
    if constexpr (!valueless) return (std::forward<Self>(self).held_.value);
  }
  constexpr const expected& failed() const noexcept {
    CORACLE_CHECK(!has_value(),
                  "the error of an expected that holds a value was accessed: test has_value() first");
    return *this;
  }
  constexpr expected& failed() noexcept {
    static_cast<void>(std::as_const(*this).failed());
    return *this;
  }

  template <class Self, class F>
  static constexpr decltype(auto) call(Self&& self, F&& f) {
    if constexpr (valueless) {
      return std::forward<F>(f)();
    } else {
      return detail::call(std::forward<F>(f), std::forward<Self>(self).held_.value);
    }
  }
  template <class Self, class F>
  static constexpr decltype(auto) call_with_error(Self&& self, F&& f) {
    return detail::call(std::forward<F>(f), std::forward<Self>(self).held_.error);
  }
  template <class Self, class F>
  static constexpr auto then(Self&& self, F&& f) {
    using next = std::remove_cvref_t<decltype(call(std::forward<Self>(self), std::forward<F>(f)))>;
    static_assert(detail::is_expected<next> && std::same_as<typename next::error_type, E>,
                  "and_then needs a function that returns an expected with the same error type");
    if (self.has_value()) return next(call(std::forward<Self>(self), std::forward<F>(f)));
    return next(unexpect, std::forward<Self>(self).held_.error);
  }
  template <class Self, class F>
  static constexpr auto otherwise(Self&& self, F&& f) {
    using next = std::remove_cvref_t<decltype(call_with_error(std::forward<Self>(self), std::forward<F>(f)))>;
    static_assert(detail::is_expected<next> && std::same_as<typename next::value_type, T>,
                  "or_else needs a function that returns an expected with the same value type");
    if (!self.has_value()) return next(call_with_error(std::forward<Self>(self), std::forward<F>(f)));
    if constexpr (valueless) {
      return next();
    } else {
      return next(std::in_place, std::forward<Self>(self).held_.value);
    }
  }
  template <class Self, class F>
  static constexpr auto map(Self&& self, F&& f) {
    using result = std::remove_cv_t<decltype(call(std::forward<Self>(self), std::forward<F>(f)))>;
    using next = expected<result, E>;
    if (!self.has_value()) return next(unexpect, std::forward<Self>(self).held_.error);
    if constexpr (std::is_void_v<result>) {
      call(std::forward<Self>(self), std::forward<F>(f));
      return next();
    } else {
      auto made = [&]() -> result { return call(std::forward<Self>(self), std::forward<F>(f)); };
      return next(detail::result_of_call(), std::in_place, made);
    }
  }
  template <class Self, class F>
  static constexpr auto map_error(Self&& self, F&& f) {
    using result = std::remove_cv_t<decltype(call_with_error(std::forward<Self>(self), std::forward<F>(f)))>;
    using next = expected<T, result>;
    if (!self.has_value()) {
      auto made = [&]() -> result { return call_with_error(std::forward<Self>(self), std::forward<F>(f)); };
      return next(detail::result_of_call(), detail::holds_error(), made);
    }
    if constexpr (valueless) {
      return next();
    } else {
      return next(std::in_place, std::forward<Self>(self).held_.value);
    }
  }

  storage held_;
};
}  // namespace coracle
#endif
