// coracle/channels/detail/paired_ring.hpp -- a ring that one sender and one receiver use without a lock.
// SPDX-License-Identifier: MIT
#pragma once
#include <time.h>

#include <coracle/base/asymmetric_fence.hpp>
#include <coracle/base/check.hpp>
#include <coracle/base/locked_word.hpp>
#include <coracle/channels/detail/channel_buffer.hpp>
#include <coracle/channels/detail/guarded_buffer.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

namespace coracle::detail {
/// A queue of at most `capacity` elements, in place of a ring_buffer. While nobody waits, its two ends are
/// *apart*: one belongs to the sender, the other to the receiver, and using them takes no atomic
/// read-modify-write. Otherwise the ends are *joined*: the lock guards both, as it guards a ring_buffer.
//
// The state, which is the channel's word, is 0 while the ends are apart. The user of an end marks it as in
// use, executes the light fence, then reads the state. A thread that locks a state of 0 changes the state,
// executes the heavy fence, then reads the ends. So either the user sees the new state and leaves the end, or
// the locker sees that the end is in use and waits for a few instructions until it is not. The light fence is
// free; the heavy one takes 100 ns to a few us. So it is used only if a coroutine has to wait, and the ends
// then stay joined for as many operations as amortise it.
//
// `moved` of an end is twice the number of elements that went through it, plus 1 while it is in use and
// apart. The store that passes an element on also ends the use, and is the user's last access to the channel,
// which may be destroyed then. The fields of an end are used by its owner and, while the owner waits, under
// the lock by the thread that serves and then wakes it.
//   [P1] even -> odd          release  publishes what was moved before; P2 follows   pairs with P4
//   [P2] the state            relaxed  only decides; a light fence after P1          meets P6
//   [P3] moved on             release  the element is in its slot, or out of it      pairs with P4
//   [P4] the other end        acquire  those elements are there, or slots free       pairs with P1, P3, P5
//   [P5] odd -> even          release  publishes what was moved before               pairs with P4
//   [P6] until it is even     relaxed  only decides; a heavy fence after the change  meets P2
//   [P7] its own end, a read  relaxed  nobody else writes to it; other readers read again
template <class T>
class paired_ring {
 public:
  /// Throws std::bad_alloc.
  explicit paired_ring(std::size_t capacity)
      : slots_(capacity ? new slot<T>[capacity] : nullptr), capacity_(capacity) {}
  paired_ring(const paired_ring&) = delete;
  paired_ring& operator=(const paired_ring&) = delete;
  ~paired_ring() {
    while (!empty()) static_cast<void>(pop());
  }

  // ---- for the caller's own end, or under the lock ----

  [[nodiscard]] std::size_t capacity() const noexcept { return capacity_; }
  [[nodiscard]] bool empty() noexcept {
    if (front_.used() != front_.known) [[likely]]
      return false;
    front_.look_at(back_);
    return front_.used() == front_.known;
  }
  [[nodiscard]] bool full() noexcept {
    if (back_.used() - back_.known < 2 * capacity_) [[likely]]
      return false;
    back_.look_at(front_);
    return back_.used() - back_.known == 2 * capacity_;
  }
  /// Requires: not full. Also leaves the back end.
  void push(T&& value) noexcept {
    slots_[back_.next].put(std::move(value));
    back_.move_on(capacity_);
  }
  /// Takes the oldest. Requires: not empty. Also leaves the front end.
  T pop() noexcept {
    T taken = slots_[front_.next].take();
    front_.move_on(capacity_);
    return taken;
  }

  // ---- while the ends are apart ----

  /// Returns true if the caller now owns the end, until push() or leave_back(); false if the ends are joined.
  template <class Word>
  [[nodiscard]] bool enter_back(const locked_word<Word>& state) noexcept {
    return back_.enter(state, fence_);
  }
  template <class Word>
  [[nodiscard]] bool enter_front(const locked_word<Word>& state) noexcept {
    return front_.enter(state, fence_);
  }
  void leave_back() noexcept { back_.leave(); }
  void leave_front() noexcept { front_.leave(); }

