// coracle/time/detail/timer_wheel.hpp -- a queue of deadlines with O(1) insert and remove.
// SPDX-License-Identifier: MIT
#pragma once
#include <bit>
#include <coracle/core/timer_service.hpp>
#include <cstddef>
#include <cstdint>
#include <new>

namespace coracle::detail {
/// A queue of deadlines in which adding and removing one costs the same however many there are: a
/// hierarchical timing wheel.
///
///     timer_wheel wheel{now};
///     wheel.insert(node, now + 1'000'000);
///     while (timer_node* due = wheel.pop_due(later)) wake(*due);
///
/// It reads no clock: a time is an increasing number, here of nanoseconds, and the caller passes the current
/// one.
///
/// Order    by deadline, to the unit; equal deadlines, and all that were past on insertion, in the order of
///          insertion. Nothing is due before its deadline.
/// Threads  not thread-safe.
/// Cost     insert and remove O(1); a node moves to a finer slot at most 10 times before it is due. No
///          allocation; 17 KB.
/// Source   G. Varghese, A. Lauck, "Hashed and hierarchical timing wheels", scheme 7, SOSP 1987.
class timer_wheel {
 public:
  static constexpr std::uint64_t never = ~std::uint64_t{0};

  explicit timer_wheel(std::uint64_t now) noexcept : now_(now) {}
  timer_wheel(const timer_wheel&) = delete;
  timer_wheel& operator=(const timer_wheel&) = delete;

  [[nodiscard]] bool empty() const noexcept { return used_levels_ == 0; }
  /// The greatest time passed to pop_due(), or the start.
  [[nodiscard]] std::uint64_t now() const noexcept { return now_; }

  /// Requires: `node` is in no wheel.
  void insert(timer_node& node, std::uint64_t deadline) noexcept {
    node.deadline = deadline < now_ ? now_ : deadline;
    place(node);
  }
  /// Requires: `node` is in this wheel.
  void remove(timer_node& node) noexcept;
  /// Removes and returns the first node whose deadline is `now` or earlier; null if there is none.
  timer_node* pop_due(std::uint64_t now) noexcept;
  /// When to check again: the first deadline, or a time before it if nodes have been removed; `never` if
  /// empty.
  [[nodiscard]] std::uint64_t next() const noexcept;

  /// Adds to `count` the number of nodes, at most `most`, in the first used slot whose number is `from` or
  /// greater. Returns the number behind that slot's, or `all_slots` if there is none.
  unsigned count_slot(unsigned from, std::size_t most, std::size_t& count) const noexcept;
  static constexpr unsigned all_slots = 11 * 64;

 private:
  // A time is a number of 11 digits, each of 6 bits. A node is at the level of the highest digit in which its
  // deadline differs from now_, in the slot that this digit of the deadline selects. So every node of a level
  // is due before those of the levels above, and the slots of one level are due in order. When now_ enters a
  // slot, its nodes share the digit with now_ and move down. Nodes of other slots stay: their position
  // follows from the deadline alone.
  static constexpr unsigned digit_bits = 6, slots_per_level = 1u << digit_bits;
  static constexpr unsigned levels = all_slots / slots_per_level;
  struct slot {
    timer_link nodes;        // a ring
    std::uint64_t earliest;  // not after the first deadline in the ring
  };
  struct position {
    unsigned level, index;
  };

  [[nodiscard]] position position_of(std::uint64_t deadline) const noexcept {
    const auto highest = static_cast<unsigned>(std::bit_width((deadline ^ now_) | 1)) - 1;
    const unsigned level = highest / digit_bits;
    return {level, static_cast<unsigned>(deadline >> (level * digit_bits)) % slots_per_level};
  }
  [[nodiscard]] position first_position() const noexcept {
    const auto level = static_cast<unsigned>(std::countr_zero(unsigned{used_levels_}));
    return {level, static_cast<unsigned>(std::countr_zero(used_slots_[level]))};
  }
  /// The time at which now_ enters a slot.
  [[nodiscard]] std::uint64_t start_of(position p) const noexcept {
    const unsigned shift = p.level * digit_bits, above = shift + digit_bits;
    const std::uint64_t higher = above < 64 ? now_ >> above << above : 0;
    return higher | std::uint64_t{p.index} << shift;
  }
  void place(timer_node& node) noexcept;
  void move_down(position p) noexcept;
  void mark_empty(position p) noexcept {
    used_slots_[p.level] &= ~(std::uint64_t{1} << p.index);
    if (used_slots_[p.level] == 0) used_levels_ = used_levels_ & ~(1u << p.level);
  }

  std::uint64_t now_;
  plain<unsigned> used_levels_ = 0;  // bit l: some slot of level l is used
  std::uint64_t used_slots_[levels] = {};
  // Initialised when first used: clearing 17 KB would take longer than the life of a short io_service.
  union {
    slot slots_[levels][slots_per_level];
  };
};

inline void timer_wheel::place(timer_node& node) noexcept {
  const position p = position_of(node.deadline);
  slot& its = slots_[p.level][p.index];
  const std::uint64_t bit = std::uint64_t{1} << p.index;
  if ((used_slots_[p.level] & bit) == 0) {
    used_slots_[p.level] |= bit;
    used_levels_ = used_levels_ | 1u << p.level;
    ::new (static_cast<void*>(&its)) slot{{&its.nodes, &its.nodes}, node.deadline};
  } else if (node.deadline < its.earliest) {
    its.earliest = node.deadline;
  }
  node.next = &its.nodes;
  node.previous = its.nodes.previous;
  its.nodes.previous->next = &node;
  its.nodes.previous = &node;
}

inline void timer_wheel::remove(timer_node& node) noexcept {
  node.previous->next = node.next;
  node.next->previous = node.previous;
  if (node.next == node.previous) mark_empty(position_of(node.deadline));  // only the ring's own link is left
}

inline timer_node* timer_wheel::pop_due(std::uint64_t now) noexcept {
  while (!empty()) {
    const position first = first_position();
    const std::uint64_t start = start_of(first);
    if (start > now) break;
    timer_link& ring = slots_[first.level][first.index].nodes;
    auto& node = static_cast<timer_node&>(*ring.next);
    // A lone node in the first slot is the first of all.
    if (first.level == 0 || (node.next == &ring && node.deadline <= now)) {
      remove(node);
      if (node.deadline > now_) now_ = node.deadline;
      return &node;
    }
    if (start > now_) now_ = start;
    move_down(first);
  }
  if (now > now_) now_ = now;
  return nullptr;
}

/// Walks from both ends until they meet, so that two cache misses overlap; that saves a third of the cost of
/// a large slot.
inline void timer_wheel::move_down(position p) noexcept {
  timer_link& ring = slots_[p.level][p.index].nodes;
  timer_link* each = ring.next;
  timer_link* from_end = ring.previous;
  mark_empty(p);
  for (bool met = false; each != &ring;) {
    timer_link* const next = each->next;
    met = met || each == from_end || next == from_end;
    if (!met) {
      from_end = from_end->previous;
      __builtin_prefetch(from_end);
    }
    place(static_cast<timer_node&>(*each));
    each = next;
  }
}

inline std::uint64_t timer_wheel::next() const noexcept {
  if (empty()) return never;
  const position first = first_position();
  return slots_[first.level][first.index].earliest;
}
}  // namespace coracle::detail
