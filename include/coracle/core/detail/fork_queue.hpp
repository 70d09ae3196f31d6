// coracle/core/detail/fork_queue.hpp -- the work-stealing stack of a thread, newest first for its owner.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/base/asymmetric_fence.hpp>
#include <coracle/core/executor.hpp>
#include <cstddef>
#include <cstdint>

namespace coracle::detail {
/// A double-ended queue: its owner puts entries in and takes the newest back, others take the oldest. The owner pays
/// for no fence, and for a compare-and-swap only where others have been and left one entry. When there are `capacity`,
/// newer ones are not for others.
/// Source: D. Chase, Y. Lev, "Dynamic circular work-stealing deque", SPAA 2005, with a lighter fence for the owner.
class fork_queue {
 public:
  static constexpr std::size_t capacity = is_modelled ? 3 : 256;

  /// What is taken from it belongs to `place`. An entry that is put in calls for help where `counts` says that somebody
  /// sleeps and nobody searches: where it is below `one_searching`, and not 0.
  fork_queue(executor& place, const atomic<std::uint32_t>& counts, std::uint32_t one_searching) noexcept
      : place_(place), counts_(counts), only_asleep_(one_searching - 1) {}
  fork_queue(const fork_queue&) = delete;
  fork_queue& operator=(const fork_queue&) = delete;

  [[nodiscard]] const executor* place() const noexcept { return &place_; }

  // ---- the owner ----

  /// The calling thread owns it from here on.
  void enter_thread() noexcept {
    this_thread().forks = this;
    this_thread().forks_for = &place_;
  }
  /// The calling thread owns none.
  static void leave_thread() noexcept {
    this_thread().forks = nullptr;
    this_thread().forks_for = &no_executor;
  }

  CORACLE_ALWAYS_INLINE() void push(resumption& item) noexcept {
    const std::size_t bottom = bottom_.load(memory_order_relaxed); /*F7*/
    if (bottom >= fast_below_) [[unlikely]]
      return push_slowly(item);
    slots_[bottom % capacity].store(&item, memory_order_relaxed); /*F7*/
    publish(bottom + 1);
  }
  /// Returns true if `item` was the newest entry, which the owner has back.
  CORACLE_ALWAYS_INLINE() bool take_back(const resumption& item) noexcept {
    return take_back_fast(item) != nowhere || take_back_slowly(item);
  }
  /// As take_back(), if that takes few instructions: gives where `item` was, for push_again(). `nowhere`: it was not the
  /// newest, or take_back() is to be asked.
  static constexpr std::size_t nowhere = 0;  // where the first filler was
  CORACLE_ALWAYS_INLINE() std::size_t take_back_fast(const resumption& item) noexcept {
    if (fast_below_ == 0) [[unlikely]]
      return nowhere;
    const std::size_t newest = bottom_.load(memory_order_relaxed) - 1;              /*F7*/
    if (slots_[newest % capacity].load(memory_order_relaxed) != &item) [[unlikely]] /*F7*/
      return nowhere;
    bottom_.store(newest, memory_order_release); /*F3*/
    asymmetric_fence::light_where_free();
    if (is_above(top_.load(memory_order_relaxed), newest)) [[unlikely]] /*F10*/
      return put_last_back(newest);
    return newest;
  }
  /// As push() of the entry that was taken back from there. Requires: nothing else was done to the queue since.
  CORACLE_ALWAYS_INLINE() void push_again(std::size_t where) noexcept { publish(where + 1); }
  /// As push(), unless the ring is full: then false.
  CORACLE_ALWAYS_INLINE() bool push_if_room(resumption& item) noexcept {
    if (bottom_.load(memory_order_relaxed) >= fast_below_ && is_full()) [[unlikely]] /*F7*/
      return false;
    push(item);
    return true;
  }
  /// Where the next entry goes: changes with each that is put in or taken back.
  [[nodiscard]] std::size_t depth() const noexcept { return bottom_.load(memory_order_relaxed); } /*F7*/
  /// True: nothing was put in since seems_empty() or take_back() found nothing, or all of it is gone.
  [[nodiscard]] bool is_known_empty() const noexcept { return depth() == empty_at_; }
  /// False: take_back() would give one. True: it would not.
  [[nodiscard]] bool seems_empty() noexcept {
    const std::size_t bottom = bottom_.load(memory_order_relaxed);                              /*F7*/
    if (not_shared_ || (slots_[(bottom - 1) % capacity].load(memory_order_relaxed) != filler && /*F7*/
                        bottom != top_.load(memory_order_relaxed)))                             /*F7*/
      return false;
    empty_at_ = bottom;
    return true;
  }
  /// The newest entry; null: there is none.
  resumption* take_back() noexcept {
    if (not_shared_) [[unlikely]]
      return std::exchange(not_shared_, not_shared_->next);
    const std::size_t newest = bottom_.load(memory_order_relaxed) - 1;                     /*F7*/
    resumption* const item = slots_[newest % capacity].load(memory_order_relaxed);         /*F7*/
    const bool is_entry = item != filler && newest + 1 != top_.load(memory_order_relaxed); /*F7*/
    if (is_entry && take_back_at(newest)) [[likely]]
      return item;
    empty_at_ = newest + 1;
    return nullptr;
  }

