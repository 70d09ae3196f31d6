// coracle/utility/detail/expected_storage.hpp -- a value or an error in one place, for coracle::expected.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/base/config.hpp>
#include <type_traits>
#include <utility>
#if defined(__GLIBCXX__)
#include <optional>  // std::construct_at, at a fifth of the price of <memory>
#else
#include <memory>
#endif

namespace coracle::detail {
/// Replaces an object by one of another type, and restores the old one if the construction throws.
template <class Next, class Old, class Arg>
constexpr void replace(Next& next, Old& old, Arg&& arg) {
  if constexpr (std::is_nothrow_constructible_v<Next, Arg>) {
    std::destroy_at(std::addressof(old));
    std::construct_at(std::addressof(next), std::forward<Arg>(arg));
  } else if constexpr (std::is_nothrow_move_constructible_v<Next>) {
    Next made(std::forward<Arg>(arg));
    std::destroy_at(std::addressof(old));
    std::construct_at(std::addressof(next), std::move(made));
  } else {
    struct saved {
      constexpr explicit saved(Old& from) : place(from), kept(std::move(from)) {}
      constexpr ~saved() {
        if (!replaced) std::construct_at(std::addressof(place), std::move(kept));
      }
      Old& place;
      Old kept;
      bool replaced = false;
    } guard{old};
    std::destroy_at(std::addressof(old));
    std::construct_at(std::addressof(next), std::forward<Arg>(arg));
    guard.replaced = true;
  }
}

struct holds_error {};     // tag: construct the error
struct result_of_call {};  // tag: construct from the result of a call

template <template <class> class Trait, class T, class E>
inline constexpr bool both = Trait<T>::value && Trait<E>::value;

template <class T, class E>
inline constexpr bool replaceable =
    std::is_nothrow_move_constructible_v<T> || std::is_nothrow_move_constructible_v<E>;

/// Trivially copyable, movable and destructible if its parts are.
template <class T, class E>
class expected_storage {
  static constexpr bool trivial_copy = both<std::is_trivially_copy_constructible, T, E>;
  static constexpr bool trivial_move = both<std::is_trivially_move_constructible, T, E>;
  static constexpr bool trivial_end = both<std::is_trivially_destructible, T, E>;
  static constexpr bool copy_assignable =
      both<std::is_copy_constructible, T, E> && both<std::is_copy_assignable, T, E> && replaceable<T, E>;
  static constexpr bool move_assignable =
      both<std::is_move_constructible, T, E> && both<std::is_move_assignable, T, E> && replaceable<T, E>;
  static constexpr bool trivial_copy_assign =
      trivial_copy && trivial_end && both<std::is_trivially_copy_assignable, T, E>;
  static constexpr bool trivial_move_assign =
      trivial_move && trivial_end && both<std::is_trivially_move_assignable, T, E>;

 public:
  template <class... Args>
  constexpr explicit expected_storage(std::in_place_t, Args&&... args)
      : value(std::forward<Args>(args)...), has(true) {}
  template <class... Args>
  constexpr explicit expected_storage(holds_error, Args&&... args)
      : error(std::forward<Args>(args)...), has(false) {}
  template <class F>
  constexpr expected_storage(result_of_call, std::in_place_t, F& f) : value(f()), has(true) {}
  template <class F>
  constexpr expected_storage(result_of_call, holds_error, F& f) : error(f()), has(false) {}
  /// Converts from another kind of storage.
  template <class Other>
  constexpr expected_storage(std::true_type, Other&& other) : has(other.has) {
    construct_from(std::forward<Other>(other));
  }

  constexpr expected_storage(const expected_storage&)
    requires trivial_copy
  = default;
  constexpr expected_storage(const expected_storage& other)
    requires(!trivial_copy && both<std::is_copy_constructible, T, E>)
      : has(other.has) {
    construct_from(other);
  }
  constexpr expected_storage(expected_storage&&)
    requires trivial_move
  = default;
  constexpr expected_storage(expected_storage&& other) noexcept(
      both<std::is_nothrow_move_constructible, T, E>)
    requires(!trivial_move && both<std::is_move_constructible, T, E>)
      : has(other.has) {
    construct_from(std::move(other));
  }
  constexpr expected_storage& operator=(const expected_storage&)
    requires trivial_copy_assign
  = default;
  constexpr expected_storage& operator=(const expected_storage& other)
    requires(!trivial_copy_assign && copy_assignable)
  {
    assign_from(other);
    return *this;
  }
  constexpr expected_storage& operator=(expected_storage&&)
    requires trivial_move_assign
  = default;
  constexpr expected_storage& operator=(expected_storage&& other) noexcept(
      both<std::is_nothrow_move_constructible, T, E> && both<std::is_nothrow_move_assignable, T, E>)
    requires(!trivial_move_assign && move_assignable)
  {
    assign_from(std::move(other));
    return *this;
  }
  constexpr ~expected_storage()
    requires trivial_end
  = default;
  constexpr ~expected_storage() { destroy(); }

  constexpr void destroy() noexcept {
    if (has) {
      std::destroy_at(std::addressof(value));
    } else {
      std::destroy_at(std::addressof(error));
    }
  }
  template <class U>
  constexpr void assign_value(U&& from) {
    if (has) {
      value = std::forward<U>(from);
    } else {
      replace(value, error, std::forward<U>(from));
      has = true;
    }
  }
  template <class G>
  constexpr void assign_error(G&& from) {
    if (!has) {
      error = std::forward<G>(from);
    } else {
      replace(error, value, std::forward<G>(from));
      has = false;
    }
  }

  union {
    T value;
    E error;
  };
  bool has;

 private:
  template <class Other>
  constexpr void construct_from(Other&& other) {
    if (other.has) {
      std::construct_at(std::addressof(value), std::forward<Other>(other).value);
    } else {
      std::construct_at(std::addressof(error), std::forward<Other>(other).error);
    }
  }
  template <class Other>
  constexpr void assign_from(Other&& other) {
    if (other.has) {
      assign_value(std::forward<Other>(other).value);
    } else {
      assign_error(std::forward<Other>(other).error);
    }
  }
};
}  // namespace coracle::detail
