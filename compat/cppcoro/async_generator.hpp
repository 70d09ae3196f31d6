// cppcoro/async_generator.hpp -- coracle::async_generator under its old name.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/generators/async_generator.hpp>
#include <cppcoro/config.hpp>
#include <cppcoro/detail/fmap_tag.hpp>
#include <cppcoro/fmap.hpp>

namespace cppcoro {
using coracle::async_generator;

namespace detail {
template <class Function, class T>
auto mapped(fmap_tag, Function&& function, async_generator<T> source) {
  return coracle::fmap(std::decay_t<Function>(static_cast<Function&&>(function)), std::move(source));
}
}  // namespace detail
}  // namespace cppcoro
