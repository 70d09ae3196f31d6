// coracle/base/exchange.hpp -- std::exchange with fewer instantiations.
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
}  // namespace coracle::detail
