// cppcoro/static_thread_pool.hpp -- coracle::static_thread_pool under its old name.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/exec/static_thread_pool.hpp>
#include <cppcoro/coroutine.hpp>

namespace cppcoro {
using coracle::static_thread_pool;
}  // namespace cppcoro
