// coracle/sync/sequence_barrier.hpp -- a number that one coroutine moves on and others wait for.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/core/executor.hpp>
#include <coracle/core/task.hpp>
#include <coracle/detail/atomic.hpp>
#include <coracle/sync/sequence_traits.hpp>
#include <cstddef>

namespace coracle {
namespace detail {
/// Keeps neighbours on other cache lines, by distance: g++ 12 does not align over-aligned objects in frames.
template <class T>
struct spaced {
  T value;
  [[maybe_unused]] char rest[64 - sizeof(T)];
};

/// A coroutine that waits until `target` and all numbers before it are published. It goes on when `met` was
/// set twice: by itself, as the last thing before it leaves await_suspend, and by whoever saw the number
/// published. So the owner of the numbers, which outlives its waiters, outlives await_suspend too.
template <class Sequence>
struct sequence_waiter : waiter {
  sequence_waiter(Sequence wanted, Sequence published) noexcept : target(wanted), known(published) {}
  /// Of one that nobody awaits yet.
  sequence_waiter(const sequence_waiter& other) noexcept
      : waiter(other), target(other.target), known(other.known) {}

  Sequence target;
  Sequence known;  ///< published when it last looked
  atomic<bool> met{false};
};

/// Those who wait for numbers. `Numbers` is their owner: is_published(target, known) tells whether all
/// numbers after `known` up to `target` are published.
template <class Sequence, class Traits>
class sequence_waiters {
 public:
  using entry = sequence_waiter<Sequence>;

  bool any() const noexcept { return newest_.load(memory_order_seq_cst) != nullptr; } /*S2*/

  /// False: its number was published meanwhile, and the coroutine goes on here.
  template <class Numbers>
  bool add(entry& self, const Numbers& numbers) noexcept {
    push(self);
    if (numbers.is_published(self.target, self.known)) wake_published(numbers);
    return !self.met.exchange(true, memory_order_acq_rel); /*S5*/
  }

  /// Touches neither this nor `numbers` after the first wake-up.
  template <class Numbers>
  CORACLE_NOINLINE()
  void wake_published(const Numbers& numbers) noexcept {
    entry* ready = nullptr;                                                 // oldest first
    while (entry* each = newest_.exchange(nullptr, memory_order_seq_cst)) { /*S3*/
      entry* rest = nullptr;                                                // oldest first
      while (each) {
        entry* const older = static_cast<entry*>(each->next);
        entry*& list = numbers.is_published(each->target, each->known) ? ready : rest;
        each->next = std::exchange(list, each);
        each = older;
      }
      if (!rest || !put_back(rest, numbers)) break;
    }
    while (ready) {
      entry* const next = static_cast<entry*>(ready->next);
      if (ready->met.exchange(true, memory_order_acq_rel)) ready->wake(); /*S5*/
      ready = next;
    }
  }

 private:
  void push(entry& one) noexcept {
    entry* newest = newest_.load(memory_order_relaxed);
    do {
      one.next = newest;
    } while (!newest_.compare_exchange_weak(newest, &one, memory_order_seq_cst, /*S4*/
                                            memory_order_relaxed));
  }
  /// True: the first number that one of them waits for was published meanwhile.
  template <class Numbers>
  bool put_back(entry* oldest, const Numbers& numbers) noexcept {
    Sequence target = oldest->target, known = oldest->known;
    while (oldest) {
      if (Traits::precedes(oldest->target, target)) {
        target = oldest->target;
        known = oldest->known;
      }
      entry* const next = static_cast<entry*>(oldest->next);
      push(*oldest);
      oldest = next;
    }
    return numbers.is_published(target, known);
  }

