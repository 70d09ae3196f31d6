// cppcoro/coroutine.hpp -- the names that the fork of cppcoro for C++20 puts into its namespace.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/base/config.hpp>
#include <coroutine>
#include <cppcoro/config.hpp>

namespace cppcoro {
using std::coroutine_handle;
using std::noop_coroutine;
using std::suspend_always;
using std::suspend_never;
}  // namespace cppcoro
