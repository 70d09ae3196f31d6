// cppcoro/is_awaitable.hpp -- the concept coracle::awaitable as a trait.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/core/awaitable.hpp>

namespace cppcoro {
/// True if a `T` can be awaited.
///
///     static_assert(cppcoro::is_awaitable_v<cppcoro::task<int>>);
template <class T>
struct is_awaitable : std::bool_constant<coracle::awaitable<T>> {};
template <class T>
inline constexpr bool is_awaitable_v = is_awaitable<T>::value;
}  // namespace cppcoro
