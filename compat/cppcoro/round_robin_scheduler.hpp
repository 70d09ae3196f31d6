// cppcoro/round_robin_scheduler.hpp -- coracle::round_robin_scheduler under its old name.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/exec/round_robin_scheduler.hpp>
#include <cppcoro/config.hpp>

namespace cppcoro {
using coracle::round_robin_scheduler;
}  // namespace cppcoro
