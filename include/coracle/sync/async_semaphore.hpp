// coracle/sync/async_semaphore.hpp -- a concurrency limit.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/core/detail/stoppable_wait.hpp>
#include <coracle/core/detail/wait_queue.hpp>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>

namespace coracle {
class async_semaphore;

/// An acquired permit; releases it when it leaves scope.
class [[nodiscard("an unused permit is given back at once: give it a name")]] async_semaphore_permit {
 public:
  /// Adopts a permit that the caller has acquired.
  explicit async_semaphore_permit(async_semaphore& acquired) noexcept : semaphore_(&acquired) {}
  async_semaphore_permit(async_semaphore_permit&& other) noexcept
      : semaphore_(std::exchange(other.semaphore_, nullptr)) {}
  async_semaphore_permit& operator=(async_semaphore_permit&&) = delete;
  inline ~async_semaphore_permit();

 private:
  async_semaphore* semaphore_;
};

/// A counting semaphore: a coroutine that acquires a permit suspends until one is free.
///
///     coracle::async_semaphore connections{8};
///     const auto permit = co_await connections.scoped_acquire();
///     co_await fetch(url);  // in at most eight coroutines at a time
///
/// Prefer async_mutex for a single permit that its holder releases: it checks more.
/// Order         first come, first served: permits are handed over, without barging; none is lost.
/// Resumes on    the executor on which the waiter suspended; outside any executor, inside release(), on its
///               thread.
/// Cancellation  a stop request ends the wait; no permit is taken.
/// Exceptions    the await: operation_cancelled, without a permit. The members are noexcept.
/// Threads       all members are thread-safe. The last waiter to be woken may destroy it.
/// Cost          24 bytes; no allocation; without waiters, one atomic operation to acquire, one to release.
class async_semaphore {
 public:
  /// The maximum number of free permits.
  static constexpr std::ptrdiff_t max() noexcept { return std::numeric_limits<std::ptrdiff_t>::max() / 4; }

  /// Requires: 0 <= permits <= max().
  explicit async_semaphore(std::ptrdiff_t permits) noexcept
      : state_(static_cast<std::uint64_t>(permits) * one_permit) {
    CORACLE_REQUIRE(permits >= 0,
                    "an async_semaphore was made with a negative number of permits: begin with 0 or more");
    CORACLE_REQUIRE(permits <= max(),
                    "an async_semaphore was made with more than max() permits: begin with fewer");
  }
  async_semaphore(const async_semaphore&) = delete;
  async_semaphore& operator=(const async_semaphore&) = delete;
  /// Requires: no coroutine is waiting.
  ~async_semaphore() {
    CORACLE_REQUIRE(state_.load(detail::memory_order_relaxed) != waited_for,
                    "an async_semaphore was destroyed while coroutines wait for it");
  }

  /// Acquires a permit if one is free and no coroutine is queued. If it returns true, the caller must
  /// release(). Never suspends.
  [[nodiscard("if it returns true there is a permit to release")]] bool try_acquire() noexcept;

  class acquire_operation;
  class scoped_acquire_operation;
  /// Awaitable of nothing: acquires a permit.
  acquire_operation acquire() noexcept;
  /// Awaitable of an async_semaphore_permit.
  scoped_acquire_operation scoped_acquire() noexcept;
  /// Releases `n` permits, to the first waiters first. Requires: n >= 0, and max() is not exceeded.
  void release(std::ptrdiff_t n = 1) noexcept;

 private:
  bool enqueue(detail::queued_waiter& arriving) noexcept;
  bool withdraw(detail::queued_waiter& waiting) noexcept;
  void hand_over(std::uint64_t permits, std::uint64_t begun) noexcept;