  // ---- under the lock ----

  /// Call when a state of 0 has been locked.
  CORACLE_NOINLINE() void join() noexcept {
    const std::int64_t begin = nanoseconds();
    fence_.heavy();
    const std::int64_t spent = nanoseconds() - begin;
    back_.wait_until_left();
    front_.wait_until_left();
    constexpr std::int64_t lost_by_lock = 8, most = 1024;  // lost_by_lock: per operation
    const std::int64_t worth = spent / lost_by_lock;
    joined_for_ = most_joined_ = static_cast<std::uint32_t>(worth < 1 ? 1 : worth < most ? worth : most);
  }
  /// Returns true if the ends stay joined, as they must if `needed`.
  [[nodiscard]] bool stay_joined(bool needed) noexcept {
    if (needed) {
      joined_for_ = most_joined_;
    } else if (joined_for_ != 0) {
      --joined_for_;
    }
    return joined_for_ != 0;
  }
  /// Call when a waiting sender, or receiver, is woken, perhaps from another executor than its own.
  void note_sender(bool from_elsewhere) noexcept { back_.looks_first = from_elsewhere; }
  void note_receiver(bool from_elsewhere) noexcept { front_.looks_first = from_elsewhere && capacity_ != 0; }

  // ---- for the caller's own end ----

  /// Spin on the other end for about the cost of a suspension, if its owner belongs to another executor.
  /// Return true once an element has been taken, or sent; false if none was meanwhile.
  [[nodiscard]] bool spin_while_full() noexcept { return back_.wait_for(front_); }
  [[nodiscard]] bool spin_while_empty() noexcept { return front_.wait_for(back_); }

 private:
  static std::int64_t nanoseconds() noexcept {
    if (is_modelled) return 0;
    timespec now{};
    ::clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * std::int64_t{1'000'000'000} + now.tv_nsec;
  }

  struct end {
    [[nodiscard]] std::size_t used() const noexcept {
      return moved.load(memory_order_relaxed) & ~std::size_t{1}; /*P7*/
    }
    void look_at(const end& other) noexcept {
      known = other.moved.load(memory_order_acquire) & ~std::size_t{1}; /*P4*/
    }
    void move_on(std::size_t capacity) noexcept {
      next = next + 1 == capacity ? 0 : next + 1;
      moved.store(used() + 2, memory_order_release); /*P3*/
    }
    template <class Word>
    [[nodiscard]] bool enter(const locked_word<Word>& state, const asymmetric_fence& fence) noexcept {
      const std::size_t at = moved.load(memory_order_relaxed); /*P7*/
      // An exchange in checked builds: with plain stores, two concurrent users could each miss the other's.
      if constexpr (CORACLE_CHECKS() && !is_modelled) {
        CORACLE_CHECK(at % 2 == 0 && moved.exchange(at + 1, memory_order_release) == at, /*P1*/
                      "an spsc_channel is used by two senders or two receivers at the same time");
      } else {
        moved.store(at + 1, memory_order_release); /*P1*/
      }
      fence.light();
      if (state.load(memory_order_relaxed) == 0) [[likely]] /*P2*/
        return true;
      leave();
      return false;
    }
    void leave() noexcept { moved.store(used(), memory_order_release); } /*P5*/
    void wait_until_left() const noexcept {
      for (unsigned pauses = 0; moved.load(memory_order_relaxed) % 2 != 0; ++pauses) { /*P6*/
        wait_a_moment(pauses);
      }
    }
    bool wait_for(const end& other) noexcept {
      if (!looks_first) return false;
      if (in_vain_left != 0) {
        --in_vain_left;
        return false;
      }
      const unsigned pauses = pauses_a_look;
      for (unsigned waited = 0; waited < most_pauses; waited += pauses) {
        for (unsigned i = 0; i != pauses; ++i) spin_pause();
        if (const std::size_t by = other.used() - known; by != 0) {
          in_vain = 0;
          // Each look takes the cache line from the other end. So there are fewer looks if elements come in
          // batches.
          if (by == 2) {
            pauses_a_look = pauses / 2 + pauses % 2;
          } else if (pauses < most_pauses / 2) {
            pauses_a_look = 2 * pauses;
          }
          return true;
        }
      }
      in_vain_left = in_vain = in_vain < most_in_vain ? 2 * in_vain + 1 : most_in_vain;
      return false;
    }

    atomic<std::size_t> moved{0};
    plain<std::size_t> known = 0;       // lower bound of the other end's `moved`
    plain<std::size_t> next = 0;        // slot
    plain<bool> looks_first = false;    // spin before waiting: the other end is used by another executor
    plain<unsigned> pauses_a_look = 1;  // between looks at the other end
    plain<unsigned> in_vain = 0;        // number of failed spins in a row, after which it does not spin
    plain<unsigned> in_vain_left = 0;
  };

  // A pause takes some 40 ns on many processors; a fence up to 5 us; a wake-up on another executor 0.25 us or
  // more.
  static constexpr unsigned most_pauses = is_modelled ? 2 : 128, most_in_vain = is_modelled ? 1 : 31;

  const std::unique_ptr<slot<T>[]> slots_;
  const std::size_t capacity_;
  const asymmetric_fence fence_;
  plain<std::uint32_t> most_joined_ = is_modelled ? 1 : 64;
  plain<std::uint32_t> joined_for_ = most_joined_;
  // Padding: what both ends read, and each end, has cache lines of its own. No alignas: a channel may be in a
  // frame.
  [[maybe_unused]] std::byte before_back_[64];
  end back_;
  [[maybe_unused]] std::byte before_front_[64];
  end front_;
  [[maybe_unused]] std::byte behind_front_[64];
};
/// The same for an spsc_channel. While the word is 0 its ends are apart: each end is entered without the
/// lock.
template <class T>
class guarded_buffer<paired_ring<T>> {
 public:
  using word = channel_word::bits;

