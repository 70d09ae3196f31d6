// cppcoro/recursive_generator.hpp -- coracle::recursive_generator under its old name.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/generators/recursive_generator.hpp>
#include <cppcoro/generator.hpp>

namespace coracle {
/// In cppcoro's order of arguments; here, so that an unqualified call finds it.
template <class Function, class T>
auto fmap(Function function, recursive_generator<T> source) {
  return coracle::fmap(std::move(source), std::move(function));
}
}  // namespace coracle

namespace cppcoro {
using coracle::recursive_generator;

namespace detail {
template <class Function, class T>
generator<std::invoke_result_t<Function&, typename recursive_generator<T>::iterator::reference>>
map_recursive(Function function, recursive_generator<T> source) {
  for (auto&& element : source)
    co_yield coracle::detail::call(function, static_cast<decltype(element)>(element));
}
template <class Function, class T>
auto mapped(fmap_tag, Function&& function, recursive_generator<T> source) {
  return map_recursive(std::decay_t<Function>(static_cast<Function&&>(function)), std::move(source));
}
}  // namespace detail
}  // namespace cppcoro
