// coracle/sync/async_barrier.hpp -- a reusable meeting point for a fixed number of coroutines.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/base/exchange.hpp>
#include <coracle/core/detail/stoppable_wait.hpp>
#include <coracle/core/detail/wait_queue.hpp>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace coracle {
namespace detail {
struct nothing_to_complete {
  void operator()() const noexcept {}
};

/// The part of an async_barrier that does not depend on its completion function.
class barrier_state {
 public:
  static constexpr std::uint64_t max = 0x7fff'ffff;

  explicit barrier_state(std::uint64_t expected) noexcept : counts_(both(expected)) {}
  /// Returns true if nobody waits.
  [[nodiscard]] bool is_idle() const noexcept { return queue_.empty(); }
  /// A hint: returns true if the next arrival is the last.
  [[nodiscard]] bool one_is_missing() const noexcept {
    return pending_of(counts_.load(memory_order_relaxed)) == 1; /*A1*/
  }

  enum class arrival { refused, waits, is_last };
  /// Arrives; waits in the queue if others are still expected, unless stop was requested in the meantime.
  arrival arrive(queued_waiter& self) noexcept {
    const std::uint64_t seen = lock_to_arrive();
    const bool is_last = pending_of(seen) == 1;
    const bool arrives = is_last ? queue_.serve_at_once(self) : queue_.push(self);
    if (arrives && is_last) {
      end_phase(seen - pending_one);
      return arrival::is_last;
    }
    counts_.unlock(arrives ? seen - pending_one : seen);
    return arrives ? arrival::waits : arrival::refused;
  }
  /// Arrives if the caller is the last. Returns false if others are still expected.
  bool arrive_as_last() noexcept {
    const std::uint64_t seen = lock_to_arrive();
    const bool is_last = pending_of(seen) == 1;
    is_last ? end_phase(seen - pending_one) : counts_.unlock(seen);
    return is_last;
  }
  /// Arrives, and is no longer expected. Returns true if it was the last.
  bool drop() noexcept {
    const std::uint64_t left = lock_to_arrive() - pending_one - expected_one;
    const bool is_last = pending_of(left) == 0;
    is_last ? end_phase(left) : counts_.unlock(left);
    return is_last;
  }
  /// Withdraws the arrival, unless the phase has ended.
  bool withdraw(queued_waiter& waiting) noexcept {
    const std::uint64_t seen = counts_.lock();
    const bool waited = queue_.withdraw(waiting);
    counts_.unlock(waited ? seen + pending_one : seen);
    return waited;
  }
  /// Begins the next phase. Returns the waiters of the last one, oldest first. Only the last to arrive calls
  /// it.
  waiter* next_phase() noexcept {
    const std::uint64_t expected = counts_.lock() / expected_one;
    waiter* const first = detail::exchange(served_, nullptr);
    counts_.unlock(both(expected));
    return first;
  }

 private:
  static constexpr std::uint64_t pending_one = 2, expected_one = std::uint64_t{1} << 32;
  static constexpr std::uint64_t both(std::uint64_t n) noexcept { return n * (pending_one + expected_one); }
  static constexpr std::uint64_t pending_of(std::uint64_t counts) noexcept {
    return counts % expected_one / pending_one;
  }
  std::uint64_t lock_to_arrive() noexcept {
    const std::uint64_t seen = counts_.lock();
    CORACLE_REQUIRE(pending_of(seen) != 0,
                    "more coroutines arrived at an async_barrier than it expects: make it for all of them, "
                    "and let each arrive once a phase");
    return seen;
  }
  /// From now on no stop request cancels a waiter of this phase. Releases the lock.
  void end_phase(std::uint64_t counts) noexcept {
    served_ = queue_.take_all();
    counts_.unlock(counts);
  }

  // counts_ holds the number expected in a phase (bits 32 to 62) and the number that have yet to arrive (bits
  // 1 to 31). Both change only under the lock, so each arrival sees what all earlier ones did before they
  // arrived. From the last arrival of a phase until the first wake-up nobody else may arrive, and served_
  // belongs to the last arrival.
  //   [A1] look   relaxed  a hint: acting on it takes the lock
  locked_word<std::uint64_t> counts_;
  wait_queue queue_;
  plain<waiter*> served_ = nullptr;
};
}  // namespace detail

