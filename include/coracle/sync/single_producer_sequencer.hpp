// coracle/sync/single_producer_sequencer.hpp -- one producer's slots in a ring buffer.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/base/exchange.hpp>
#include <coracle/sync/sequence_barrier.hpp>
#include <coracle/sync/sequence_range.hpp>

namespace coracle {
/// Assigns the numbers of free slots in a ring buffer to one producer, and tells consumers which are filled.
///
///     const std::size_t number = co_await sequencer.claim_one();  // waits while the ring is full
///     ring[number % ring_size] = value;
///     sequencer.publish(number);
///
/// The consumers publish to `consumer_barrier` what they have read, which frees the slot of that number.
/// Prefer multi_producer_sequencer if several coroutines produce at the same time.
/// Order         numbers are claimed one after the other, without gaps.
/// Resumes on    the executor on which the waiter suspended; outside any executor, inside publish() of the
///               other side.
/// Cancellation  a stop request ends the wait; a cancelled claim has claimed nothing. Even with a scheduler,
///               the cancelled coroutine continues where it suspended.
/// Exceptions    the awaits: operation_cancelled, and those of a scheduler that is passed in.
/// Threads       claim_*() and publish() from one at a time, the rest from any; one claim is awaited at a
///               time. It outlives its waiters and each call of publish(), as a sequence_barrier does.
/// Cost          no allocation; a claim reads the consumers' number only when the slots known to be free are
///               used up. publish() as that of sequence_barrier.
template <std::integral Sequence = std::size_t, class Traits = sequence_traits<Sequence>>
class single_producer_sequencer {
 public:
  using barrier = sequence_barrier<Sequence, Traits>;
  using range = sequence_range<Sequence, Traits>;
  using size_type = typename Traits::size_type;
  class claim_one_operation;
  class claim_operation;

  /// Requires: buffer_size >= 1; a power of two, if the numbers ever wrap around.
  single_producer_sequencer(const barrier& consumer_barrier, std::size_t buffer_size,
                            Sequence initial_sequence = Traits::initial_sequence) noexcept
      : consumer_barrier_(consumer_barrier),
        buffer_size_(buffer_size),
        next_to_claim_(detail::later_by(initial_sequence, 1)),
        known_consumed_(detail::earlier_by(initial_sequence, buffer_size)),
        published_(initial_sequence) {
    CORACLE_REQUIRE(detail::fits_sequence<Traits>(buffer_size),
                    "a ring buffer needs at least one slot, and at most half as many as there are numbers");
  }
  single_producer_sequencer(const single_producer_sequencer&) = delete;
  single_producer_sequencer& operator=(const single_producer_sequencer&) = delete;

  [[nodiscard]] std::size_t buffer_size() const noexcept { return buffer_size_; }

  /// Awaitable of the next number; waits until its slot is free.
  claim_one_operation claim_one() noexcept { return claim_one_operation{*this}; }
  /// Awaitable of a range of numbers: as many as there are free slots, at least one, at most `count`.
  /// Requires: count >= 1.
  claim_operation claim_up_to(std::size_t count) noexcept { return claim_operation{*this, count}; }
  /// The same; if it had to wait, the coroutine resumes on `place`, which must outlive the await.
  template <scheduler Scheduler>
  CORACLE_CORO_WRAPPER()
  auto claim_one(Scheduler& place) {
    return detail::wait_then_go_to(place, claim_one());
  }
  template <scheduler Scheduler>
  CORACLE_CORO_WRAPPER()
  auto claim_up_to(std::size_t count, Scheduler& place) {
    return detail::wait_then_go_to(place, claim_up_to(count));
  }

  /// Publishes a number and all before it. Requires: it was claimed.
  void publish(Sequence sequence) noexcept { published_.publish(sequence); }
  void publish(const range& sequences) noexcept {
    if (!sequences.empty()) publish(sequences.back());
  }

  [[nodiscard]] Sequence last_published() const noexcept { return published_.last_published(); }
  /// Awaitable of the last number published, which does not precede `target`.
  auto wait_until_published(Sequence target) const noexcept {
    return published_.wait_until_published(target);
  }
  /// The same; if it had to wait, the coroutine resumes on `place`, which must outlive the await.
  template <scheduler Scheduler>
  CORACLE_CORO_WRAPPER()
  auto wait_until_published(Sequence target, Scheduler& place) const {
    return published_.wait_until_published(target, place);
  }

 private:
  using wait_operation = typename barrier::wait_operation;

  /// Returns the number whose consumption frees the slot of the next number.
  Sequence consumed_for_next() const noexcept {
    return detail::earlier_by<Sequence>(next_to_claim_, buffer_size_);
  }

  const barrier& consumer_barrier_;
  const std::size_t buffer_size_;
  // Only the producer touches these two.
  detail::plain<Sequence> next_to_claim_;
  detail::plain<Sequence> known_consumed_;
  [[maybe_unused]] char apart_[64];
  barrier published_;
};

template <std::integral Sequence, class Traits>
class [[nodiscard("nothing is claimed until this is awaited")]]
single_producer_sequencer<Sequence, Traits>::claim_one_operation : public wait_operation {
 public:
  explicit claim_one_operation(single_producer_sequencer& sequencer) noexcept
      : wait_operation(sequencer.consumer_barrier_, {}, {}), sequencer_(sequencer) {}
  bool await_ready() noexcept {
    this->wait_for(sequencer_.consumed_for_next(), sequencer_.known_consumed_);
    return false;
  }
  Sequence await_resume() {
    sequencer_.known_consumed_ = wait_operation::await_resume();
    return detail::exchange(sequencer_.next_to_claim_,
                            detail::later_by<Sequence>(sequencer_.next_to_claim_, 1));
  }

 private:
  single_producer_sequencer& sequencer_;
};

template <std::integral Sequence, class Traits>
class [[nodiscard("nothing is claimed until this is awaited")]]
single_producer_sequencer<Sequence, Traits>::claim_operation : public wait_operation {
 public:
  claim_operation(single_producer_sequencer& sequencer, std::size_t count) noexcept
      : wait_operation(sequencer.consumer_barrier_, {}, {}), sequencer_(sequencer), count_(count) {
    CORACLE_REQUIRE(count != 0, "claim_up_to(0): claim at least one number");
  }
  bool await_ready() noexcept {
    this->wait_for(sequencer_.consumed_for_next(), sequencer_.known_consumed_);
    return false;
  }
  range await_resume() {
    const Sequence consumed = sequencer_.known_consumed_ = wait_operation::await_resume();
    const Sequence first = sequencer_.next_to_claim_;
    const auto claimable = static_cast<size_type>(
        Traits::difference(detail::later_by(consumed, sequencer_.buffer_size_ + 1), first));
    sequencer_.next_to_claim_ = detail::later_by(first, count_ < claimable ? count_ : claimable);
    return {first, sequencer_.next_to_claim_};
  }

 private:
  single_producer_sequencer& sequencer_;
  std::size_t count_;
};
}  // namespace coracle
