// tests/unit/sequencer_claims.hpp -- coroutines that claim numbers of a sequencer, or wait for them.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/sync/sequence_traits.hpp>
#include <cstddef>
#include <vector>

#include "../support/detached.hpp"

namespace coracle_test {
using numbers = std::vector<std::size_t>;
/// The initial value of what has been published.
constexpr std::size_t none = coracle::sequence_traits<std::size_t>::initial_sequence;

/// Claims `count` numbers, one after the other.
template <class Sequencer>
detached claim(Sequencer& sequencer, int count, numbers& claimed) {
  while (count-- != 0) claimed.push_back(co_await sequencer.claim_one());
}
template <class Sequencer>
detached claim_range(Sequencer& sequencer, std::size_t count, numbers& claimed) {
  const auto range = co_await sequencer.claim_up_to(count);
  claimed.assign(range.begin(), range.end());
}
/// Waits for `target`, and logs what has been published then.
template <class Sequencer>
detached wait(const Sequencer& sequencer, std::size_t target, std::size_t known, numbers& log) {
  log.push_back(co_await sequencer.wait_until_published(target, known));
}
}  // namespace coracle_test
