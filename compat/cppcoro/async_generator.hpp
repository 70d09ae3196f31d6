// cppcoro/async_generator.hpp -- coracle::async_generator under its old name.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/generators/async_generator.hpp>
#include <cppcoro/config.hpp>
#include <cppcoro/detail/fmap_tag.hpp>
#include <cppcoro/fmap.hpp>

namespace coracle {
/// In cppcoro's order of arguments; here, so that an unqualified call finds it.
template <class Function, class T>
auto fmap(Function function, async_generator<T> source) {
  return coracle::fmap(std::move(source), std::move(function));
}
}  // namespace coracle

namespace cppcoro {
using coracle::async_generator;

namespace detail {
template <class Function, class T>
auto mapped(fmap_tag, Function&& function, async_generator<T> source) {
  return coracle::fmap(std::move(source), std::decay_t<Function>(static_cast<Function&&>(function)));
}
}  // namespace detail
}  // namespace cppcoro