  /// How far it is filled.
  struct level {
    std::size_t bottom;
    const resumption* not_shared;
  };
  [[nodiscard]] level filled() const noexcept {
    return {bottom_.load(memory_order_relaxed), not_shared_}; /*F7*/
  }
  /// The newest entry that was put in since then; null: there is none.
  resumption* take_back_above(level mark) noexcept {
    const level now = filled();
    return now.bottom != mark.bottom || now.not_shared != mark.not_shared ? take_back() : nullptr;
  }
  /// The oldest entry in the ring; null: there is none.
  resumption* take_oldest() noexcept { return take_oldest_below(bottom_.load(memory_order_relaxed)); } /*F7*/
  /// The same, of those that were there when depth() was `depth`.
  CORACLE_COLD() resumption* take_oldest_below(std::size_t depth) noexcept {
    fast_below_ = 0;
    std::size_t top = top_.load(memory_order_relaxed);                                    /*F6*/
    while (!is_above(top, depth) && !is_above(top, bottom_.load(memory_order_relaxed))) { /*F7*/
      resumption* const item = slots_[top % capacity].load(memory_order_relaxed);         /*F7*/
      if (top_.compare_exchange_strong(top, top + 1, memory_order_relaxed)) {             /*F5*/
        if (item != filler) return item;
        ++top;
      }
    }
    return nullptr;
  }
  /// For a coroutine that has to wait on its thread for a child: runs something of the pool's that is not its parent's,
  /// nor that of a parent further up, as those in turn would wait for it. Those are the entries below `mark`, which was
  /// read when the wait began. False: there is nothing.
  virtual bool run_other_work(level mark) noexcept = 0;

  // ---- everybody ----

  /// The oldest entry; null: there is none, or somebody else was faster.
  resumption* steal() noexcept {
    std::size_t top = top_.load(memory_order_relaxed);             /*F6*/
    const std::size_t bottom = bottom_.load(memory_order_acquire); /*F2*/
    if (has_none(top, bottom)) return nullptr;
    if (slots_[top % capacity].load(memory_order_relaxed) == filler) {                             /*F7*/
      if (!top_.compare_exchange_strong(top, top + 1, memory_order_release, memory_order_relaxed)) /*F4*/
        return nullptr;
      ++top;
    }
    fence_.heavy();
    if (is_above(top, bottom_.load(memory_order_acquire))) return nullptr;                        /*F2*/
    resumption* const item = slots_[top % capacity].load(memory_order_relaxed);                   /*F7*/
    return top_.compare_exchange_strong(top, top + 1, memory_order_release, memory_order_relaxed) /*F4*/
               ? item
               : nullptr;
  }
  /// Of what was put in before a light fence that comes before the caller's heavy one.
  [[nodiscard]] bool is_empty() const noexcept {
    return has_none(top_.load(memory_order_relaxed), bottom_.load(memory_order_relaxed)); /*F6*/
  }

 protected:
  ~fork_queue() = default;

