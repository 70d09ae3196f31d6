// cppcoro/broken_promise.hpp -- coracle::broken_promise under its old name.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/core/broken_promise.hpp>

namespace cppcoro {
using coracle::broken_promise;
}  // namespace cppcoro
