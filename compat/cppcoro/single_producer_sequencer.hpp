// cppcoro/single_producer_sequencer.hpp -- coracle::single_producer_sequencer under its old name.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/sync/single_producer_sequencer.hpp>
#include <cppcoro/config.hpp>
#include <cppcoro/sequence_barrier.hpp>
#include <cppcoro/sequence_range.hpp>
#include <utility>

namespace cppcoro {
using coracle::single_producer_sequencer;
template <class Sequence, class Traits, class Scheduler>
using single_producer_sequencer_claim_one_operation =
    decltype(std::declval<single_producer_sequencer<Sequence, Traits>&>().claim_one(
        std::declval<Scheduler&>()));
template <class Sequence, class Traits, class Scheduler>
using single_producer_sequencer_claim_operation =
    decltype(std::declval<single_producer_sequencer<Sequence, Traits>&>().claim_up_to(
        1, std::declval<Scheduler&>()));
}  // namespace cppcoro
