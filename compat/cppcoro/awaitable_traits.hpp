// cppcoro/awaitable_traits.hpp -- coracle's traits of awaitables as a class template.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/core/awaitable.hpp>

namespace cppcoro {
/// The awaiter of a `T` and the type of `co_await` on it; empty if `T` cannot be awaited.
///
///     using result = cppcoro::awaitable_traits<cppcoro::task<int>&>::await_result_t;  // int&
template <class T>
struct awaitable_traits {};
template <coracle::awaitable T>
struct awaitable_traits<T> {
  using awaiter_t = coracle::awaiter_type_t<T>;
  using await_result_t = coracle::await_result_t<T>;
};

namespace detail {
// What a coroutine that hands on the result of a `T` returns: a value where the await gives an rvalue.
template <class T>
using owned_result_t = std::conditional_t<std::is_rvalue_reference_v<T>, std::remove_reference_t<T>, T>;
}  // namespace detail
}  // namespace cppcoro
