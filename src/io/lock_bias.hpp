// src/io/lock_bias.hpp -- the thread that runs a loop alone does without the locks of the loop's backend.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/base/asymmetric_fence.hpp>
#include <coracle/base/atomic.hpp>
#include <coracle/base/park.hpp>
#include <coracle/base/small_mutex.hpp>
#include <coracle/base/thread_state.hpp>
#include <cstdint>

namespace coracle::detail {
/// A bias of any number of locks towards one thread, their owner. Each access to what the locks guard is a
/// `use`. While only the owner has uses, they need none of the locks; the first use of another thread ends
/// that, by a fence on every thread (asymmetric_fence).
///
///     const lock_bias::use mine{bias};
///     const biased_lock lock{mutex, mine};
///
/// The owner claims the bias again after some polls, so that programs whose other threads use the loop all
/// the time pay for few fences. Once several threads run the loop, nobody claims it any more.
/// Source: D. Dice, M. Moir, W. Scherer, "Quickly reacquirable locks", 2003.
//
// The owner marks a use without locks in owner_inside_ and then reads word_; another thread counts itself in
// word_ and then reads owner_inside_. The fences guarantee that one of them sees the other.
//   word_: `claimed`, `shared`, and `one_more` for each other thread inside a use.
//   [W1] + one_more        acquire  sees what the owner did before it lost the claim    pairs with W3
//   [W2] - one_more        release  publishes what this thread did                      pairs with W4
//   [W3] claimed -> not    release  publishes what the owner did                        pairs with W1, W6
//   [W4] 0 -> claimed      acquire  sees what other threads did                         pairs with W2
//   [W5] load              relaxed  claimed and nothing else: the owner's own W4, and I1 comes before it
//   [W6] load              acquire  shared, not claimed: sees what the owner did        pairs with W3
//   [W7] + shared          relaxed  the owner or another thread acts on it, at its next use
//   [I1] inside -> true    relaxed  a light fence follows, then W5
//   [I2] load              acquire  after a heavy fence: sees what the owner did        pairs with I3
//   [I3] inside -> false   release  publishes what the owner did                        pairs with I2
//   [O1] owner, any        relaxed  a thread finds itself only if it has stored itself
class lock_bias {
 public:
  /// One access, or several, to what the locks guard. Not nested.
  class use {
   public:
    /// `calls_system`: the owner takes the locks, too, so that no other thread waits for the call, except for
    /// the same lock.
    explicit use(lock_bias& bias, bool calls_system = false) noexcept
        : bias_(bias), kind_(bias.enter(calls_system)) {}
    use(const use&) = delete;
    use& operator=(const use&) = delete;
    ~use() {
      if (kind_ == kind::alone) {
        bias_.owner_inside_.store(false, memory_order_release); /*I3*/
      } else if (kind_ == kind::counted) {
        bias_.word_.fetch_sub(one_more, memory_order_release); /*W2*/
      }
    }
    /// Returns true if the locks are not needed: this thread is the owner, and no other has a use.
    [[nodiscard]] bool is_alone() const noexcept { return kind_ == kind::alone; }

   private:
    friend lock_bias;
    enum class kind : std::uint8_t { alone, locks, counted };
    lock_bias& bias_;
    const kind kind_;
  };

  // Of the following, one is called at a time: the loop's lock is held.

  /// Makes the calling thread the owner, unless another thread has a use, or one has ended an earlier claim
  /// a few polls ago. Requires: it is the only thread that runs the loop, and calls release() before another
  /// calls this.
  void claim() noexcept {
    if (word_.load(memory_order_relaxed) == claimed || !fence_.is_free()) return; /*W5*/
    if (polls_left_ != 0) {
      --polls_left_;
      return;
    }
    polls_left_ = polls_between_claims;
    std::uint32_t expected = 0;
    if (!word_.compare_exchange_strong(expected, claimed, memory_order_acquire, memory_order_relaxed)) /*W4*/
      return;
    owner_.store(&this_thread(), memory_order_relaxed); /*O1*/
  }
  /// The owner leaves the loop. Has no effect if the calling thread is not the owner.
  void release() noexcept {
    if (!is_owner()) return;
    owner_.store(nullptr, memory_order_relaxed);                                           /*O1*/
    if ((word_.fetch_and(~claimed, memory_order_release) & claimed) != 0) polls_left_ = 0; /*W3*/
  }
  /// Several threads run the loop: from now on nobody claims the bias, and an owner takes the locks.
  void share() noexcept {
    if ((word_.load(memory_order_relaxed) & shared) == 0) word_.fetch_or(shared, memory_order_relaxed); /*W7*/
  }

 private:
  static constexpr std::uint32_t claimed = 1, shared = 2, one_more = 4;
  static constexpr std::uint32_t polls_between_claims = is_modelled ? 0 : 64;

  [[nodiscard]] bool is_owner() const noexcept {
    return owner_.load(memory_order_relaxed) == &this_thread(); /*O1*/
  }
  use::kind enter(bool calls_system) noexcept {
    if (!is_owner()) return enter_as_other();
    if (calls_system) return use::kind::locks;
    owner_inside_.store(true, memory_order_relaxed); /*I1*/
    asymmetric_fence::light_where_free();
    if (word_.load(memory_order_relaxed) == claimed) [[likely]] /*W5*/
      return use::kind::alone;
    owner_inside_.store(false, memory_order_release); /*I3*/
    return use::kind::locks;
  }
  CORACLE_NOINLINE() use::kind enter_as_other() noexcept {
    if (!fence_.is_free()) return use::kind::locks;
    if ((word_.load(memory_order_acquire) & (claimed | shared)) == shared) /*W6*/
      return use::kind::locks;
    if ((word_.fetch_add(one_more, memory_order_acquire) & claimed) != 0) end_claim(); /*W1*/
    return use::kind::counted;
  }
  CORACLE_COLD() void end_claim() noexcept {
    fence_.heavy();
    for (unsigned tries = 0; owner_inside_.load(memory_order_acquire); ++tries) wait_a_moment(tries); /*I2*/
    word_.fetch_and(~claimed, memory_order_release);                                                  /*W3*/
  }

  const asymmetric_fence fence_;
  atomic<std::uint32_t> word_{0};
  atomic<bool> owner_inside_{false};
  atomic<const thread_state*> owner_{nullptr};
  plain<std::uint32_t> polls_left_ = 0;  // belongs to the loop's lock
};

/// Holds a lock, unless a use of it is alone.
class biased_lock {
 public:
  biased_lock(small_mutex& lock, const lock_bias::use& by) noexcept
      : mutex_(by.is_alone() ? nullptr : &lock) {
    if (mutex_) mutex_->lock();
  }
  biased_lock(const biased_lock&) = delete;
  biased_lock& operator=(const biased_lock&) = delete;
  ~biased_lock() {
    if (mutex_) mutex_->unlock();
  }

 private:
  small_mutex* const mutex_;
};
}  // namespace coracle::detail