  // newest_ is null or the newest of a stack of waiters. The fields of an entry belong to its coroutine until
  // S4, then to whoever takes the stack; `target` and `known` do not change meanwhile.
  // S1 to S4 and the loads in is_published() are seq_cst: all of them stand in one order. A waiter pushes and
  // then looks at the numbers, a publisher stores a number and then looks for waiters: whichever of S4 and S1
  // comes second is followed by a look that sees the other. Who takes the stack looks at the numbers after
  // that, and once more after putting back those whose time has not come; so what was published while the
  // stack was in its hands, by somebody who found no waiter, is not missed either.
  //   [S1] publish a number   seq_cst  (in the owner) publish what belongs to it       pairs with the looks
  //   [S2] look for waiters   seq_cst  comes after S1
  //   [S3] take the stack     seq_cst  read the entries' fields                        pairs with S4
  //   [S4] push an entry      seq_cst  publish its fields; a look follows              pairs with S3
  //   [S5] set met            acq_rel  what either side did before is seen by the one  pairs with itself
  //                                    that comes second and continues the coroutine
  atomic<entry*> newest_{nullptr};
};

/// Awaits a number of `Numbers` and gives the last one published, which may be later.
template <class Numbers, class Sequence, class Traits>
class [[nodiscard("nothing waits until this is awaited")]] sequence_wait
    : protected sequence_waiter<Sequence> {
 public:
  sequence_wait(const Numbers& numbers, Sequence wanted, Sequence published) noexcept
      : sequence_waiter<Sequence>(wanted, published), numbers_(numbers) {}

  bool await_ready() noexcept {
    if (waits()) this->known = numbers_.last_published_after(this->known);
    return !waits();
  }
  CORACLE_NOINLINE_SUSPEND() bool await_suspend(std::coroutine_handle<> suspended) noexcept {
    executor* const place = this->home;
    this->suspend(suspended);
    if (place) this->home = place;
    return numbers_.waiters().add(*this, numbers_);
  }
  Sequence await_resume() noexcept {
    return waits() ? numbers_.last_published_after(this->target) : this->known;
  }

  /// Wakes the coroutine on `place`, if it has to wait. Called before the await.
  void wake_on(executor& place) noexcept { this->home = &place; }
  /// After the await: it had to wait.
  [[nodiscard]] bool waits() const noexcept { return Traits::precedes(this->known, this->target); }

 private:
  const Numbers& numbers_;
};

template <class Wait, class Scheduler>
task<await_result_t<Wait>> wait_then_schedule(Wait wait, Scheduler& place) {
  const auto result = co_await wait;
  if (wait.waits()) co_await place.schedule();
  co_return result;
}
/// `wait` with the way to `place` behind it; that is but another home where the scheduler is an executor.
template <class Wait, class Scheduler>
CORACLE_CORO_WRAPPER()
auto wait_then_go_to(Scheduler& place, Wait wait) {
  if constexpr (std::is_convertible_v<Scheduler*, executor*>) {
    wait.wake_on(place);
    return wait;
  } else if constexpr (std::is_same_v<decltype(place.schedule()), std::suspend_never>) {
    return wait;  // such a scheduler goes nowhere
  } else {
    return wait_then_schedule<Wait, Scheduler>(std::move(wait), place);
  }
}
}  // namespace detail

/// Says up to which sequence number a producer, or a stage of a pipeline, has come; others wait for a number.
/// The cursor into a ring buffer, as in the LMAX Disruptor (Thompson et al., "Disruptor", 2011).
///
///     coracle::sequence_barrier<> barrier;
///     const std::size_t last = co_await barrier.wait_until_published(3);  // 3 or later
///     barrier.publish(3);                                                 // in another coroutine
///
/// Prefer a channel where the elements need not stay in place between the stages.
/// Order         whom one publish() wakes, it wakes first come, first served; one that comes at the same time
///               may overtake.
/// Resumes on    the executor on which the waiter suspended; outside any, inside publish(), on its thread.
/// Cancellation  a stop request does not end the wait: the number must be published.
/// Exceptions    none, but those of a scheduler that is passed in.
/// Threads       publish() from one at a time, the rest from any. It outlives its waiters and each call of
///               publish(), which touches nothing of it from its first wake-up on.
/// Cost          128 bytes; no allocation, no lock. publish(): one locked operation, and two more for each
///               that waits; a wait for what is published is one load.
template <std::integral Sequence = std::size_t, class Traits = sequence_traits<Sequence>>
class sequence_barrier {
 public:
  using wait_operation = detail::sequence_wait<sequence_barrier, Sequence, Traits>;

  explicit sequence_barrier(Sequence initial_sequence = Traits::initial_sequence) noexcept
      : last_published_{initial_sequence, {}} {}
  sequence_barrier(const sequence_barrier&) = delete;
  sequence_barrier& operator=(const sequence_barrier&) = delete;
  /// Requires: nobody waits.
  ~sequence_barrier() {
    CORACLE_CHECK(!waiters_.value.any(), "a sequence_barrier was destroyed while coroutines wait for it");
  }

  /// It and all numbers before it are published, and what was written before that is seen.
  [[nodiscard]] Sequence last_published() const noexcept {
    return last_published_.value.load(detail::memory_order_acquire);
  }
  /// Awaitable of the last number published, which does not precede `target`.
  wait_operation wait_until_published(Sequence target) const noexcept {
    return {*this, target, detail::earlier_by(target, 1)};
  }
  /// The same; if it had to wait, the coroutine goes on on `place`, which outlives the await.
  template <scheduler Scheduler>
  CORACLE_CORO_WRAPPER()
  auto wait_until_published(Sequence target, Scheduler& place) const {
    return detail::wait_then_go_to(place, wait_until_published(target));
  }

  /// Publishes `sequence` and all numbers before it. Requires: it does not precede last_published().
  void publish(Sequence sequence) noexcept {
    CORACLE_CHECK(!Traits::precedes(sequence, last_published_.value.load(detail::memory_order_relaxed)),
                  "sequence_barrier::publish() of a number before the last one");
    last_published_.value.store(sequence, detail::memory_order_seq_cst); /*S1*/
    if (waiters_.value.any()) waiters_.value.wake_published(*this);
  }

 private:
  friend wait_operation;
  friend detail::sequence_waiters<Sequence, Traits>;
  Sequence last_published_after(Sequence) const noexcept { return last_published(); }
  bool is_published(Sequence target, Sequence) const noexcept {
    return !Traits::precedes(last_published_.value.load(detail::memory_order_seq_cst), target);
  }
  auto& waiters() const noexcept { return waiters_.value; }

  // Written by the publisher alone; the line next to it by those who wait, too.
  detail::spaced<detail::atomic<Sequence>> last_published_;
  mutable detail::spaced<detail::sequence_waiters<Sequence, Traits>> waiters_{};
};
}  // namespace coracle
