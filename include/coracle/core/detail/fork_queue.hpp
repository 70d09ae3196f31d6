// coracle/core/detail/fork_queue.hpp -- the work-stealing stack of a thread, newest first for its owner.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/base/asymmetric_fence.hpp>
#include <coracle/base/exchange.hpp>
#include <coracle/core/executor.hpp>
#include <cstddef>
#include <cstdint>

namespace coracle::detail {
/// A double-ended queue. Its owner pushes entries and takes the newest back; other threads steal the oldest.
/// The owner executes no fence, and needs a compare-and-swap only where thieves have left a single entry.
/// Once it holds `capacity` entries, newer ones are not shared with thieves.
/// Source: D. Chase, Y. Lev, "Dynamic circular work-stealing deque", SPAA 2005, with a lighter fence for the
/// owner.
class fork_queue {
 public:
  static constexpr std::size_t capacity = is_modelled ? 3 : 256;

  /// Entries taken from this queue belong to `place`. A push calls for help if `counts` says that a thread
  /// sleeps and none is searching, that is, if it is below `one_searching` and not 0.
  fork_queue(executor& place, const atomic<std::uint32_t>& counts, std::uint32_t one_searching) noexcept
      : place_(place), counts_(counts), only_asleep_(one_searching - 1) {}
  fork_queue(const fork_queue&) = delete;
  fork_queue& operator=(const fork_queue&) = delete;

  [[nodiscard]] const executor* place() const noexcept { return &place_; }

  // ---- called by the owner ----

  /// Makes the calling thread the owner.
  void enter_thread() noexcept {
    this_thread().forks = this;
    this_thread().forks_for = &place_;
  }
  /// After this call the calling thread owns no fork queue.
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
  /// Returns true if `item` was the newest entry; the owner then has it back.
  CORACLE_ALWAYS_INLINE() bool take_back(const resumption& item) noexcept {
    return take_back_fast(item) != nowhere || take_back_slowly(item);
  }
  static constexpr std::size_t nowhere = 0;  // the position of the first filler
  /// As take_back(), if a few instructions suffice: returns the position of `item`, for push_again(). Returns
  /// `nowhere` if `item` was not the newest entry or the caller must use take_back().
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
  /// Pushes the entry that was taken back from `where` again. Requires: the queue has not been used since.
  CORACLE_ALWAYS_INLINE() void push_again(std::size_t where) noexcept {
    note_start();
    publish(where + 1);
  }
  /// As push(), but returns false if the ring is full.
  CORACLE_ALWAYS_INLINE() bool push_if_room(resumption& item) noexcept {
    if (bottom_.load(memory_order_relaxed) >= fast_below_ && is_full()) [[unlikely]] /*F7*/
      return false;
    push(item);
    return true;
  }
  /// The position of the next entry; changes with each push and each take_back().
  [[nodiscard]] std::size_t depth() const noexcept { return bottom_.load(memory_order_relaxed); } /*F7*/
  /// The owner begins a turn: it resumes a coroutine. Returns depth().
  std::size_t begin_turn() noexcept { return idle_at_ = depth(); }
  /// Work is started, although depth() may be what it was when the turn began.
  CORACLE_ALWAYS_INLINE() void note_start() noexcept { idle_at_ = not_idle; }
  /// Returns true if work has been started in the current turn, or taken back.
  [[nodiscard]] bool has_started_work() const noexcept { return depth() != idle_at_; }
  /// Returns true if nothing has been pushed since seems_empty() or take_back() found the queue empty, or all
  /// of it is gone.
  [[nodiscard]] bool is_known_empty() const noexcept { return depth() == empty_at_; }
  /// Returns false if take_back() would return an entry.
  [[nodiscard]] bool seems_empty() noexcept {
    const std::size_t bottom = bottom_.load(memory_order_relaxed);                              /*F7*/
    if (not_shared_ || (slots_[(bottom - 1) % capacity].load(memory_order_relaxed) != filler && /*F7*/
                        bottom != top_.load(memory_order_relaxed)))                             /*F7*/
      return false;
    empty_at_ = bottom;
    return true;
  }
  /// Returns the newest entry, or null if the queue is empty.
  resumption* take_back() noexcept {
    if (not_shared_) [[unlikely]]
      return detail::exchange(not_shared_, not_shared_->next);
    const std::size_t newest = bottom_.load(memory_order_relaxed) - 1;                     /*F7*/
    resumption* const item = slots_[newest % capacity].load(memory_order_relaxed);         /*F7*/
    const bool is_entry = item != filler && newest + 1 != top_.load(memory_order_relaxed); /*F7*/
    if (is_entry && take_back_at(newest)) [[likely]]
      return item;
    empty_at_ = newest + 1;
    return nullptr;
  }

