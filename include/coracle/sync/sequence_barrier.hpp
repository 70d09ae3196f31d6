// coracle/sync/sequence_barrier.hpp -- a published sequence number on which others wait.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/base/exchange.hpp>
#include <coracle/core/detail/stoppable_wait.hpp>
#include <coracle/core/detail/wait_queue.hpp>
#include <coracle/core/task.hpp>
#include <coracle/sync/sequence_traits.hpp>
#include <cstddef>
#include <cstdint>

namespace coracle {
namespace detail {
/// Keeps neighbours on other cache lines, by distance: compilers do not align over-aligned objects in frames.
template <class T>
struct spaced {
  T value;
  [[maybe_unused]] char rest[64 - sizeof(T) % 64];
};

/// A coroutine that waits for a published number: a consumer for the number of an element, a producer for
/// that of a consumed one, whose slot it fills again.
struct sequence_waiter : queued_waiter {
  using queued_waiter::queued_waiter;
  /// Called with the queue's lock held. Returns true if the waiter has what it waits for.
  bool (*serve)(sequence_waiter&) noexcept = nullptr;
  /// The number of queued waiters that compete for the same slots, as producers do. Each is served once those
  /// before it are. Changed under the lock. Null for a consumer: any number of them can be served at once.
  atomic<std::uint32_t>* rivals = nullptr;
};

/// The coroutines that wait for published numbers: the publisher stores a number, then tests any(), then
/// calls serve().
class sequence_waiters {
 public:
  bool any() const noexcept { return state_.load(memory_order_seq_cst) != nobody; } /*S2*/

  /// Returns false if it was served at once, or if stop is requested.
  CORACLE_NOINLINE() bool add(sequence_waiter& arriving) noexcept {
    const std::uint32_t seen = state_.lock(memory_order_seq_cst); /*S3*/
    bool waits = false;
    if (arriving.progress() == queued_waiter::arriving) {
      waits = has_rival(arriving) || !try_serve(arriving);
      if (!waits) arriving.set_progress(queued_waiter::served);
      waits = waits && queue_.push(arriving);
      if (waits) count_rivals(arriving, 1);
    }
    state_.unlock(waits ? waited_for : seen);
    return waits;
  }
  /// Wakes the waiters that the numbers published so far serve, first come, first served. Touches nothing
  /// after that.
  CORACLE_NOINLINE() void serve() noexcept {
    static_cast<void>(state_.lock());
    wake_list served;
    for (auto* each = static_cast<sequence_waiter*>(queue_.front()); each;) {
      sequence_waiter& waiting = *detail::exchange(each, static_cast<sequence_waiter*>(each->next));
      if (!try_serve(waiting)) continue;
      queue_.take(waiting);
      count_rivals(waiting, -1);
      served.add(waiting);
    }
    state_.unlock(queue_.empty() ? nobody : waited_for);
    served.wake();
  }
  /// As wait_queue::withdraw().
  bool withdraw(sequence_waiter& waiting) noexcept {
    const std::uint32_t seen = state_.lock();
    const bool waited = queue_.withdraw(waiting);
    if (waited) count_rivals(waiting, -1);
    state_.unlock(waited && queue_.empty() ? nobody : seen);
    return waited;
  }

 private:
  static bool try_serve(sequence_waiter& one) noexcept {
    choice* const one_of = one.one_of();
    if (!one_of) return one.serve(one);
    if (!one_of->hold()) return false;
    const bool served = one.serve(one);
    one_of->settle(served);
    return served;
  }
  static void count_rivals(sequence_waiter& one, int more) noexcept {
    if (!one.rivals) return;
    const std::uint32_t count = one.rivals->load(memory_order_relaxed);                /*S4*/
    one.rivals->store(count + static_cast<std::uint32_t>(more), memory_order_relaxed); /*S4*/
  }
  /// A waiter whose choice was lost does not count: otherwise those behind it might never be served.
  bool has_rival(const sequence_waiter& arriving) const noexcept {
    if (!arriving.rivals || arriving.rivals->load(memory_order_relaxed) == 0) return false; /*S4*/
    auto* each = static_cast<const sequence_waiter*>(queue_.front());
    while (each && (each->rivals != arriving.rivals || each->is_lost())) {
      each = static_cast<const sequence_waiter*>(each->next);
    }
    return each;
  }

