// coracle/core/promise_parts.hpp -- the parts from which coroutine types are built: ours and yours.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/core/awaitable.hpp>
#include <coracle/core/detail/continuation.hpp>
#include <coracle/core/detail/stored_result.hpp>
#include <coroutine>
#include <type_traits>
#include <utility>

namespace coracle {
namespace detail {
template <class T>
inline constexpr bool makes_awaitable = requires(T&& function) {
  { static_cast<T&&>(function)() } -> awaitable;
};
template <class T>
struct not_awaitable_here {
  static_assert(!makes_awaitable<T>, "this is a function: call it, as in co_await f()");
  static_assert(!is_awaitable<std::remove_cvref_t<T>>,
                "this object can be awaited only once: write co_await std::move(object), or await the call "
                "that makes it");
  static_assert(is_awaitable<std::remove_cvref_t<T>> || looks_like_awaiter<T> || makes_awaitable<T>,
                "co_await needs an awaitable: an object with await_ready, await_suspend and await_resume, or "
                "with an operator co_await that returns one");
  static_assert(
      is_awaitable<std::remove_cvref_t<T>> || !looks_like_awaiter<T>,
      "the await_suspend of this awaiter cannot be called: it must take the std::coroutine_handle<> of "
      "any coroutine, and return void, bool or a handle");
};
template <class T>
struct nothing_is_awaited {
  static_assert(!sizeof(T*),
                "this coroutine cannot co_await: it produces its values for a caller that does not wait; "
                "await before calling it, or use an async generator");
};
template <class T>
struct not_named_in_promise {
  static_assert(!sizeof(T*),
                "this coroutine awaits only the types that its promise names in awaits_only<...>");
};

/// As std::is_convertible_v, which libstdc++ 12 finds by argument-dependent lookup: see generator_state.
template <class From, class To>
concept converts_to = requires(void (&take)(To)) { take(std::declval<From>()); };

/// Where a `co_yield` has a value of which no `Element` can be made.
template <class Element>
auto no_element() noexcept {
  static_assert(never<Element>, "co_yield: what this coroutine yields cannot be made of this value");
  return any_awaiter{};
}
}  // namespace detail

/// A promise type is composed of one part of each kind, as base classes; only `get_return_object` remains to
/// be written. A part without state takes no space, and none costs an instruction that the coroutine does not
/// need.
///
///     struct promise_type : part::starts_lazily, part::returns<int>, part::continues_parent,
///                           part::awaits_anything, recycled_frames {
///       my_task get_return_object() noexcept;
///     };
namespace part {

// ---- start ---------------------------------------------------------------------------------------------

/// The body runs when the coroutine is first resumed.
struct starts_lazily {
  std::suspend_always initial_suspend() const noexcept { return {}; }
};
/// The body runs at once, inside the call.
struct starts_eagerly {
  /// If some unit of the program makes no tail calls, the body runs in a drain loop of its own: in the
  /// caller's loop, a coroutine that the body transfers to would wait until the caller suspends.
  struct start_now {
    constexpr start_now() noexcept {}
    bool await_ready() const noexcept { return !CORACLE_MIXED_TRANSFER(); }
    void await_suspend(std::coroutine_handle<> self) const { resume(self); }
    void await_resume() const noexcept {}
  };
  start_now initial_suspend() const noexcept { return {}; }
};

// ---- result and error ----------------------------------------------------------------------------------

struct stores_errors {};  ///< an exception is stored and rethrown by take()
/// An exception propagates to the code that resumed the coroutine. For coroutines that have not suspended
/// before it throws; otherwise clang (19 and 22, from -O1 on) destroys the objects that were alive at the
/// last suspension a second time, with the frame.
struct rethrows_errors {};
struct terminates_on_error {};  ///< an exception ends the program

/// `co_return value;` stores a `T` (also void or a reference), and `take()` returns it.
template <class T, class Errors = stores_errors>
struct returns : detail::returns_into<T, detail::result_of_coroutine<T, Errors>> {};

// ---- final suspension and continuation -----------------------------------------------------------------

/// Ends by transferring to the coroutine that awaits it. No atomic is needed: the awaiting coroutine
/// registers itself before it starts this one. Carries the environment inherited at that moment.
struct continues_parent : detail::continues_parent_by<> {};

/// Stays suspended at its end until its owner destroys it.
struct stays_at_end {
  class CORACLE_CHECKED_ABI() final_awaiter {
   public:
    constexpr final_awaiter(detail::body_end end = detail::body_end::here()) noexcept : end_(end) {}
    bool await_ready() const noexcept { return false; }
    template <class Promise>
    void await_suspend(std::coroutine_handle<Promise> self) const noexcept {
      end_.require_result(self.promise());
    }
    void await_resume() const noexcept {}