  /// Returns the oldest entry in the ring, or null if the ring is empty.
  CORACLE_COLD() resumption* take_oldest() noexcept {
    fast_below_ = 0;
    std::size_t top = top_.load(memory_order_relaxed);                            /*F6*/
    while (!is_above(top, bottom_.load(memory_order_relaxed))) {                  /*F7*/
      resumption* const item = slots_[top % capacity].load(memory_order_relaxed); /*F7*/
      if (top_.compare_exchange_strong(top, top + 1, memory_order_relaxed)) {     /*F5*/
        if (item != filler) return item;
        ++top;
      }
    }
    return nullptr;
  }

  // ---- called by any thread ----

  /// Returns the oldest entry, or null if the queue is empty or another thread was faster.
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
  /// Considers entries pushed before a light fence that precedes the caller's heavy fence.
  [[nodiscard]] bool is_empty() const noexcept {
    return has_none(top_.load(memory_order_relaxed), bottom_.load(memory_order_relaxed)); /*F6*/
  }
  /// A guess, for metrics, without the entries that are not shared.
  [[nodiscard]] std::size_t count() const noexcept {
    const std::size_t top = top_.load(memory_order_relaxed),
                      bottom = bottom_.load(memory_order_relaxed); /*F6*/
    if (has_none(top, bottom)) return 0;
    return bottom - top - (slots_[top % capacity].load(memory_order_relaxed) == filler); /*F7*/
  }

 protected:
  ~fork_queue() = default;

 private:
  // The rare paths are out of line and save registers themselves.
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
      item.next = detail::exchange(not_shared_, &item);
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
  /// Returns true if no entry is left in between: the owner may take the last one before it sees that it was
  /// stolen.
  static bool is_above(std::size_t top, std::size_t bottom) noexcept {
    return static_cast<std::ptrdiff_t>(bottom) <= static_cast<std::ptrdiff_t>(top);
  }
  /// Returns true if there is no entry in between, although there may be a filler.
  [[nodiscard]] bool has_none(std::size_t top, std::size_t bottom) const noexcept {
    return is_above(top, bottom) ||
           (bottom - top == 1 && slots_[top % capacity].load(memory_order_relaxed) == filler); /*F7*/
  }
  /// The entry may be the last one: the owner and thieves contend for it in take_back_slowly().
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

  // The ring holds the entries [top_, bottom_). The owner pops at the bottom, thieves at the top; they
  // contend only for the last entry, where the compare_exchange on top_ decides. The fences ensure that at
  // least one of the two, the owner that has lowered bottom_ or a thief that has read top_ before, sees the
  // other. The owner first pushes a filler into an empty ring and never takes it back, so the two do not
  // contend for the first entry until a thief has removed the filler, which it does before its fence. If
  // thieves have emptied the ring, the owner notices late, and an entry may have no filler below it;
  // contention is then more frequent. An entry that was taken back may be pushed again at the same position.
  // bottom_ also goes back up if the last entry cannot be taken back by the fast path; a thief may see the
  // entry's fields through that store alone.
  //   [F1] bottom + 1        release  publish the slot and the entry's fields, also once more  pairs with F2
  //   [F2] bottom            acquire  see them; the look that counts is after the heavy fence pairs with F1
  //   [F3] bottom - 1        release  a reader of it sees the older entries' fields            pairs with F2
  //   [F4] top + 1           release  the slot was read before it is written again             pairs with F9
  //   [F5] top + 1           relaxed  only decides which thread gets the last one
  //   [F6] load              relaxed  in steal() a fence and F4 follow; before is_empty(), the caller's
  //                                   fence; in count() a guess
  //   [F7] the owner's fields, and slots  relaxed  ordered by the others
  //   [F8] idle threads      relaxed  after a light fence: a thread that went to sleep meanwhile sees F1
  //   [F9] top               acquire  the slot's last entry was read                           pairs with F4
  //   [F10] then top         relaxed  a light fence after F3                                   meets F4, F2
  static constexpr resumption* filler = nullptr;
  executor& place_;
  const atomic<std::uint32_t>& counts_;
  const std::uint32_t only_asleep_;  // the values of counts_ for which a push calls for help
  const asymmetric_fence fence_;
  // Only the owner uses these two. If bottom_ is below fast_below_, there is room: fast_below_ is `capacity`
  // above an earlier value of top_, which only grows. It is 0 where push() and take_back() have to do more:
  // the light fence is not free, newer entries are not shared, or the ring may have become empty, so that the
  // next push needs a filler.
  std::size_t fast_below_ = 0;
  resumption* not_shared_ = nullptr;  // the newest entry that is not shared
  // Nothing was left when bottom_ had this value, and so whenever it has it again: all later entries have
  // been taken.
  std::size_t empty_at_ = 0;
  // No work has been started in the current turn while bottom_ has this value.
  static constexpr std::size_t not_idle = ~std::size_t{0};
  std::size_t idle_at_ = 0;
  atomic<std::size_t> bottom_{0};
  atomic<resumption*> slots_[capacity] = {};
  alignas(64) atomic<std::size_t> top_{0};
};
}  // namespace coracle::detail
