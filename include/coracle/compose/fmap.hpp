// coracle/compose/fmap.hpp -- apply a function to the result of an awaitable.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/base/call.hpp>
#include <coracle/core/awaitable.hpp>
#include <coracle/core/detail/reports_end.hpp>

namespace coracle {
namespace detail {
template <class Awaitable, class Function>
class fmap_awaiter {
 public:
  fmap_awaiter(Awaitable&& value, Function& function)
      : function_(function), awaiter_(coracle::get_awaiter(static_cast<Awaitable&&>(value))) {}

  bool await_ready() { return awaiter_.await_ready() ? true : false; }
  template <class Promise>
  auto await_suspend(std::coroutine_handle<Promise> suspended)
      -> decltype(std::declval<std::remove_reference_t<awaiter_type_t<Awaitable>>&>().await_suspend(
          suspended)) {
    return awaiter_.await_suspend(suspended);
  }
  [[nodiscard]] stop_reason await_cancelled() noexcept
    requires detail::reports_cancellation<std::remove_reference_t<awaiter_type_t<Awaitable>>>
  {
    return awaiter_.await_cancelled();
  }
  [[nodiscard]] std::exception_ptr await_failure() noexcept
    requires detail::reports_failure<std::remove_reference_t<awaiter_type_t<Awaitable>>>
  {
    return failure_of(awaiter_, detail::internal_call());
  }
  decltype(auto) await_resume() {
    if constexpr (std::is_void_v<await_result_t<Awaitable>>) {
      awaiter_.await_resume();
      return detail::call(static_cast<Function&&>(function_));
    } else if constexpr (!std::is_reference_v<await_result_t<Awaitable>> &&
                         std::is_rvalue_reference_v<
                             std::invoke_result_t<Function&&, await_result_t<Awaitable>>>) {
      // A part of the value, as &point::x returns: moved out, since the value ends here.
      return std::remove_cvref_t<std::invoke_result_t<Function&&, await_result_t<Awaitable>>>(
          detail::call(static_cast<Function&&>(function_), awaiter_.await_resume()));
    } else {
      return detail::call(static_cast<Function&&>(function_), awaiter_.await_resume());
    }
  }

 private:
  Function& function_;
  awaiter_type_t<Awaitable> awaiter_;
};

template <class Awaitable, class Function>
class [[nodiscard("fmap does nothing until it is awaited")]] fmap_awaitable {
 public:
  fmap_awaitable(Awaitable&& value, Function&& function)
      : function_(static_cast<Function&&>(function)), value_(static_cast<Awaitable&&>(value)) {}
  fmap_awaiter<Awaitable, Function> operator co_await() && {
    return fmap_awaiter<Awaitable, Function>{static_cast<Awaitable&&>(value_), function_};
  }

 private:
  Function function_;
  Awaitable value_;
};
}  // namespace detail

/// An awaitable of `function(co_await value)`, or of `function()` if `value` returns nothing.
///
///     auto size = [](std::string text) { return text.size(); };
///     std::size_t n = co_await coracle::fmap(read_all(path), size);
///
/// Resumes on    where `value` does. The function runs when the result is taken: right there in a coroutine;
///               on the waiting thread under sync_wait; where the awaiting coroutine continues in a when_all.
/// Cancellation  as `value`.
/// Exceptions    those of `value`, in which case the function is not called; those of the function.
/// Cost          no coroutine, no allocation.
template <awaitable Awaitable, class Function>
detail::fmap_awaitable<Awaitable, Function> fmap(Awaitable&& value, Function&& function) {
  return {static_cast<Awaitable&&>(value), static_cast<Function&&>(function)};
}
template <class Value, class Function>
detail::any_awaiter fmap(Value&&, Function&&) {
  static_assert(
      detail::is_awaitable<Value>,
      "fmap needs an awaitable and then a function: fmap(work(), function), or std::move of a task that "
      "has a name");
  return {};
}

namespace detail {
/// What `fmap(function)` returns: the right operand of `|`.
template <class Function>
class [[nodiscard("write value | fmap(function)")]] fmap_transform {
 public:
  explicit fmap_transform(Function&& given) : function(static_cast<Function&&>(given)) {}
  Function function;
};

// fmap is called unqualified, so that argument-dependent lookup finds one that another type provides.
template <class T, class Function>
concept mapped_by = requires(T&& value, Function&& function) {
  requires !std::is_same_v<decltype(fmap(static_cast<T&&>(value), static_cast<Function&&>(function))),
                           any_awaiter>;
};
template <class T, class Function>
  requires mapped_by<T, Function>
auto operator|(T&& value, fmap_transform<Function>&& with) {
  return fmap(static_cast<T&&>(value), static_cast<Function&&>(with.function));
}
template <class T, class Function>
  requires mapped_by<T, Function>
auto operator|(T&& value, const fmap_transform<Function>& with) {
  return static_cast<T&&>(value) | fmap_transform<Function>(with);
}
// For a static_assert, where the compiler would otherwise explain why the concept does not hold.
template <class T, class Function>
inline constexpr bool is_mapped_by = mapped_by<T, Function>;
template <class T, class Function>
auto operator|(T&&, const fmap_transform<Function>&) {
  static_assert(is_mapped_by<T, Function>,
                "| fmap(function) needs an awaitable on its left: co_await (work() | fmap(function)), with "
                "these parentheses, or std::move of a task that has a name");
  return any_awaiter{};
}
}  // namespace detail

/// For `value | fmap(function)`, which is fmap(value, function).
///
///     std::size_t n = co_await (read_all(path) | coracle::fmap(size));
template <class Function>
detail::fmap_transform<Function> fmap(Function&& function) {
  return detail::fmap_transform<Function>{static_cast<Function&&>(function)};
}
}  // namespace coracle
