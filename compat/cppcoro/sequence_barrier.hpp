// cppcoro/sequence_barrier.hpp -- coracle::sequence_barrier under its old name.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/sync/sequence_barrier.hpp>
#include <cppcoro/awaitable_traits.hpp>
#include <cppcoro/config.hpp>
#include <cppcoro/sequence_traits.hpp>

namespace cppcoro {
using coracle::sequence_barrier;
}  // namespace cppcoro