 private:
  // What is rare is out of line, and saves the registers itself.
  virtual void call_for_help() noexcept = 0;
  CORACLE_SAVES_REGISTERS() void have_help_called() noexcept { call_for_help(); }
  CORACLE_ALWAYS_INLINE() void publish(std::size_t bottom) noexcept {
    bottom_.store(bottom, memory_order_release); /*F1*/
    asymmetric_fence::light_where_free();
    call_where_only_sleepers();
  }
  CORACLE_ALWAYS_INLINE() void call_where_only_sleepers() noexcept {
    const std::uint32_t counts = counts_.load(memory_order_relaxed); /*F8*/
    if (counts - 1 < only_asleep_) [[unlikely]]
      have_help_called();
  }
  [[nodiscard]] bool is_full() const noexcept {
    const std::size_t top = top_.load(memory_order_acquire);                    /*F9*/
    return not_shared_ || bottom_.load(memory_order_relaxed) - top >= capacity; /*F7*/
  }
  CORACLE_SAVES_REGISTERS() void push_slowly(resumption& item) noexcept {
    std::size_t bottom = bottom_.load(memory_order_relaxed); /*F7*/
    const std::size_t top = top_.load(memory_order_acquire); /*F9*/
    if (not_shared_ || bottom - top >= capacity) {
      fast_below_ = 0;
      item.next = std::exchange(not_shared_, &item);
      return;
    }
    if (fence_.is_free()) fast_below_ = top + capacity;
    if (bottom == top) slots_[bottom++ % capacity].store(filler, memory_order_relaxed); /*F7*/
    slots_[bottom % capacity].store(&item, memory_order_relaxed);                       /*F7*/
    bottom_.store(bottom + 1, memory_order_release);                                    /*F1*/
    fence_.light();
    call_where_only_sleepers();
  }
  CORACLE_SAVES_REGISTERS() bool take_back_slowly(const resumption& item) noexcept {
    if (not_shared_) {
      if (not_shared_ != &item) return false;
      not_shared_ = item.next;
      return true;
    }
    const std::size_t newest = bottom_.load(memory_order_relaxed) - 1;      /*F7*/
    return slots_[newest % capacity].load(memory_order_relaxed) == &item && /*F7*/
           take_back_at(newest);
  }
  /// No entry is left between them: the owner may have taken the last one before it sees that it was stolen.
  static bool is_above(std::size_t top, std::size_t bottom) noexcept {
    return static_cast<std::ptrdiff_t>(bottom) <= static_cast<std::ptrdiff_t>(top);
  }
  /// There is no entry between them, but perhaps a filler.
  [[nodiscard]] bool has_none(std::size_t top, std::size_t bottom) const noexcept {
    return is_above(top, bottom) ||
           (bottom - top == 1 && slots_[top % capacity].load(memory_order_relaxed) == filler); /*F7*/
  }
  /// It may be the last: take_back_slowly() meets the thieves there.
  CORACLE_ALWAYS_INLINE() std::size_t put_last_back(std::size_t newest) noexcept {
    bottom_.store(newest + 1, memory_order_release); /*F1*/
    fast_below_ = 0;
    return nowhere;
  }
  bool take_back_at(std::size_t newest) noexcept {
    bottom_.store(newest, memory_order_release); /*F3*/
    fence_.light();
    const std::size_t top = top_.load(memory_order_relaxed); /*F10*/
    return !is_above(top, newest) || take_last_back(top, newest);
  }
  CORACLE_SAVES_REGISTERS() bool take_last_back(std::size_t top, std::size_t newest) noexcept {
    const bool mine =
        top == newest && top_.compare_exchange_strong(top, top + 1, memory_order_relaxed); /*F5*/
    bottom_.store(newest + 1, memory_order_relaxed);                                       /*F7*/
    fast_below_ = 0;
    return mine;
  }

  // The ring holds the entries [top_, bottom_). The owner takes at the bottom, the others at the top; both meet only at
  // the last entry, and there top_'s compare_exchange decides. The fences see to it that the owner, which has taken
  // bottom_ down, or a thief, which has read top_ before, knows of the other. Into an empty ring the owner first puts a
  // filler, which it never takes back: so the two do not meet at the first entry until a thief has taken the filler out,
  // which it does before its fence. Where thieves have emptied the ring the owner notices late, and an entry may have no
  // filler below it: then they meet there, more often. What was taken back may be put in again where it was, and bottom_
  // goes back up where the last entry is not to be had so: a thief may have its fields from that store alone.
  //   [F1] bottom + 1        release  publish the slot and the entry's fields, also once more  pairs with F2
  //   [F2] bottom            acquire  see them; the look that counts is after the heavy fence pairs with F1
  //   [F3] bottom - 1        release  who reads it has the older entries' fields from it      pairs with F2
  //   [F4] top + 1           release  the slot was read before it is written again             pairs with F9
  //   [F5] top + 1           relaxed  only decides who has the last one
  //   [F6] a look            relaxed  in steal() a fence and F4 follow; in is_empty() the caller's fence is before it
  //   [F7] what is the owner's, and slots  relaxed  ordered by the others
  //   [F8] who is idle       relaxed  after a light fence: whoever went to sleep meanwhile sees F1
  //   [F9] top               acquire  the slot's last entry was read                           pairs with F4
  //   [F10] then top         relaxed  a light fence after F3                                   meets F4, F2
  static constexpr resumption* filler = nullptr;
  executor& place_;
  const atomic<std::uint32_t>& counts_;
  const std::uint32_t only_asleep_;  // the counts of which this is true
  const asymmetric_fence fence_;
  // These two are the owner's alone. Where bottom_ is below fast_below_ there is room: that is `capacity` above what top_
  // was, and top_ only grows. It is 0 where push() and take_back() have to do more: no light fence is free, newer entries
  // are not shared, or the ring may have become empty, so that the next entry is to get a filler.
  std::size_t fast_below_ = 0;
  resumption* not_shared_ = nullptr;  // the newest
  // Nothing was left when bottom_ was here, so nothing is whenever it is here again: what was put in above has been taken.
  std::size_t empty_at_ = 0;
  atomic<std::size_t> bottom_{0};
  atomic<resumption*> slots_[capacity] = {};
  alignas(64) atomic<std::size_t> top_{0};
};
}  // namespace coracle::detail
