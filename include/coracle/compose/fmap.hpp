// coracle/compose/fmap.hpp -- apply a function to the result of an awaitable.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/core/awaitable.hpp>
#include <functional>

namespace coracle {
namespace detail {
template <class Function, class Awaitable>
class fmap_awaiter {
 public:
  fmap_awaiter(Function& function, Awaitable&& value)
      : function_(function), awaiter_(get_awaiter(static_cast<Awaitable&&>(value))) {}

  bool await_ready() { return awaiter_.await_ready() ? true : false; }
  template <class Promise>
  auto await_suspend(std::coroutine_handle<Promise> suspended)
      -> decltype(std::declval<std::remove_reference_t<awaiter_type_t<Awaitable>>&>().await_suspend(
          suspended)) {
    return awaiter_.await_suspend(suspended);
  }
  decltype(auto) await_resume() {
    if constexpr (std::is_void_v<await_result_t<Awaitable>>) {
      awaiter_.await_resume();
      return std::invoke(static_cast<Function&&>(function_));
    } else if constexpr (!std::is_reference_v<await_result_t<Awaitable>> &&
                         std::is_rvalue_reference_v<
                             std::invoke_result_t<Function&&, await_result_t<Awaitable>>>) {
      // A part of the value, such as &point::x gives: moved out, for the value ends here.
      return std::remove_cvref_t<std::invoke_result_t<Function&&, await_result_t<Awaitable>>>(
          std::invoke(static_cast<Function&&>(function_), awaiter_.await_resume()));
    } else {
      return std::invoke(static_cast<Function&&>(function_), awaiter_.await_resume());
    }
  }

 private:
  Function& function_;
  awaiter_type_t<Awaitable> awaiter_;
};

template <class Function, class Awaitable>
class [[nodiscard("fmap does nothing until it is awaited")]] fmap_awaitable {
 public:
  fmap_awaitable(Function&& function, Awaitable&& value)
      : function_(static_cast<Function&&>(function)), value_(static_cast<Awaitable&&>(value)) {}
  fmap_awaiter<Function, Awaitable> operator co_await() && {
    return fmap_awaiter<Function, Awaitable>{function_, static_cast<Awaitable&&>(value_)};
  }

 private:
  Function function_;
  Awaitable value_;
};
}  // namespace detail

/// An awaitable of `function(co_await value)`; of `function()`, if `value` gives nothing.
///
///     auto size = [](std::string text) { return text.size(); };
///     std::size_t n = co_await coracle::fmap(size, read_all(path));
///
/// Resumes on    where `value` does; the function runs there.
/// Cancellation  as `value`.
/// Exceptions    those of `value`, then the function is not called; those of the function.
/// Cost          no coroutine, no allocation.
template <class Function, awaitable Awaitable>
detail::fmap_awaitable<Function, Awaitable> fmap(Function&& function, Awaitable&& value) {
  return {static_cast<Function&&>(function), static_cast<Awaitable&&>(value)};
}
}  // namespace coracle
