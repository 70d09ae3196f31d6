// cppcoro/single_consumer_async_auto_reset_event.hpp -- coracle's event of that name under its old name.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/sync/single_consumer_async_auto_reset_event.hpp>

namespace cppcoro {
using coracle::single_consumer_async_auto_reset_event;
}  // namespace cppcoro
