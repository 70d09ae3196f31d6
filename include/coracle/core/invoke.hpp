// coracle/core/invoke.hpp -- a function call whose function and arguments outlive the returned task.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/base/call.hpp>
#include <coracle/core/awaitable.hpp>
#include <coracle/core/detail/reports_end.hpp>
#include <coracle/core/stop.hpp>
#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>

namespace coracle {
namespace detail {
/// `F` is a function that can be kept, with its arguments, and called later, and that returns an awaitable.
template <class F, class... Args>
concept returns_awaitable =
    std::is_invocable_v<std::decay_t<F>, std::decay_t<Args>...> &&
    awaitable<std::invoke_result_t<std::decay_t<F>, std::decay_t<Args>...>> &&
    std::constructible_from<std::decay_t<F>, F> && (std::constructible_from<std::decay_t<Args>, Args> && ...);

/// What invoke() returns.
template <class F, class... Args>
class [[nodiscard("the function is not called until this is awaited")]] invocation {
  using returned = std::invoke_result_t<F, Args...>;

 public:
  template <class... Given>
  explicit invocation(std::in_place_t, Given&&... given) : kept_(static_cast<Given&&>(given)...) {}

  class operation {
   public:
    explicit operation(invocation& owner)
        : work_(owner.call(std::index_sequence_for<Args...>{})),
          awaiter_(coracle::get_awaiter(static_cast<returned&&>(work_))) {}
    operation(const operation&) = delete;
    operation& operator=(const operation&) = delete;

    decltype(auto) await_ready() { return awaiter_.await_ready(); }
    template <class Promise>
    CORACLE_INLINE_TRANSFER()
    auto await_suspend(std::coroutine_handle<Promise> suspended) {
      return awaiter_.await_suspend(suspended);
    }
    [[nodiscard]] stop_reason await_cancelled() noexcept
      requires reports_cancellation<std::remove_reference_t<awaiter_type_t<returned>>>
    {
      return awaiter_.await_cancelled();
    }
    [[nodiscard]] std::exception_ptr await_failure() noexcept
      requires reports_failure<std::remove_reference_t<awaiter_type_t<returned>>>
    {
      return failure_of(awaiter_, internal_call());
    }
    decltype(auto) await_resume() { return awaiter_.await_resume(); }

   private:
    returned work_;
    awaiter_type_t<returned> awaiter_;
  };
  operation operator co_await() && { return operation{*this}; }

 private:
  template <std::size_t... Index>
  CORACLE_CORO_WRAPPER()
  returned call(std::index_sequence<Index...>) {
    return detail::call(static_cast<F&&>(std::get<0>(kept_)),
                        static_cast<Args&&>(std::get<Index + 1>(kept_))...);
  }

  std::tuple<F, Args...> kept_;
};

/// The parameter of a function that starts work: an awaitable, or otherwise a function that returns one.
template <class T>
concept work = awaitable<T> || (!awaitable<std::decay_t<T>> && returns_awaitable<T>);
/// For a static_assert, where the compiler would otherwise explain why the concept does not hold.
template <class T>
inline constexpr bool is_work = work<T>;

/// What is awaited for an argument of type `T`: the argument itself, moved in or referred to, or the
/// invocation of a copy.
template <work T>
struct awaitable_of_work {
  using type = T;
};
template <work T>
  requires(!awaitable<T>)
struct awaitable_of_work<T> {
  using type = invocation<std::decay_t<T>>;
};
template <work T>
using work_t = typename awaitable_of_work<T>::type;
template <class T>
CORACLE_CORO_WRAPPER()
CORACLE_ALWAYS_INLINE() decltype(auto) as_awaitable(T&& given) {
  if constexpr (awaitable<T> || awaitable<std::decay_t<T>>) {
    return static_cast<T&&>(given);
  } else {
    return work_t<T>{std::in_place, static_cast<T&&>(given)};
  }
}

// A function object: argument-dependent lookup does not find it, so it does not compete with std::invoke.
struct invoke_function {
  template <class F, class... Args>
    requires(returns_awaitable<F, Args...>)
  auto operator()(F&& f, Args&&... args) const {
    return invocation<std::decay_t<F>, std::decay_t<Args>...>{std::in_place, static_cast<F&&>(f),
                                                              static_cast<Args&&>(args)...};
  }
  template <class... Ts>
  auto operator()(Ts&&...) const {
    static_assert(
        never<Ts...>,
        "invoke(f, args...) needs a function that returns an awaitable, such as a task, when it is called "
        "with copies of the arguments: std::ref(x) for a parameter that is an lvalue reference, std::move(x) "
        "for what cannot be copied");
    return any_awaiter{};
  }
};
}  // namespace detail

/// `invoke(f, args...)` is an awaitable that calls `f(args...)` when it is awaited, awaits the returned
/// awaitable, and keeps `f` and `args` alive until it has ended: for a lambda coroutine, whose captures live
/// in the lambda.
///
///     scope.spawn(coracle::invoke([session]() -> coracle::task<> { co_await session->run(); }));
///     co_await coracle::invoke([](std::string name) -> coracle::task<> { co_await greet(name); }, "world");
///
/// spawn, spawn_future, when_all, when_any, select, timeout and similar functions accept such a function
/// directly. All arguments are moved in, or copied, and passed on as rvalues, as by std::thread: std::ref(x)
/// refers to x. The function may be a pointer to a member function, with the object, or a pointer to it, as
/// its first argument. Awaited once. With g++ 12 a lambda whose captures have destructors needs a name if it
/// is part of an expression with a co_await, wherever it is passed: that compiler destroys the captures
/// twice. Arguments are not affected.
/// Order         `f` is called inside the await, not before.
/// Resumes on    as what `f` returns.
/// Cancellation  as what `f` returns, which inherits the environment.
/// Exceptions    those of `f` and of what it returns; those of the copies, from invoke() itself.
/// Cost          no frame of its own.
inline constexpr detail::invoke_function invoke{};
}  // namespace coracle
