// coracle/core/result.hpp -- the outcome of work: value, void, reference, exception or cancellation.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/core/operation_cancelled.hpp>
#include <exception>
#include <new>
#include <type_traits>
#include <utility>

namespace coracle {
/// Stands for the result of an awaitable that returns void.
struct void_value {};

namespace detail {
struct nothing {};
template <class T>
using stored_t = std::conditional_t<
    std::is_void_v<T>, nothing,
    std::conditional_t<std::is_reference_v<T>, std::add_pointer_t<T>, std::remove_const_t<T>>>;
/// Constructs in `place`, which holds no object yet, what is stored of `T(args...)`.
template <class T, class... Args>
CORACLE_ALWAYS_INLINE()
void construct_stored(stored_t<T>& place,
                      Args&&... args) noexcept(std::is_nothrow_constructible_v<stored_t<T>, Args...>) {
  void* const memory = __builtin_addressof(place);
  if constexpr (std::is_reference_v<T>) {
    T bound(static_cast<Args&&>(args)...);
    ::new (memory) stored_t<T>(__builtin_addressof(bound));
  } else {
    ::new (memory) stored_t<T>(static_cast<Args&&>(args)...);
  }
}

/// std::rethrow_exception() without a copy of its argument. The unwinder would stop where the copy is to be
/// destroyed, which takes as long as a coroutine that catches: docs/performance.md. Where the parameter's
/// class has a destructor, the ABI passes the address of the argument, and libstdc++ only reads it. Not
/// [[noreturn]], so that a call at the end of a function can be a jump, which leaves nothing to unwind.
#if defined(__GLIBCXX__)
[[gnu::cold]] void rethrow_stored(const std::exception_ptr& error) __asm__(
    "_ZSt17rethrow_exceptionNSt15__exception_ptr13exception_ptrE");
#else
[[gnu::cold]] inline void rethrow_stored(const std::exception_ptr& error) { std::rethrow_exception(error); }
#endif
/// Ends a program without exceptions, with the message of an exception that the library has stored, if any.
[[noreturn]] CORACLE_COLD() void end_with(const std::exception_ptr& error) noexcept;
[[noreturn]] CORACLE_THROWS_ABI() CORACLE_COLD() inline void rethrow(const std::exception_ptr& error) {
  if constexpr (!CORACLE_EXCEPTIONS()) end_with(error);
  rethrow_stored(error);
  __builtin_unreachable();
}
[[nodiscard]] CORACLE_COLD() inline std::exception_ptr bad_alloc_error() noexcept {
  return std::make_exception_ptr(std::bad_alloc());
}
/// Stores the exception that is being handled in `memory`, which holds no object.
CORACLE_COLD() void store_current_exception(void* memory) noexcept;
CORACLE_COLD() void drop_stored(std::exception_ptr& error) noexcept;
/// Throws the exception that is being handled.
[[noreturn]] CORACLE_THROWS_ABI() CORACLE_COLD() inline void rethrow_current() { CORACLE_RETHROW(); }
}  // namespace detail

/// A value of type `T` (also void or a reference), an exception, a cancellation, or nothing yet.
///
///     coracle::outcome<int> end;
///     end.emplace_from([] { return read_number(); });
///     if (end.has_value()) use(std::move(end).get());  // without a value, get() throws
///
/// Threads  not thread-safe: the code that passes it to another thread orders the accesses.
/// Cost     the larger of `T` and a pointer, plus one byte.
template <class T>
class outcome {
  using stored = detail::stored_t<T>;
  enum class state : unsigned char { empty, value, error, cancelled };

 public:
  outcome() noexcept {}
  outcome(outcome&& other) noexcept(std::is_nothrow_move_constructible_v<stored>) { take_over(other); }
  /// Destroys what it holds, then takes over what `other` does. Empty if the move of the value throws.
  outcome& operator=(outcome&& other) noexcept(std::is_nothrow_move_constructible_v<stored>) {
    if (this != &other) {
      destroy();
      state_ = state::empty;
      take_over(other);
    }
    return *this;
  }
  ~outcome() { destroy(); }

