// cppcoro/async_generator.hpp -- coracle::async_generator under its old name.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/generators/async_generator.hpp>
#include <cppcoro/config.hpp>
#include <cppcoro/detail/fmap_tag.hpp>
#include <cppcoro/fmap.hpp>

namespace cppcoro {
using coracle::async_generator;

namespace fmap_of_async_generator {
/// The async_generator of `function(element)` for each element of `source`.
template <class Function, class T>
auto fmap(Function function, async_generator<T> source) {
  return coracle::fmap(std::move(source), std::move(function));
}
}  // namespace fmap_of_async_generator
using fmap_of_async_generator::fmap;

namespace detail {
template <class Function, class T>
auto mapped(fmap_tag, Function&& function, async_generator<T> source) {
  return cppcoro::fmap(std::decay_t<Function>(static_cast<Function&&>(function)), std::move(source));
}
}  // namespace detail
}  // namespace cppcoro

namespace coracle {
using cppcoro::fmap_of_async_generator::fmap;  // so that an unqualified call finds it
}  // namespace coracle
