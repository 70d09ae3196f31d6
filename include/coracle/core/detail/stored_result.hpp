// coracle/core/detail/stored_result.hpp -- how a promise stores its result, and what co_return does.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/core/result.hpp>
#include <exception>
#include <new>
#include <type_traits>
#include <utility>

namespace coracle {
namespace part {
struct stores_errors;
struct rethrows_errors;
struct terminates_on_error;
}  // namespace part

namespace detail {
// ---- storage: an outcome<T> (core/result.hpp) or, where less suffices, one of these -----------------------

/// A value without room for an error; where `T` needs no destructor, not even a flag.
template <class T>
class value_only {
  using stored = stored_t<T>;
  static constexpr bool tracked = !std::is_trivially_destructible_v<stored>;

 public:
  value_only() noexcept {}
  value_only(const value_only&) = delete;
  value_only& operator=(const value_only&) = delete;
  ~value_only() {
    if constexpr (tracked) {
      if (has_value_.set) value_.~stored();
    }
  }
  [[nodiscard]] bool has_value() const noexcept
    requires tracked
  {
    return has_value_.set;
  }
  /// Requires: empty.
  template <class... Args>
  void emplace(Args&&... args) noexcept(std::is_nothrow_constructible_v<stored, Args...>) {
    detail::construct_stored<T>(value_, static_cast<Args&&>(args)...);
    if constexpr (tracked) has_value_.set = true;
  }
  T get() && {
    if constexpr (std::is_reference_v<T>) {
      return static_cast<T>(*value_);
    } else {
      return std::move(value_);
    }
  }

 private:
  struct flag {
    bool set = false;
  };
  union {
    stored value_;
  };
  [[no_unique_address]] std::conditional_t<tracked, flag, nothing> has_value_;
};
template <>
class value_only<void> {
 public:
  void emplace() noexcept {}
  void get() && {}
};
/// Room for an error only, in one pointer: all that a coroutine without a result has to store.
class error_only {
 public:
  error_only() noexcept : error_(nullptr) {}
  error_only(const error_only&) = delete;
  error_only& operator=(const error_only&) = delete;
  ~error_only() {
    if (error_) [[unlikely]]
      drop_stored(error_);
  }
  void emplace() noexcept {}
  CORACLE_COLD() void emplace_current_exception() noexcept { error_ = std::current_exception(); }
  [[nodiscard]] bool has_error() const noexcept { return static_cast<bool>(error_); }
  CORACLE_ALWAYS_INLINE() void get() && {
    if (error_) [[unlikely]]
      rethrow(error_);
  }

 private:
  union {
    std::exception_ptr error_;
  };
};

// ---- `co_return` -----------------------------------------------------------------------------------------

/// True if an lvalue reference `T` made from a `U` refers to a temporary: only then an rvalue reference binds
/// to it, too. True also for a local, which `co_return` takes for an rvalue first. False for an object of
/// another class that may convert to a reference, as a std::reference_wrapper does, and for a function, to
/// which both bind.
template <class T, class U>
inline constexpr bool refers_to_temporary =
    std::is_lvalue_reference_v<T> && !std::is_function_v<std::remove_reference_t<T>> &&
    std::is_constructible_v<std::remove_reference_t<T>&&, U> &&
    (!std::is_class_v<std::remove_reference_t<U>> ||
     std::is_base_of_v<std::remove_cvref_t<T>, std::remove_cvref_t<U>>);

template <class T>
inline constexpr bool fits_into_frame = alignof(stored_t<T>) <= __STDCPP_DEFAULT_NEW_ALIGNMENT__;

/// A result that fits in place of an environment.
template <class T>
inline constexpr bool fits_into_word =
    sizeof(stored_t<T>) <= sizeof(void*) && std::is_trivially_destructible_v<stored_t<T>> &&
    std::is_nothrow_move_constructible_v<stored_t<T>>;

/// `co_return value;` for a `Result` that stores a `T` in its `result()`.
template <class T, class Result>
struct returns_into : Result {
  template <class U = T>
  void return_value(U&& value) noexcept(std::is_nothrow_constructible_v<T, U>) {
    constexpr bool fits = std::is_constructible_v<T, U>, lasts = !refers_to_temporary<T, U>;
    static_assert(
        fits_into_frame<T>,
        "compilers misalign over-aligned objects in coroutine frames: return a std::unique_ptr to this type");
    constexpr bool waits = requires { static_cast<U&&>(value).operator co_await(); };
    static_assert(fits || !lasts || !waits,
                  "co_return: this has to be awaited first: co_return co_await f()");
    static_assert(fits || !lasts || waits,
                  "co_return: what this coroutine returns cannot be made of this value");
    static_assert(
        lasts,
        "co_return: this coroutine returns a reference, and this is a temporary or a local, which ends here: "
        "return a value, or refer to what lives on");
    if constexpr (fits && lasts && (!fits_into_word<T> || std::is_nothrow_constructible_v<T, U>)) {
      auto& result = this->result();
      if constexpr (!std::is_trivially_destructible_v<stored_t<T>>) {
        // A result of an earlier `co_return`, after which the destructor of a local threw and the body caught
        // the exception.
        if (result.has_value()) [[unlikely]]
          renew(result);
      }
      result.emplace(static_cast<U&&>(value));
    } else if constexpr (fits && lasts) {
      // If this throws, a handler around the co_return may continue, and needs what the result replaces.
      T made(static_cast<U&&>(value));
      this->result().emplace(static_cast<T&&>(made));
    }
  }

 private:
  template <class Storage>
  CORACLE_COLD()
  static void renew(Storage& result) noexcept {
    result.~Storage();
    ::new (static_cast<void*>(&result)) Storage;
  }
};
template <class Result>
struct returns_into<void, Result> : Result {
  void return_void() noexcept { this->result().emplace(); }
};

/// The result of a coroutine, stored as the error policy of its promise, a part, specifies.
template <class T, class Errors>
struct result_of_coroutine {
  using storage = std::conditional_t<!std::is_same_v<Errors, part::stores_errors>, value_only<T>,
                                     std::conditional_t<std::is_void_v<T>, error_only, outcome<T>>>;

  void unhandled_exception() noexcept(!std::is_same_v<Errors, part::rethrows_errors>) {
    if constexpr (std::is_same_v<Errors, part::stores_errors>) {
      result_.emplace_current_exception();
    } else if constexpr (std::is_same_v<Errors, part::rethrows_errors>) {
      rethrow_current();
    } else {
      std::terminate();
    }
  }
  /// Returns the result, moved out, or throws a stored exception. Requires: the coroutine has finished.
  T take() { return std::move(result_).get(); }
  /// Returns true if take() would throw. Requires: it has finished, and stores errors.
  [[nodiscard]] bool has_error() const noexcept { return result_.has_error(); }
  /// Returns true if the body has ended neither by `co_return` nor by an exception. Available where the
  /// storage records whether it is empty.
  [[nodiscard]] bool lacks_result() const noexcept
    requires(requires(const storage& kept) { kept.has_value(); })
  {
    if constexpr (std::is_same_v<Errors, part::stores_errors>) {
      return result_.is_empty();
    } else {
      return !result_.has_value();
    }
  }

 protected:
  [[nodiscard]] storage& result() noexcept { return result_; }
  [[no_unique_address]] storage result_;
};
}  // namespace detail
}  // namespace coracle
