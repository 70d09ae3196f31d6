// coracle/base/exchange.hpp -- std::exchange and std::swap with fewer instantiations.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/base/config.hpp>

namespace coracle::detail {
/// As std::exchange, which instantiates several class templates to learn whether it throws.
template <class T, class U = T>
CORACLE_ALWAYS_INLINE()
constexpr T exchange(T& object, U&& next) noexcept(__is_trivially_copyable(T)) {
  T old = static_cast<T&&>(object);
  object = static_cast<U&&>(next);
  return old;
}
/// As std::swap. Its name is another one, since an unqualified call of swap() would find both.
template <class T>
CORACLE_ALWAYS_INLINE()
constexpr void swap_values(T& a, T& b) noexcept(__is_trivially_copyable(T)) {
  a = detail::exchange(b, static_cast<T&&>(a));
}
}  // namespace coracle::detail
