// coracle/core/awaitable.hpp -- concepts and traits of awaitables.
// SPDX-License-Identifier: MIT
#pragma once
#include <concepts>
#include <coracle/core/customisation.hpp>
#include <coracle/core/transfer.hpp>
#include <coroutine>
#include <type_traits>
#include <utility>

namespace coracle {
namespace detail {
template <class T>
inline constexpr bool is_coroutine_handle = false;
template <class Promise>
inline constexpr bool is_coroutine_handle<std::coroutine_handle<Promise>> = true;

template <class T>
concept await_suspend_result = std::same_as<T, void> || std::same_as<T, bool> || is_coroutine_handle<T>;

template <class T>
concept contextually_bool = requires(T&& value) { static_cast<T&&>(value) ? 1 : 0; };
}  // namespace detail

/// The object that an await calls: `await_ready`, `await_suspend` (returning void, bool or a handle) and
/// `await_resume`, for a coroutine whose promise is `Promise`.
template <class T, class Promise = void>
concept awaiter = requires(std::remove_reference_t<T>& a, std::coroutine_handle<Promise> h) {
  { a.await_ready() } -> detail::contextually_bool;
  { a.await_suspend(h) } -> detail::await_suspend_result;
  a.await_resume();
};

namespace detail {
template <class T>
concept has_member_co_await = requires(T&& value) { static_cast<T&&>(value).operator co_await(); };
template <class T>
concept has_free_co_await = requires(T&& value) { operator co_await(static_cast<T&&>(value)); };
// An awaiter for some promise, possibly for only one.
template <class T>
concept looks_like_awaiter = requires(std::remove_reference_t<T>& a) {
  a.await_ready();
  a.await_resume();
};
}  // namespace detail

/// Returns the awaiter of an awaitable, looked up as the language does: member `operator co_await`, free
/// `operator co_await`, otherwise the object itself. Participates only where exactly one exists.
template <class T>
  requires detail::has_member_co_await<T> && (!detail::has_free_co_await<T>)
constexpr decltype(auto) get_awaiter(T&& value) noexcept(
    noexcept(static_cast<T&&>(value).operator co_await())) {
  return static_cast<T&&>(value).operator co_await();
}
template <class T>
  requires detail::has_free_co_await<T> && (!detail::has_member_co_await<T>)
constexpr decltype(auto) get_awaiter(T&& value) noexcept(
    noexcept(operator co_await(static_cast<T&&>(value)))) {
  return operator co_await(static_cast<T&&>(value));
}
template <class T>
  requires(!detail::has_member_co_await<T>) && (!detail::has_free_co_await<T>) &&
          detail::looks_like_awaiter<T>
constexpr T&& get_awaiter(T&& value) noexcept {
  return static_cast<T&&>(value);
}

/// *Normally awaitable*: `co_await` works in any coroutine whose promise has no `await_transform`.
template <class T>
concept awaitable = requires(T&& value) {
  { coracle::get_awaiter(static_cast<T&&>(value)) } -> awaiter;
};

/// The type of the awaiter that `get_awaiter` returns.
template <awaitable T>
using awaiter_type_t = decltype(coracle::get_awaiter(std::declval<T>()));

/// The type of a `co_await` expression on a `T`.
template <awaitable T>
using await_result_t = decltype(std::declval<std::remove_reference_t<awaiter_type_t<T>>&>().await_resume());

namespace detail {
/// The result of work as it is passed on once the work has ended: an rvalue reference, which may refer to a
/// part of the awaitable or its awaiter, becomes a value.
template <awaitable T>
struct kept_result_of {
  using given = await_result_t<T>;
  using type = std::conditional_t<std::is_rvalue_reference_v<given>, std::remove_reference_t<given>, given>;
};
// A class, so that the names of functions that return it stay short in symbol tables.
template <class T>
using kept_result_t = typename kept_result_of<T>::type;
}  // namespace detail

/// An awaitable whose result converts to `Result`; for void, one that returns nothing.
template <class T, class Result>
concept awaitable_of =
    awaitable<T> && (std::is_void_v<Result> ? std::is_void_v<await_result_t<T>>
                                            : std::is_convertible_v<await_result_t<T>, Result>);

namespace detail {
/// False, for the static_assert of a template that no program may use.
template <class...>
inline constexpr bool never = false;

/// Replaces an awaiter in an ill-formed program, so that the only error is the static_assert. What returns it
/// has a deduced return type: the compiler then reports the static_assert before what uses the result.
struct any_awaiter {
  struct anything {
    template <class T>
    operator T() const noexcept;
    const anything* begin() const noexcept;
    const anything* end() const noexcept;
  };
  bool await_ready() const noexcept;
  void await_suspend(std::coroutine_handle<>) const noexcept;
  anything await_resume() const noexcept;
  template <class T>
  friend any_awaiter operator|(T&&, any_awaiter) noexcept;
};

/// What the deleted begin() of something to be awaited would return: one error for a range-for, and no range.
struct not_awaited {
  any_awaiter::anything& operator*() const noexcept;
  void operator++() noexcept;
  bool operator!=(not_awaited) const noexcept;
};

/// Returned by an await_transform for what it refuses. `Reason` is a class whose static_assert fails; only a
/// co_await makes the compiler look at it, so awaitable_in can be asked.
template <class Reason>
struct refused_await : any_awaiter {
  auto await_ready() const noexcept {
    static_cast<void>(sizeof(Reason));
    return false;
  }
};
template <class T>
inline constexpr bool is_refused = false;
template <class Reason>
inline constexpr bool is_refused<refused_await<Reason>> = true;

template <class T, class Promise>
concept transformed_by = requires(Promise& promise, T&& value) {
  requires !is_refused<decltype(promise.await_transform(static_cast<T&&>(value)))>;
};

struct second_await_transform {
  void await_transform();
};
template <class Promise>
struct with_second_await_transform : Promise, second_await_transform {};
// A name found in two bases is ambiguous, whatever it names: overloads, templates or deleted functions.
template <class Promise>
concept has_await_transform =
    (std::is_final_v<Promise> && requires { &Promise::await_transform; }) ||
    (!std::is_final_v<Promise> && !requires { &with_second_await_transform<Promise>::await_transform; });
}  // namespace detail

/// *Contextually awaitable*: `co_await` works inside a coroutine with this promise, whose `await_transform`,
/// if it has one, decides. It may admit what no other coroutine can await, and refuse what all others can.
template <class T, class Promise>
concept awaitable_in = (detail::transformed_by<T, Promise> && requires(Promise& promise, T&& value) {
                         {
                           coracle::get_awaiter(promise.await_transform(static_cast<T&&>(value)))
                         } -> awaiter<Promise>;
                       }) || (!detail::has_await_transform<Promise> && requires(T&& value) {
                         { coracle::get_awaiter(static_cast<T&&>(value)) } -> awaiter<Promise>;
                       });

/// Has `schedule()`, an awaitable of void that continues the awaiting coroutine on the scheduler.
template <class S>
concept scheduler = requires(S& s) {
  { s.schedule() } -> awaitable_of<void>;
};

namespace detail {
/// For a static_assert, where the compiler would otherwise explain why the concept does not hold.
template <class T>
inline constexpr bool is_awaitable = awaitable<T>;

/// Stands for an awaiter that must not be copied: g++ 12 awaits a copy of one that await_transform returns.
template <class Awaiter>
class awaiter_reference {
 public:
  explicit constexpr awaiter_reference(Awaiter& referred) noexcept : awaiter_(referred) {}
  CORACLE_ALWAYS_INLINE()
  decltype(auto) await_ready() const noexcept(noexcept(std::declval<Awaiter&>().await_ready())) {
    return awaiter_.await_ready();
  }
  template <class Promise>
  CORACLE_INLINE_TRANSFER()
  auto await_suspend(std::coroutine_handle<Promise> h) const {
    return awaiter_.await_suspend(h);
  }
  CORACLE_ALWAYS_INLINE() decltype(auto) await_resume() const { return awaiter_.await_resume(); }

