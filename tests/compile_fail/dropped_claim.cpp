// expect: nothing is claimed until this is awaited
// tests/compile_fail/dropped_claim.cpp -- a place in the ring that is asked for and never awaited.
// SPDX-License-Identifier: MIT
#include <coracle/core/task.hpp>
#include <coracle/sync/multi_producer_sequencer.hpp>
#if defined(__clang__)
#pragma clang diagnostic error "-Wunused-value"
#else
#pragma GCC diagnostic error "-Wunused-result"
#endif

coracle::task<> drop(coracle::multi_producer_sequencer<>& sequencer) {
#ifndef CORACLE_COMPILE_FAIL_CONTROL
  sequencer.claim_one();
#endif
  sequencer.publish(co_await sequencer.claim_one());
}