  /// Requires: empty.
  template <class... Args>
  void emplace(Args&&... args) noexcept(std::is_nothrow_constructible_v<stored, Args...>) {
    check_empty();
    detail::construct_stored<T>(value_, static_cast<Args&&>(args)...);
    state_ = state::value;
  }
  /// Requires: empty. `why` is not none; out_of_memory is stored as an error, std::bad_alloc, as where it is
  /// thrown.
  void emplace_cancelled(stop_reason why) noexcept {
    if (CORACLE_EXCEPTIONS() && why == stop_reason::out_of_memory) [[unlikely]]
      return emplace_error(detail::bad_alloc_error());
    check_empty();
    reason_ = why;
    state_ = state::cancelled;
  }
  /// Stores what `f()` returns, or how it ended otherwise: operation_cancelled counts as cancelled. Requires:
  /// empty.
  template <class F>
  void emplace_from(F&& f) noexcept {
    CORACLE_TRY() {
      if constexpr (std::is_void_v<T>) {
        f();
        emplace();
      } else {
        emplace(f());
      }
    }
    CORACLE_CATCH(const operation_cancelled&, cancelled) { emplace_cancelled(cancelled.reason()); }
    CORACLE_CATCH_ALL() { emplace_error(std::current_exception()); }
  }
  /// Stores the exception that is being handled, in place of whatever was there.
  CORACLE_COLD() void emplace_current_exception() noexcept {
    this->~outcome();
    detail::store_current_exception(__builtin_addressof(error_));
    state_ = state::error;
  }
  /// As emplace_error(), but operation_cancelled counts as cancelled. Requires: empty.
  CORACLE_COLD() void emplace_failure(std::exception_ptr error) noexcept {
    if (const stop_reason why = detail::reason_of_stop(error); why != stop_reason::none) {
      emplace_cancelled(why);
    } else {
      emplace_error(std::move(error));
    }
  }
  /// Requires: empty.
  void emplace_error(std::exception_ptr error) noexcept {
    check_empty();
    ::new (static_cast<void*>(__builtin_addressof(error_))) std::exception_ptr(std::move(error));
    state_ = state::error;
  }

  [[nodiscard]] bool is_empty() const noexcept { return state_ == state::empty; }
  [[nodiscard]] bool has_value() const noexcept { return state_ == state::value; }
  [[nodiscard]] bool has_error() const noexcept { return state_ == state::error; }
  /// Returns true if it was stopped because of a request: neither a value nor an error.
  [[nodiscard]] bool is_cancelled() const noexcept { return state_ == state::cancelled; }
  /// Returns the stored exception, or null if there is none.
  [[nodiscard]] std::exception_ptr error() const noexcept { return has_error() ? error_ : nullptr; }
  /// Returns why it was cancelled, or none if it was not.
  [[nodiscard]] stop_reason reason() const noexcept { return is_cancelled() ? reason_ : stop_reason::none; }

  /// Returns the value, moved out; throws the stored exception, or operation_cancelled. Requires: not empty.
  CORACLE_THROWS_ABI() T get() && {
    check();
    if constexpr (std::is_reference_v<T>) {
      return static_cast<T>(*value_);
    } else if constexpr (!std::is_void_v<T>) {
      return std::move(value_);
    }
  }
  /// Returns the value in place; throws as the overload above does. Requires: not empty.
  CORACLE_THROWS_ABI() std::add_lvalue_reference_t<T> get() & {
    check();
    if constexpr (std::is_reference_v<T>) {
      return *value_;
    } else if constexpr (!std::is_void_v<T>) {
      return value_;
    }
  }

 private:
  CORACLE_ALWAYS_INLINE()
  void take_over(outcome& other) noexcept(std::is_nothrow_move_constructible_v<stored>) {
    if (other.has_value()) {
      ::new (static_cast<void*>(__builtin_addressof(value_))) stored(std::move(other.value_));
    } else if (other.has_error()) {
      ::new (static_cast<void*>(__builtin_addressof(error_))) std::exception_ptr(std::move(other.error_));
    } else if (other.is_cancelled()) {
      reason_ = other.reason_;
    }
    state_ = other.state_;
  }
  CORACLE_ALWAYS_INLINE() void destroy() noexcept {
    if constexpr (!std::is_trivially_destructible_v<stored>) {
      if (state_ == state::value) value_.~stored();
    }
    if (state_ == state::error) [[unlikely]]
      detail::drop_stored(error_);
  }
  CORACLE_ALWAYS_INLINE() void check() const {
    if (state_ != state::value) [[unlikely]]
      refuse();
  }
  void check_empty() const noexcept {
    CORACLE_CHECK(is_empty(), "emplace() of an outcome that is not empty: assign outcome() to it first");
  }
  [[noreturn]] CORACLE_THROWS_ABI() CORACLE_COLD() void refuse() const {
    if (state_ == state::error) detail::rethrow(error_);
    CORACLE_REQUIRE(state_ == state::cancelled, "the result of a coroutine was taken before it finished");
    detail::throw_cancelled(reason_);
  }

  union {
    stored value_;
    std::exception_ptr error_;
    stop_reason reason_;
  };
  state state_ = state::empty;
};
}  // namespace coracle
