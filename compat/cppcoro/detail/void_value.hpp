// cppcoro/detail/void_value.hpp -- coracle::void_value under its old name.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/compose/when_all.hpp>

namespace cppcoro::detail {
using coracle::void_value;
}  // namespace cppcoro::detail
