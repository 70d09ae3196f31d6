// cppcoro/sequence_range.hpp -- coracle::sequence_range under its old name.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/sync/sequence_range.hpp>
#include <cppcoro/sequence_traits.hpp>

namespace cppcoro {
using coracle::sequence_range;
}  // namespace cppcoro
