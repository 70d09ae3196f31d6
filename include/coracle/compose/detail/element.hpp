// coracle/compose/detail/element.hpp -- the type of a child's result in a tuple, a vector or a variant.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/base/functional.hpp>
#include <coracle/core/result.hpp>
#include <type_traits>

namespace coracle::detail {
template <class T>
using element_t = std::conditional_t<
    std::is_void_v<T>, void_value,
    std::conditional_t<std::is_reference_v<T>, std::reference_wrapper<std::remove_reference_t<T>>, T>>;
}  // namespace coracle::detail
