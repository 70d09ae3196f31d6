// cppcoro/operation_cancelled.hpp -- coracle::operation_cancelled under its old name.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/core/operation_cancelled.hpp>

namespace cppcoro {
using coracle::operation_cancelled;
}  // namespace cppcoro