  // nobody: queue_ is empty; waited_for: it is not. Both change only under the lock.
  // S1 to S3 and the loads of the numbers under the lock are seq_cst: they have a single total order. A
  // waiter locks and then loads the numbers; a publisher stores a number and then checks for waiters, and a
  // held lock means that there may be one. Whichever of S3 and S1 comes second is followed by a load that
  // sees the other. The last of several publishers sees the waiter or is seen by it; under the lock it sees
  // the numbers of all. S1, the publication, and the looks are the owner's: N3 and N2, or P1 and P2 of
  // multi_producer_sequencer.
  //   [S2] look for waiters   seq_cst  comes after S1
  //   [S3] lock, to wait      seq_cst  comes before the look at the numbers; else as B1
  //   [S4] count of rivals    relaxed  under the lock; others take it as a hint
  static constexpr std::uint32_t nobody = 0, waited_for = 2;
  locked_word<std::uint32_t> state_{nobody};
  wait_queue queue_;
};

/// Base of an awaiter that waits for numbers. `Operation` has try_now() as for stoppable_wait; serve(), the
/// same with the lock of the waiters held; and waiters() and rivals(), which return where it waits.
template <class Operation>
class waits_for_sequence : public stoppable_wait<Operation, sequence_waiter> {
 public:
  /// Wakes the coroutine on `place`, if it has to wait and is not cancelled. Called before the await.
  void wake_on(executor& place) noexcept { place_ = &place; }
  /// After the await: returns true if it had to wait.
  [[nodiscard]] bool has_waited() const noexcept { return has_waited_; }

 protected:
  waits_for_sequence() noexcept {}

 private:
  friend stoppable_wait<Operation, sequence_waiter>;
  Operation& operation() noexcept { return static_cast<Operation&>(*this); }

  bool enqueue() noexcept {
    sequence_waiter& self = this->node();
    self.serve = [](sequence_waiter& one) noexcept { return waits_for_sequence::operation_of(one).serve(); };
    self.rivals = operation().rivals();
    home_ = self.home;
    if (place_) self.home = place_;
    has_waited_ = true;  // before others can see it
    if (operation().waiters().add(self)) return true;
    has_waited_ = false;
    return false;
  }
  bool withdraw() noexcept {
    if (!operation().waiters().withdraw(this->node())) return false;
    this->node().home = home_;
    return true;
  }

  executor* place_ = nullptr;  // null: home_
  plain<executor*> home_;      // where it suspended
  plain<bool> has_waited_ = false;
};

/// Awaits a number of `Numbers` and returns the last one published, which may be later.
template <class Numbers, class Sequence, class Traits>
class [[nodiscard("nothing waits until this is awaited")]] sequence_wait
    : public waits_for_sequence<sequence_wait<Numbers, Sequence, Traits>> {
 public:
  sequence_wait(const Numbers& numbers, Sequence wanted, Sequence published) noexcept
      : numbers_(numbers), target_(wanted), known_(published) {}

  Sequence await_resume() {
    this->finish();
    return is_unknown() ? numbers_.last_published_after(target_) : known_;
  }

 protected:
  /// For an operation that waits for another number at each await: called in its await_ready().
  void wait_for(Sequence wanted, Sequence published) noexcept {
    target_ = wanted;
    known_ = published;
  }

 private:
  friend stoppable_wait<sequence_wait, sequence_waiter>;
  friend waits_for_sequence<sequence_wait>;
  bool is_unknown() const noexcept { return Traits::precedes(known_, target_); }
  bool try_now() noexcept {
    if (is_unknown()) known_ = numbers_.last_published_after(known_);
    return !is_unknown();
  }
  bool serve() const noexcept { return numbers_.is_published(target_, known_); }
  sequence_waiters& waiters() const noexcept { return numbers_.waiters(); }
  atomic<std::uint32_t>* rivals() const noexcept { return nullptr; }

  const Numbers& numbers_;
  Sequence target_;
  Sequence known_;  // published when it last looked
};

/// Moves to a scheduler after the wait. The wait's result must not be lost, so the move is not cancellable
/// and does not allocate.
template <class Wait, class Scheduler>
task<await_result_t<Wait>> wait_then_schedule(Wait wait, Scheduler& place) {
  const auto result = co_await wait;
  if (wait.has_waited()) {
    co_await out_of_reach();
    co_await place.schedule();
  }
  co_return result;
}
/// `wait`, followed by a move to `place`; if the scheduler is an executor, that is just another home.
template <class Wait, class Scheduler>
CORACLE_CORO_WRAPPER()
auto wait_then_go_to(Scheduler& place, Wait wait) {
  if constexpr (std::is_convertible_v<Scheduler*, executor*>) {
    wait.wake_on(place);
    return wait;
  } else {
    return wait_then_schedule<Wait, Scheduler>(std::move(wait), place);
  }
}
}  // namespace detail

/// Publishes the progress of a producer, or of a pipeline stage, as a sequence number; others wait for a
/// number. The cursor into a ring buffer, as in the LMAX Disruptor (Thompson et al., "Disruptor", 2011).
///
///     coracle::sequence_barrier<> barrier;
///     const std::size_t last = co_await barrier.wait_until_published(3);  // 3 or later
///     barrier.publish(3);                                                 // in another coroutine
///
/// Prefer a channel if the elements need not stay in place between the stages.
/// Order         publish() wakes waiters first come, first served.
/// Resumes on    the executor on which the waiter suspended; outside any executor, inside publish(), on its
///               thread.
/// Cancellation  a stop request ends the wait. Even with a scheduler, the cancelled coroutine continues where
///               it suspended.
/// Exceptions    the await: operation_cancelled, and those of a scheduler that is passed in.
/// Threads       publish() from one at a time, the rest from any. It outlives its waiters and each call of
///               publish(), which touches nothing of it from its first wake-up on.
/// Cost          128 bytes; no allocation. publish(): one sequentially consistent store, and a lock if
///               coroutines wait; a wait for a published number is one load.
template <std::integral Sequence = std::size_t, class Traits = sequence_traits<Sequence>>
class sequence_barrier {
 public:
  using wait_operation = detail::sequence_wait<sequence_barrier, Sequence, Traits>;

