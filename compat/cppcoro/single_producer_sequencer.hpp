// cppcoro/single_producer_sequencer.hpp -- coracle::single_producer_sequencer under its old name.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/sync/single_producer_sequencer.hpp>
#include <cppcoro/config.hpp>
#include <cppcoro/sequence_barrier.hpp>
#include <cppcoro/sequence_range.hpp>

namespace cppcoro {
using coracle::single_producer_sequencer;
}  // namespace cppcoro