   private:
    [[no_unique_address]] detail::body_end end_;
  };
  final_awaiter final_suspend(detail::body_end end = detail::body_end::here()) const noexcept { return end; }
};

/// Destroys its own frame at its end: its result cannot be taken.
struct frees_itself {
  std::suspend_never final_suspend() const noexcept { return {}; }
};

// ---- await filter --------------------------------------------------------------------------------------

/// Awaits anything awaitable, and reports everything else in one line.
struct awaits_anything {
  template <awaitable T>
  CORACLE_ALWAYS_INLINE()
  decltype(auto) await_transform(T&& value) const noexcept {
    if constexpr ((std::is_lvalue_reference_v<T> || CORACLE_COPIES_AWAITERS()) &&
                  !detail::has_member_co_await<T> && !detail::has_free_co_await<T>) {
      return detail::awaiter_reference<std::remove_reference_t<T>>(value);
    } else if constexpr (detail::has_owning_awaiter<T>) {
      return static_cast<T&&>(value).owning_awaiter();
    } else {
      return static_cast<T&&>(value);
    }
  }
  template <class T>
  detail::refused_await<detail::not_awaitable_here<T>> await_transform(T&&) const noexcept {
    return {};
  }
  /// For a void expression, of which clang otherwise explains for each overload that it cannot be passed.
  detail::any_awaiter await_transform(...) const noexcept;
};

/// Refuses every `co_await`, as a generator must.
struct awaits_nothing {
  template <class T>
  detail::refused_await<detail::nothing_is_awaited<std::remove_cvref_t<T>>> await_transform(
      T&&) const noexcept {
    return {};
  }
};

/// Awaits only the types named.
template <class... Ts>
struct awaits_only {
  template <class T>
    requires(std::is_same_v<std::remove_cvref_t<T>, Ts> || ...)
  decltype(auto) await_transform(T&& value) const noexcept {
    return awaits_anything{}.await_transform(static_cast<T&&>(value));
  }
  template <class T>
  detail::refused_await<detail::not_named_in_promise<std::remove_cvref_t<T>>> await_transform(
      T&&) const noexcept {
    return {};
  }
};

/// Passes each awaited object to `Derived::adapt_await(object)` and awaits what that returns. Use it for an
/// await with additional effects, such as returning to an executor, or to admit a type that is not awaitable.
template <class Derived>
struct adapts_awaits {
  template <class T>
  decltype(auto) await_transform(T&& value) {
    return static_cast<Derived&>(*this).adapt_await(static_cast<T&&>(value));
  }
};

// ---- yield ---------------------------------------------------------------------------------------------

/// `co_yield value;` suspends and gives the resuming code access to the value, without a copy.
template <class T>
class yields {
 public:
  std::suspend_always yield_value(const T& value) noexcept {
    yielded_ = __builtin_addressof(value);
    return {};
  }
  /// Returns the value of the current co_yield. Requires: suspended at one.
  [[nodiscard]] const T& yielded() const noexcept { return *yielded_; }

 private:
  const T* yielded_ = nullptr;
};

}  // namespace part
}  // namespace coracle
