// cppcoro/multi_producer_sequencer.hpp -- coracle::multi_producer_sequencer under its old name.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/sync/multi_producer_sequencer.hpp>
#include <cppcoro/config.hpp>
#include <cppcoro/sequence_barrier.hpp>
#include <cppcoro/sequence_range.hpp>
#include <cppcoro/sequence_traits.hpp>
#include <utility>

namespace cppcoro {
using coracle::multi_producer_sequencer;
template <class Sequence, class Traits, class Scheduler>
using multi_producer_sequencer_claim_one_operation =
    decltype(std::declval<multi_producer_sequencer<Sequence, Traits>&>().claim_one(
        std::declval<Scheduler&>()));
template <class Sequence, class Traits, class Scheduler>
using multi_producer_sequencer_claim_operation =
    decltype(std::declval<multi_producer_sequencer<Sequence, Traits>&>().claim_up_to(
        1, std::declval<Scheduler&>()));
template <class Sequence, class Traits, class Scheduler>
using multi_producer_sequencer_wait_operation =
    decltype(std::declval<const multi_producer_sequencer<Sequence, Traits>&>().wait_until_published(
        std::declval<Sequence>(), std::declval<Sequence>(), std::declval<Scheduler&>()));
}  // namespace cppcoro
