// cppcoro/recursive_generator.hpp -- coracle::recursive_generator under its old name.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/generators/recursive_generator.hpp>
#include <cppcoro/generator.hpp>

namespace cppcoro {
using coracle::recursive_generator;

namespace fmap_of_recursive_generator {
/// The generator of `function(element)` for each element of `source`.
template <class Function, class T>
generator<std::invoke_result_t<Function&, typename recursive_generator<T>::iterator::reference>> fmap(
    Function function, recursive_generator<T> source) {
  for (auto&& element : source)
    co_yield coracle::detail::call(function, static_cast<decltype(element)>(element));
}
}  // namespace fmap_of_recursive_generator
using fmap_of_recursive_generator::fmap;

namespace detail {
template <class Function, class T>
auto mapped(fmap_tag, Function&& function, recursive_generator<T> source) {
  return cppcoro::fmap(std::decay_t<Function>(static_cast<Function&&>(function)), std::move(source));
}
}  // namespace detail
}  // namespace cppcoro

namespace coracle {
using cppcoro::fmap_of_recursive_generator::fmap;  // so that an unqualified call finds it
}  // namespace coracle
