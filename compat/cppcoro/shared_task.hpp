// cppcoro/shared_task.hpp -- coracle::shared_task under its old name.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/core/shared_task.hpp>
#include <cppcoro/awaitable_traits.hpp>
#include <cppcoro/broken_promise.hpp>
#include <cppcoro/config.hpp>
#include <cppcoro/task.hpp>

namespace cppcoro {
using coracle::make_shared_task;
using coracle::shared_task;
}  // namespace cppcoro