/// Coroutines wait at the barrier until all expected ones have arrived; then the next phase begins.
///
///     coracle::async_barrier round{3, [&]() noexcept { publish(results); }};
///     for (int i = 0; i != rounds; ++i) { work(i); co_await round.arrive_and_wait(); }  // three of these
///
/// Prefer async_latch if they meet only once, when_all if one coroutine waits for the others.
/// The completion function runs once per phase: after all have arrived and before any continues, inside the
/// last arrive_and_wait() or arrive_and_drop(), on its thread. It sees what all did before they arrived, and
/// all see what it did. It must not throw, nor arrive at this barrier.
/// Order         first come, first woken. The last to arrive does not suspend: it wakes the others, then
///               continues.
/// Resumes on    the executor on which the waiter suspended; outside any executor, inside the last arrival,
///               on its thread.
/// Cancellation  a stop request ends the wait and withdraws the arrival: the others keep waiting until the
///               caller arrives again or, if it gives up, calls arrive_and_drop(). No effect once all have
///               arrived.
/// Exceptions    the await: operation_cancelled. The members are noexcept.
/// Threads       all members are thread-safe. It may be destroyed once every await of it has ended.
/// Cost          32 bytes and the completion function; no allocation; one atomic operation to arrive.
template <class Completion = detail::nothing_to_complete>
class async_barrier {
  static_assert(std::is_nothrow_invocable_v<Completion&>,
                "the completion function of an async_barrier takes no argument and must not throw, since the "
                "others would wait forever: mark it noexcept");

 public:
  /// Requires: 0 <= expected <= max().
  explicit async_barrier(std::ptrdiff_t expected, Completion completion = Completion()) noexcept(
      std::is_nothrow_move_constructible_v<Completion>)
      : state_(static_cast<std::uint64_t>(expected)), completion_(std::move(completion)) {
    CORACLE_REQUIRE(expected >= 0 && expected <= max(),
                    "an async_barrier was made for a negative number of coroutines, or for more than max(): "
                    "give it one within that range");
  }
  async_barrier(const async_barrier&) = delete;
  async_barrier& operator=(const async_barrier&) = delete;
  /// Requires: no coroutine is waiting.
  ~async_barrier() {
    CORACLE_REQUIRE(state_.is_idle(),
                    "an async_barrier was destroyed while coroutines wait at it: stop and join them first");
  }

  [[nodiscard]] static constexpr std::ptrdiff_t max() noexcept {
    return static_cast<std::ptrdiff_t>(detail::barrier_state::max);
  }

  class arrive_operation;
  /// Awaitable of nothing: arrives, and waits until all others have. Requires: the caller is expected and has
  /// not arrived yet in this phase.
  arrive_operation arrive_and_wait() noexcept { return arrive_operation{*this}; }
  /// Arrives without waiting, and is no longer expected. Requires: as arrive_and_wait().
  void arrive_and_drop() noexcept {
    if (state_.drop()) complete();
  }

 private:
  void complete() noexcept {
    completion_();
    detail::wake_all(state_.next_phase());
  }

  detail::barrier_state state_;
  [[no_unique_address]] Completion completion_;
};

template <class Completion>
class [[nodiscard("the coroutine has not arrived at the barrier until this is awaited")]] async_barrier<
    Completion>::arrive_operation : public detail::stoppable_wait<arrive_operation> {
 public:
  explicit arrive_operation(async_barrier& barrier) noexcept : barrier_(barrier) {}
  void await_resume() { this->finish(); }

 private:
  friend detail::stoppable_wait<arrive_operation>;
  bool try_now() noexcept {
    if (!barrier_.state_.one_is_missing() || !barrier_.state_.arrive_as_last()) return false;
    barrier_.complete();
    return true;
  }
  bool enqueue() noexcept {
    const auto how = barrier_.state_.arrive(this->node());
    if (how == detail::barrier_state::arrival::is_last) barrier_.complete();
    return how == detail::barrier_state::arrival::waits;
  }
  bool withdraw() noexcept { return barrier_.state_.withdraw(this->node()); }

  async_barrier& barrier_;
};
}  // namespace coracle
