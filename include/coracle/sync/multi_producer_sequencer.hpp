// coracle/sync/multi_producer_sequencer.hpp -- many producers' places in one ring buffer.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/sync/sequence_barrier.hpp>
#include <coracle/sync/sequence_range.hpp>
#include <memory>

namespace coracle {
/// Gives many producers the numbers of free places in a ring buffer; each publishes when it is ready, so a
/// slow one holds up the consumers but no other producer.
///
///     const std::size_t number = co_await sequencer.claim_one();  // in each producer
///     ring[number % ring_size] = value;
///     sequencer.publish(number);
///
///     last = co_await sequencer.wait_until_published(last + 1, last);  // in the consumer
///
/// The consumers publish to `consumer_barrier` what they have read; the place of that number is free again.
/// Order         numbers are claimed in the order of the awaits. Whom one publish() wakes, it wakes first
///               come, first served; one that comes at the same time may overtake.
/// Resumes on    the executor on which the waiter suspended; outside any, inside publish() of the other side.
/// Cancellation  a stop request does not end the wait. A claimed number must be published, or the consumers
///               wait for it for ever.
/// Exceptions    the constructor: std::bad_alloc; and those of a scheduler that is passed in.
/// Threads       all members are thread-safe. It outlives its waiters and each call of publish(), as a
///               sequence_barrier does.
/// Cost          one number for each place; no lock. A claim is one locked operation on a shared word,
///               publish() one on a word of its own; a look at what is published is one load a number.
template <std::integral Sequence = std::size_t, class Traits = sequence_traits<Sequence>>
class multi_producer_sequencer {
 public:
  using barrier = sequence_barrier<Sequence, Traits>;
  using range = sequence_range<Sequence, Traits>;
  using wait_operation = detail::sequence_wait<multi_producer_sequencer, Sequence, Traits>;
  class claim_one_operation;
  class claim_operation;

  /// Requires: buffer_size is a power of two.
  multi_producer_sequencer(const barrier& consumer_barrier, std::size_t buffer_size,
                           Sequence initial_sequence = Traits::initial_sequence)
      : consumer_barrier_(consumer_barrier),
        mask_(checked(buffer_size) - 1),
        slots_(new detail::atomic<Sequence>[buffer_size]),
        next_to_claim_{detail::later_by(initial_sequence, 1), {}} {
    for (std::size_t i = 0; i != buffer_size; ++i) {
      const Sequence before = detail::earlier_by(initial_sequence, i);
      slot(before).store(before, detail::memory_order_relaxed);
    }
  }
  multi_producer_sequencer(const multi_producer_sequencer&) = delete;
  multi_producer_sequencer& operator=(const multi_producer_sequencer&) = delete;
  /// Requires: nobody waits.
  ~multi_producer_sequencer() {
    CORACLE_CHECK(!waiters_.value.any(),
                  "a multi_producer_sequencer was destroyed while coroutines wait for a number");
  }

  [[nodiscard]] std::size_t buffer_size() const noexcept { return mask_ + 1; }
  /// Whether a claim would find a free place now; another producer may take it at any time.
  [[nodiscard]] bool any_available() const noexcept {
    return !Traits::precedes(last_claimable(), next_to_claim_.value.load(detail::memory_order_relaxed));
  }

  /// Awaitable of the next number; waits until its place is free.
  claim_one_operation claim_one() noexcept { return claim_one_operation{*this}; }
  /// Awaitable of a range of numbers: as many as there are free places, at least one, at most `count`.
  /// Requires: count >= 1.
  claim_operation claim_up_to(std::size_t count) noexcept { return claim_operation{*this, count}; }
  /// The same; if it had to wait, the coroutine goes on on `place`, which outlives the await.
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

  /// Publishes one number; consumers get it when all before it are published too. Requires: it was claimed.
  void publish(Sequence sequence) noexcept {
    slot(sequence).store(sequence, detail::memory_order_seq_cst); /*P1*/
    wake_waiters();
  }
  /// Publishes each of them, and looks for waiters once.
  void publish(const range& sequences) noexcept {
    if (sequences.empty()) return;
    for (const Sequence each : sequences.skip(1)) slot(each).store(each, detail::memory_order_relaxed);
    publish(sequences.front());
  }

  /// The last number of those published without a gap after `last_known`, which is published.
  [[nodiscard]] Sequence last_published_after(Sequence last_known) const noexcept {
    Sequence next = detail::later_by(last_known, 1);
    for (; slot(next).load(detail::memory_order_acquire) == next; next = detail::later_by(next, 1)) /*P2*/
      last_known = next;
    return last_known;
  }
  /// Awaitable of the last number published without a gap, which does not precede `target`.
  /// Requires: `last_known` and all before it are published, and the caller has not given the places of later
  /// numbers free.
  wait_operation wait_until_published(Sequence target, Sequence last_known) const noexcept {
    return {*this, target, last_known};
  }
  /// The same; if it had to wait, the coroutine goes on on `place`, which outlives the await.
  template <scheduler Scheduler>
  CORACLE_CORO_WRAPPER()
  auto wait_until_published(Sequence target, Sequence last_known, Scheduler& place) const {
    return detail::wait_then_go_to(place, wait_until_published(target, last_known));
  }