 private:
  Awaiter& awaiter_;
};

/// Returned by an `operator co_await` to have `awaiter` awaited in place, without a copy.
template <class Awaiter>
CORACLE_ALWAYS_INLINE()
decltype(auto) in_place(Awaiter& awaiter) noexcept {
  if constexpr (CORACLE_COPIES_AWAITERS()) {
    return awaiter_reference<Awaiter>(awaiter);
  } else {
    return static_cast<Awaiter&>(awaiter);
  }
}

/// g++ does not keep a class with a destructor in a register: with g++ awaiters are copied.
template <class T>
concept has_owning_awaiter = !CORACLE_COPIES_AWAITERS() && gives_owning_awaiter<T>;

/// Suspends `h` into `a`, and returns the coroutine to resume; null if `a` completed, in which case `h` will
/// not be resumed.
template <class Awaiter, class Promise>
CORACLE_TRANSFER_ABI()
std::coroutine_handle<> suspend_and_give(Awaiter& a, std::coroutine_handle<Promise> h) {
  using returned = decltype(a.await_suspend(h));
  if constexpr (std::is_void_v<returned>) {
    a.await_suspend(h);
    return std::noop_coroutine();
  } else if constexpr (std::is_same_v<returned, bool>) {
    if (!a.await_suspend(h)) return nullptr;
    return std::noop_coroutine();
  } else {
    return a.await_suspend(h);
  }
}

/// await_ready() of an awaiter that plain code awaits. A task that is empty, or whose result has been taken,
/// ends the program in every build.
template <class Awaiter>
bool is_ready_for_plain_code(Awaiter& a) {
  if constexpr (requires { a.require_body(internal_call()); }) {
    a.require_body(internal_call());
    const bool is_ready = a.await_ready();
    if (is_ready) a.require_result(internal_call());
    return is_ready;
  } else {
    return static_cast<bool>(a.await_ready());
  }
}
/// await_resume() of such an awaiter.
template <class Awaiter>
decltype(auto) result_for_plain_code(Awaiter& a) {
  if constexpr (requires { a.mark_taken(internal_call()); }) a.mark_taken(internal_call());
  return a.await_resume();
}
/// Starts `a` for the coroutine `h` from plain code. Returns false if it completed; `h` will then not be
/// resumed.
template <class Awaiter, class Promise>
bool suspend_into(Awaiter& a, std::coroutine_handle<Promise> h) {
  using returned = decltype(a.await_suspend(h));
  if constexpr (std::is_void_v<returned>) {
    a.await_suspend(h);
    return true;
  } else if constexpr (std::is_same_v<returned, bool>) {
    return a.await_suspend(h);
  } else {
    coracle::resume(a.await_suspend(h));
    return true;
  }
}
}  // namespace detail
}  // namespace coracle