  // The number of free permits, in units of one_permit; or waited_for: none is free, and queue_ has waiters.
  // It changes only under its lock. While permits are free, queue_ holds only waiters whose choice was lost.
  //   [P1] load  relaxed  a load before B3, to avoid taking the lock if there is no permit
  static constexpr std::uint64_t waited_for = 2, one_permit = 4, too_many = std::uint64_t{1} << 63;
  static constexpr const char* exceeded =
      "release() of more permits than an async_semaphore can have: release each that was acquired once";
  detail::exchanged_word<std::uint64_t> state_;
  detail::wait_queue queue_;
};

class [[nodiscard("no permit is taken until this is awaited")]] async_semaphore::acquire_operation
    : public detail::stoppable_wait<acquire_operation> {
 public:
  explicit acquire_operation(async_semaphore& semaphore) noexcept : semaphore_(semaphore) {}
  using stoppable_wait::try_at_once;
  void await_resume() { finish(); }

 protected:
  async_semaphore& semaphore_;

 private:
  friend stoppable_wait;
  bool try_now() noexcept { return semaphore_.try_acquire(); }
  bool enqueue() noexcept { return semaphore_.enqueue(node()); }
  bool withdraw() noexcept { return semaphore_.withdraw(node()); }
};
class [[nodiscard("no permit is taken until this is awaited")]] async_semaphore::scoped_acquire_operation
    : public acquire_operation {
 public:
  using acquire_operation::acquire_operation;
  async_semaphore_permit await_resume() {
    finish();
    return async_semaphore_permit{semaphore_};
  }
};

inline async_semaphore_permit::~async_semaphore_permit() {
  if (semaphore_) semaphore_->release();
}
inline async_semaphore::acquire_operation async_semaphore::acquire() noexcept {
  return acquire_operation{*this};
}
inline async_semaphore::scoped_acquire_operation async_semaphore::scoped_acquire() noexcept {
  return scoped_acquire_operation{*this};
}

inline bool async_semaphore::try_acquire() noexcept {
  if (state_.load_unlocked(detail::memory_order_relaxed) < one_permit) return false; /*P1*/
  const std::uint64_t seen = state_.lock();
  const bool has_one = seen >= one_permit;
  state_.unlock(has_one ? seen - one_permit : seen);
  return has_one;
}

/// Returns false if it took a permit instead, or if stop is requested.
inline bool async_semaphore::enqueue(detail::queued_waiter& arriving) noexcept {
  const std::uint64_t seen = state_.lock();
  if (seen >= one_permit) {
    state_.unlock(queue_.serve_at_once(arriving) ? seen - one_permit : seen);
    return false;
  }
  const bool waits = queue_.push(arriving);
  state_.unlock(waits ? waited_for : seen);
  return waits;
}

inline bool async_semaphore::withdraw(detail::queued_waiter& waiting) noexcept {
  const std::uint64_t seen = state_.lock();
  const bool waited = queue_.withdraw(waiting);
  state_.unlock(seen == waited_for && queue_.empty() ? 0 : seen);
  return waited;
}

inline void async_semaphore::release(std::ptrdiff_t n) noexcept {
  CORACLE_REQUIRE(n >= 0,
                  "release() of a negative number of permits of an async_semaphore: release 0 or more");
  CORACLE_REQUIRE(n <= max(), exceeded);
  const std::uint64_t permits = static_cast<std::uint64_t>(n) * one_permit;
  const std::uint64_t seen = state_.begin_lock();
  // One test, which includes the bit that is set only above max() permits.
  if (((seen + permits) & (state_.lock_bit | waited_for | too_many)) != 0) return hand_over(permits, seen);
  state_.unlock(seen + permits);
}

CORACLE_NOINLINE()
inline void async_semaphore::hand_over(std::uint64_t permits, std::uint64_t begun) noexcept {
  permits += state_.end_lock(begun) & ~waited_for;
  CORACLE_REQUIRE(permits < too_many, exceeded);
  detail::wake_list served;
  for (; permits >= one_permit; permits -= one_permit) {
    detail::queued_waiter* const each = queue_.claim();
    if (!each) break;
    served.add(*each);
  }
  state_.unlock(permits != 0 || queue_.empty() ? permits : waited_for);
  served.wake();
}
}  // namespace coracle