  sequence_barrier() noexcept : sequence_barrier(Traits::initial_sequence) {}
  explicit sequence_barrier(Sequence initial_sequence) noexcept : last_published_{initial_sequence, {}} {}
  sequence_barrier(const sequence_barrier&) = delete;
  sequence_barrier& operator=(const sequence_barrier&) = delete;
  /// Requires: no coroutine is waiting.
  ~sequence_barrier() {
    CORACLE_REQUIRE(
        !waiters_.value.any(),
        "a sequence_barrier was destroyed while coroutines wait for it: stop and join them first");
  }

  /// Returns the last published number; it and all before it are published, and what was written before that
  /// is visible.
  [[nodiscard]] Sequence last_published() const noexcept {
    return last_published_.value.load(detail::memory_order_acquire); /*N1*/
  }
  /// Awaitable of the last number published, which does not precede `target`.
  wait_operation wait_until_published(Sequence target) const noexcept {
    return {*this, target, detail::earlier_by(target, 1)};
  }
  /// The same; if it had to wait, the coroutine resumes on `place`, which must outlive the await.
  template <scheduler Scheduler>
  CORACLE_CORO_WRAPPER()
  auto wait_until_published(Sequence target, Scheduler& place) const {
    return detail::wait_then_go_to(place, wait_until_published(target));
  }

  /// Publishes `sequence` and all numbers before it. Requires: it does not precede last_published().
  void publish(Sequence sequence) noexcept {
    CORACLE_CHECK(!Traits::precedes(sequence, last_published_.value.load(detail::memory_order_relaxed)),
                  "sequence_barrier::publish() of a number before the last one");
    last_published_.value.store(sequence, detail::memory_order_seq_cst); /*N3*/
    if (waiters_.value.any()) waiters_.value.serve();
  }

 private:
  friend wait_operation;
  template <std::integral, class>
  friend class multi_producer_sequencer;
  Sequence last_published_after(Sequence) const noexcept { return last_published(); }
  /// For a waiter, with the lock of the waiters held.
  Sequence last_published_now() const noexcept {
    return last_published_.value.load(detail::memory_order_seq_cst); /*N2*/
  }
  bool is_published(Sequence target, Sequence) const noexcept {
    return !Traits::precedes(last_published_now(), target);
  }
  detail::sequence_waiters& waiters() const noexcept { return waiters_.value; }

  // Written only by the publisher; the adjacent cache line also by waiters.
  //   [N1] look           acquire  see what was written before it was published            pairs with N3
  //   [N2] look, to wait  seq_cst  the same, after S3 of sequence_waiters                  pairs with N3
  //   [N3] publish        seq_cst  publish what was written; it is S1 of sequence_waiters  pairs with N1, N2
  detail::spaced<detail::atomic<Sequence>> last_published_;
  mutable detail::spaced<detail::sequence_waiters> waiters_{};
};
}  // namespace coracle
