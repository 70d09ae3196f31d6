// cppcoro/async_scope.hpp -- coracle::async_scope under its old name.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/compose/async_scope.hpp>
#include <cppcoro/on_scope_exit.hpp>

namespace cppcoro {
using coracle::async_scope;
}  // namespace cppcoro
