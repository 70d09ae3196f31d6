// coracle/compose/detail/failure_notes.hpp -- which child failed first, and why others have no result.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/base/atomic.hpp>
#include <coracle/core/operation_cancelled.hpp>

namespace coracle::detail {
/// Written by children as they end, on any threads; read once all have ended. The errors stay in the
/// children.
//
// The countdown orders all accesses: each child writes before it counts itself down, and the parent reads
// after the last.
//   [N1] is it the first?  relaxed  among concurrent failures, any may be the first
//   [N2] load              relaxed  after the last has been counted down
class failure_notes {
 public:
  failure_notes() noexcept = default;
  failure_notes(const failure_notes&) = delete;
  failure_notes& operator=(const failure_notes&) = delete;

  /// `which`: the child that has failed.
  void note_error(const void* which) noexcept {
    note_first(first_failed_, which);
    note_cancelled(stop_reason::sibling_failed);
  }
  void note_cancelled(stop_reason why) noexcept { note_first(why_, why); }
  /// Replaces the reason for which one child was cancelled.
  void note_all_cancelled(stop_reason why) noexcept { why_.store(why, memory_order_relaxed); } /*N1*/

  /// Returns true if every child has returned a value.
  [[nodiscard]] bool none() const noexcept {
    return why_.load(memory_order_relaxed) == stop_reason::none; /*N2*/
  }
  [[nodiscard]] const void* first_failed() const noexcept {
    return first_failed_.load(memory_order_relaxed); /*N2*/
  }
  /// Returns why the first child without a value has none, sibling_failed if it failed, unless all were
  /// cancelled for a reason.
  [[nodiscard]] stop_reason cancelled() const noexcept { return why_.load(memory_order_relaxed); } /*N2*/

 private:
  template <class T>
  static void note_first(atomic<T>& first, T mine) noexcept {
    if (first.load(memory_order_relaxed) == T{}) first.store(mine, memory_order_relaxed); /*N1*/
  }

  atomic<const void*> first_failed_{nullptr};
  atomic<stop_reason> why_{stop_reason::none};
};
}  // namespace coracle::detail
