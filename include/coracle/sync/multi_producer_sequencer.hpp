// coracle/sync/multi_producer_sequencer.hpp -- several producers' slots in one ring buffer.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/core/detail/stoppable_wait.hpp>
#include <coracle/sync/sequence_barrier.hpp>
#include <coracle/sync/sequence_range.hpp>
#include <memory>

namespace coracle {
/// Assigns the numbers of free slots in a ring buffer to several producers; each publishes when it is ready,
/// so a slow one delays the consumers but no other producer.
///
///     const std::size_t number = co_await sequencer.claim_one();  // in each producer
///     ring[number % ring_size] = value;
///     sequencer.publish(number);
///
///     last = co_await sequencer.wait_until_published(last + 1, last);  // in the consumer
///
/// The consumers publish to `consumer_barrier` what they have read, which frees the slot of that number.
/// Order         numbers are claimed first come, first served: no claim overtakes a waiting one. publish()
///               wakes waiters in the order of their awaits.
/// Resumes on    the executor on which the waiter suspended; outside any executor, inside publish() of the
///               other side.
/// Cancellation  a stop request ends the wait; a cancelled claim has claimed nothing: a number is claimed
///               when its slot is free, not before. Even with a scheduler, the cancelled coroutine continues
///               where it suspended. A claimed number must be published, or its consumers never proceed.
/// Exceptions    the constructor: std::bad_alloc. The awaits: operation_cancelled, and those of a scheduler
///               that is passed in.
/// Threads       all members are thread-safe. It outlives its waiters and each call of publish(), as a
///               sequence_barrier does.
/// Cost          one number per slot. A claim is one atomic read-modify-write of a shared word, publish() one
///               sequentially consistent store to a separate word; checking what is published is one load per
///               number.
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
        claims_{{detail::later_by(initial_sequence, 1)}, {}} {
    for (std::size_t i = 0; i != buffer_size; ++i) {
      const Sequence before = detail::earlier_by(initial_sequence, i);
      slot(before).store(before, detail::memory_order_relaxed); /*P5*/
    }
  }
  multi_producer_sequencer(const multi_producer_sequencer&) = delete;
  multi_producer_sequencer& operator=(const multi_producer_sequencer&) = delete;
  /// Requires: no coroutine is waiting.
  ~multi_producer_sequencer() {
    CORACLE_REQUIRE(!waiters_.value.any(),
                    "a multi_producer_sequencer was destroyed while coroutines wait for a number: stop and "
                    "join them first");
    CORACLE_REQUIRE(claims_.value.waiting.load(detail::memory_order_relaxed) == 0,
                    "a multi_producer_sequencer was destroyed while coroutines wait for a slot: stop and "
                    "join them first");
  }

  [[nodiscard]] std::size_t buffer_size() const noexcept { return mask_ + 1; }
  /// Returns true if a claim would find a free slot now; another producer may take it at any time.
  [[nodiscard]] bool any_available() const noexcept {
    return free_slots(claims_.value.next.load(detail::memory_order_relaxed), /*P3*/
                      consumer_barrier_.last_published()) > 0;
  }

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

