// cppcoro/async_manual_reset_event.hpp -- coracle::async_manual_reset_event under its old names.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/sync/async_manual_reset_event.hpp>

namespace cppcoro {
using coracle::async_manual_reset_event;
using async_manual_reset_event_operation = async_manual_reset_event::wait_operation;
}  // namespace cppcoro