 private:
  friend wait_operation;
  friend detail::sequence_waiters<Sequence, Traits>;

  static std::size_t checked(std::size_t buffer_size) noexcept {
    CORACLE_CHECK(
        (buffer_size & (buffer_size - 1)) == 0 && detail::fits_sequence<Traits>(buffer_size),
        "multi_producer_sequencer: the size of the ring buffer has to be a power of two, and at most "
        "half as many as there are numbers");
    return buffer_size;
  }
  detail::atomic<Sequence>& slot(Sequence number) const noexcept {
    return slots_[static_cast<std::size_t>(number) & mask_];
  }
  Sequence last_claimable() const noexcept {
    return detail::later_by(consumer_barrier_.last_published(), buffer_size());
  }
  bool is_published(Sequence target, Sequence known) const noexcept {
    while (known != target) {
      known = detail::later_by(known, 1);
      if (slot(known).load(detail::memory_order_seq_cst) != known) return false; /*P2*/
    }
    return true;
  }
  void wake_waiters() noexcept {
    if (waiters_.value.any()) waiters_.value.wake_published(*this);
  }
  auto& waiters() const noexcept { return waiters_.value; }

  // A slot holds the last number published for its place. While a consumer waits for a number, or holds its
  // place, no producer gets that place again, so the slot holds the number or one a buffer's size before it.
  // Of a range the first number is stored last: who has not seen that one does not look further.
  //   [P1] publish a number      seq_cst  publish its element, and the rest of its range;   pairs with P2
  //                                       it is S1 of sequence_waiters
  //   [P2] look at a slot        acquire  read its element; seq_cst for those who wait      pairs with P1
  //   [P3] claim                 relaxed  orders nothing: that a place is free, and what the consumer did
  //                                       there, is seen in consumer_barrier_
  const barrier& consumer_barrier_;
  const std::size_t mask_;
  const std::unique_ptr<detail::atomic<Sequence>[]> slots_;
  [[maybe_unused]] char apart_[64];
  detail::spaced<detail::atomic<Sequence>> next_to_claim_;
  mutable detail::spaced<detail::sequence_waiters<Sequence, Traits>> waiters_{};
};

template <std::integral Sequence, class Traits>
class [[nodiscard("nothing is claimed until this is awaited")]]
multi_producer_sequencer<Sequence, Traits>::claim_one_operation : public barrier::wait_operation {
 public:
  explicit claim_one_operation(multi_producer_sequencer& sequencer) noexcept
      : barrier::wait_operation(sequencer.consumer_barrier_, {}, {}), sequencer_(sequencer) {}
  bool await_ready() noexcept {
    claimed_ = sequencer_.next_to_claim_.value.fetch_add(1, detail::memory_order_relaxed); /*P3*/
    this->target = detail::earlier_by(claimed_, sequencer_.buffer_size());
    this->known = detail::earlier_by(this->target, 1);
    return barrier::wait_operation::await_ready();
  }
  Sequence await_resume() const noexcept { return claimed_; }

 private:
  multi_producer_sequencer& sequencer_;
  Sequence claimed_{};
};

template <std::integral Sequence, class Traits>
class [[nodiscard("nothing is claimed until this is awaited")]]
multi_producer_sequencer<Sequence, Traits>::claim_operation : public barrier::wait_operation {
 public:
  claim_operation(multi_producer_sequencer& sequencer, std::size_t count) noexcept
      : barrier::wait_operation(sequencer.consumer_barrier_, {}, {}), sequencer_(sequencer), count_(count) {
    CORACLE_CHECK(count != 0, "claim_up_to(0): claim at least one number");
  }
  bool await_ready() noexcept {
    auto& next_to_claim = sequencer_.next_to_claim_.value;
    Sequence first = next_to_claim.load(detail::memory_order_relaxed), end;
    do {
      this->known = sequencer_.consumer_barrier_.last_published();
      const auto free =
          Traits::difference(detail::later_by(this->known, sequencer_.buffer_size() + 1), first);
      const auto most = static_cast<std::uint64_t>(free > 1 ? free : 1);
      end = detail::later_by(first, count_ < most ? count_ : most);
    } while (!next_to_claim.compare_exchange_weak(first, end, detail::memory_order_relaxed)); /*P3*/
    claimed_ = {first, end};
    this->target = detail::earlier_by(claimed_.back(), sequencer_.buffer_size());
    return barrier::wait_operation::await_ready();
  }
  range await_resume() const noexcept { return claimed_; }

 private:
  multi_producer_sequencer& sequencer_;
  std::size_t count_;
  range claimed_{};
};
}  // namespace coracle
