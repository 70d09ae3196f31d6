// cppcoro/detail/fmap_tag.hpp -- what leads `value | fmap(function)` to the header that knows the value.
// SPDX-License-Identifier: MIT
#pragma once

namespace cppcoro::detail {
/// The first argument of `mapped(fmap_tag, function, value)`: its overloads are found through it, wherever
/// the type of `value` comes from.
struct fmap_tag {};
}  // namespace cppcoro::detail
