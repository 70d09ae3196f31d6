// cppcoro/single_consumer_event.hpp -- coracle::single_consumer_event under its old name.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/sync/single_consumer_event.hpp>

namespace cppcoro {
using coracle::single_consumer_event;
}  // namespace cppcoro
