// cppcoro/inline_scheduler.hpp -- coracle::inline_scheduler under its old name.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/exec/inline_scheduler.hpp>

namespace cppcoro {
using coracle::inline_scheduler;
}  // namespace cppcoro
