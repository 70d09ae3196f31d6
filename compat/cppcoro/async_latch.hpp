// cppcoro/async_latch.hpp -- coracle::async_latch under its old name.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/sync/async_latch.hpp>
#include <cppcoro/async_manual_reset_event.hpp>

namespace cppcoro {
using coracle::async_latch;
}  // namespace cppcoro