  explicit guarded_buffer(std::size_t capacity) : buffer_(capacity) {}

  /// Joins the ends if they were apart.
  [[nodiscard]] word lock() noexcept {
    const word seen = state_.lock();
    if (seen == 0) buffer_.join();
    return seen;
  }
  void unlock(word flags) noexcept {
    state_.unlock(buffer_.stay_joined(flags != 0) ? flags | channel_word::joined : flags);
  }
  [[nodiscard]] bool is_closed() const noexcept { return state_.is_closed(); }
  paired_ring<T>& buffer() noexcept { return buffer_; }
  const paired_ring<T>& buffer() const noexcept { return buffer_; }

  [[nodiscard]] word enter_back() noexcept {
    while (!buffer_.enter_back(state_)) [[unlikely]] {
      if (const word seen = state_.lock_unless_zero()) return seen;
    }
    return 0;
  }
  [[nodiscard]] word enter_front() noexcept {
    while (!buffer_.enter_front(state_)) [[unlikely]] {
      if (const word seen = state_.lock_unless_zero()) return seen;
    }
    return 0;
  }
  void leave_back() noexcept { buffer_.leave_back(); }
  void leave_front() noexcept { buffer_.leave_front(); }
  void push_and_leave(T&& value) noexcept { buffer_.push(std::move(value)); }
  T pop_and_leave() noexcept { return buffer_.pop(); }

  [[nodiscard]] bool spin_while_full() noexcept { return buffer_.spin_while_full(); }
  [[nodiscard]] bool spin_while_empty() noexcept { return buffer_.spin_while_empty(); }
  void note_sender(bool from_elsewhere) noexcept { buffer_.note_sender(from_elsewhere); }
  void note_receiver(bool from_elsewhere) noexcept { buffer_.note_receiver(from_elsewhere); }

 private:
  channel_word state_{channel_word::joined};
  paired_ring<T> buffer_;
};
}  // namespace coracle::detail
