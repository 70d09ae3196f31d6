// cppcoro/detail/void_value.hpp -- coracle::void_value under its old name.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/core/result.hpp>

namespace cppcoro::detail {
using coracle::void_value;
}  // namespace cppcoro::detail
