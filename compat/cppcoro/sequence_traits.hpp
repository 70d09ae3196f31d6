// cppcoro/sequence_traits.hpp -- coracle::sequence_traits under its old name.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/sync/sequence_traits.hpp>

namespace cppcoro {
using coracle::sequence_traits;
}  // namespace cppcoro