  /// Publishes one number; consumers get it when all before it are published too. Requires: it was claimed.
  void publish(Sequence sequence) noexcept {
    slot(sequence).store(sequence, detail::memory_order_seq_cst); /*P1*/
    wake_waiters();
  }
  /// Publishes each of them, and checks for waiters once.
  void publish(const range& sequences) noexcept {
    if (sequences.empty()) return;
    for (const Sequence each : sequences.skip(1)) slot(each).store(each, detail::memory_order_relaxed); /*P5*/
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
  /// Requires: `last_known` and all before it are published, and the caller has not freed the slots of later
  /// numbers.
  wait_operation wait_until_published(Sequence target, Sequence last_known) const noexcept {
    return {*this, target, last_known};
  }
  /// The same; if it had to wait, the coroutine resumes on `place`, which must outlive the await.
  template <scheduler Scheduler>
  CORACLE_CORO_WRAPPER()
  auto wait_until_published(Sequence target, Sequence last_known, Scheduler& place) const {
    return detail::wait_then_go_to(place, wait_until_published(target, last_known));
  }

 private:
  friend wait_operation;
  template <class Operation>
  class claim;

  static std::size_t checked(std::size_t buffer_size) noexcept {
    CORACLE_REQUIRE(
        (buffer_size & (buffer_size - 1)) == 0 && detail::fits_sequence<Traits>(buffer_size),
        "multi_producer_sequencer: the size of the ring buffer has to be a power of two, and at most "
        "half as many as there are numbers");
    return buffer_size;
  }
  detail::atomic<Sequence>& slot(Sequence number) const noexcept {
    return slots_[static_cast<std::size_t>(number) & mask_];
  }
  /// Returns how many numbers from `next` on have free slots, given the last consumed number; 0 or less:
  /// none.
  auto free_slots(Sequence next, Sequence consumed) const noexcept {
    return Traits::difference(detail::later_by(consumed, buffer_size() + 1), next);
  }
  bool is_published(Sequence target, Sequence known) const noexcept {
    while (known != target) {
      known = detail::later_by(known, 1);
      if (slot(known).load(detail::memory_order_seq_cst) != known) return false; /*P2*/
    }
    return true;
  }
  void wake_waiters() noexcept {
    if (waiters_.value.any()) waiters_.value.serve();
  }
  detail::sequence_waiters& waiters() const noexcept { return waiters_.value; }

  // A slot holds the last number published for it. While a consumer waits for a number, or reads its slot, no
  // producer gets that slot again, so it holds that number or the one a buffer's size before it. The first
  // number of a range is stored last: a reader that does not see it reads no further.
  //   [P1] publish a number      seq_cst  publish its element, and the rest of its range;   pairs with P2
  //                                       it is S1 of sequence_waiters
  //   [P2] look at a slot        acquire  read its element; seq_cst for one that waits      pairs with P1
  //   [P3] claim, or look        relaxed  orders nothing: that a slot is free, and what the consumer did
  //                                       there, is seen in consumer_barrier_
  //   [P4] claims that wait      relaxed  a hint not to overtake them; exact under the lock of the waiters of
  //                                       consumer_barrier_, where they wait
  //   [P5] the rest of a range   relaxed  P1 follows; in the constructor: no other thread has this yet
  struct claims {
    detail::atomic<Sequence> next;
    detail::atomic<std::uint32_t> waiting{0};
  };
  const barrier& consumer_barrier_;
  const std::size_t mask_;
  const std::unique_ptr<detail::atomic<Sequence>[]> slots_;
  [[maybe_unused]] char apart_[64];
  detail::spaced<claims> claims_;
  mutable detail::spaced<detail::sequence_waiters> waiters_{};
};

/// Claims if there is a free slot; otherwise it waits in the queue of the consumers' barrier, whose publish()
/// then claims for it.
template <std::integral Sequence, class Traits>
template <class Operation>
class multi_producer_sequencer<Sequence, Traits>::claim : public detail::waits_for_sequence<Operation> {
 protected:
  claim(multi_producer_sequencer& sequencer, std::size_t most) noexcept
      : sequencer_(sequencer), most_(most) {}
  const range& claimed() const noexcept { return claimed_; }

 private:
  friend detail::stoppable_wait<Operation, detail::sequence_waiter>;
  friend detail::waits_for_sequence<Operation>;

  bool try_now() noexcept {
    return sequencer_.claims_.value.waiting.load(detail::memory_order_relaxed) == 0 && /*P4*/
           try_claim([this] { return sequencer_.consumer_barrier_.last_published(); });
  }
  bool serve() noexcept {
    return try_claim([this] { return sequencer_.consumer_barrier_.last_published_now(); });
  }
  template <class Look>
  bool try_claim(Look consumed) noexcept {
    auto& next = sequencer_.claims_.value.next;
    Sequence first = next.load(detail::memory_order_relaxed), end;
    do {
      const auto free = sequencer_.free_slots(first, consumed());
      if (free <= 0) return false;
      end = detail::later_by(
          first, most_ < static_cast<std::uint64_t>(free) ? most_ : static_cast<std::uint64_t>(free));
    } while (!next.compare_exchange_weak(first, end, detail::memory_order_relaxed)); /*P3*/
    claimed_ = {first, end};
    return true;
  }
  detail::sequence_waiters& waiters() const noexcept { return sequencer_.consumer_barrier_.waiters(); }
  detail::atomic<std::uint32_t>* rivals() const noexcept { return &sequencer_.claims_.value.waiting; }

  multi_producer_sequencer& sequencer_;
  const std::size_t most_;
  range claimed_{};
};

template <std::integral Sequence, class Traits>
class [[nodiscard("nothing is claimed until this is awaited")]]
multi_producer_sequencer<Sequence, Traits>::claim_one_operation : public claim<claim_one_operation> {
 public:
  explicit claim_one_operation(multi_producer_sequencer& sequencer) noexcept
      : claim<claim_one_operation>(sequencer, 1) {}
  Sequence await_resume() {
    this->finish();
    return this->claimed().front();
  }
};

template <std::integral Sequence, class Traits>
class [[nodiscard("nothing is claimed until this is awaited")]]
multi_producer_sequencer<Sequence, Traits>::claim_operation : public claim<claim_operation> {
 public:
  claim_operation(multi_producer_sequencer& sequencer, std::size_t count) noexcept
      : claim<claim_operation>(sequencer, count) {
    CORACLE_REQUIRE(count != 0, "claim_up_to(0): claim at least one number");
  }
  range await_resume() {
    this->finish();
    return this->claimed();
  }
};
}  // namespace coracle
