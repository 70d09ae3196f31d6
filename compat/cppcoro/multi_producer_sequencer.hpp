// cppcoro/multi_producer_sequencer.hpp -- coracle::multi_producer_sequencer under its old name.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/sync/multi_producer_sequencer.hpp>
#include <cppcoro/config.hpp>
#include <cppcoro/sequence_barrier.hpp>
#include <cppcoro/sequence_range.hpp>
#include <cppcoro/sequence_traits.hpp>

namespace cppcoro {
using coracle::multi_producer_sequencer;
}  // namespace cppcoro
