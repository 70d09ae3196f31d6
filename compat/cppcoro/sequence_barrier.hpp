// cppcoro/sequence_barrier.hpp -- coracle::sequence_barrier under its old name.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/sync/sequence_barrier.hpp>
#include <cppcoro/awaitable_traits.hpp>
#include <cppcoro/config.hpp>
#include <cppcoro/sequence_traits.hpp>
#include <utility>

namespace cppcoro {
using coracle::sequence_barrier;
template <class Sequence, class Traits, class Scheduler>
using sequence_barrier_wait_operation =
    decltype(std::declval<const sequence_barrier<Sequence, Traits>&>().wait_until_published(
        std::declval<Sequence>(), std::declval<Scheduler&>()));
}  // namespace cppcoro
