// coracle/compose/detail/child_group.hpp -- children of one coroutine, which is notified as each ends.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/base/atomic.hpp>
#include <coracle/base/exchange.hpp>
#include <coracle/compose/detail/child.hpp>
#include <coracle/compose/detail/parent_of_children.hpp>
#include <coracle/core/detail/nested_starts.hpp>
#include <coracle/core/detail/subtree.hpp>
#include <coracle/core/error_group.hpp>
#include <coracle/core/executor.hpp>
#include <cstddef>
#include <cstdint>

namespace coracle::detail {
class child_group;

/// A child's place in its group, and the frame that the child continues at its end.
using group_frame = basic_callback_frame<member_promise<child_group>>;
class group_child : public group_frame {
 public:
  explicit group_child(child_group& group) noexcept : group_frame(&child_ended, &group) {}

 private:
  friend child_group;
  static void child_ended(group_frame* self);

  plain<group_child*> next_ = nullptr;
};

/// Runs children for their parent, the coroutine in whose frame it lives, and reports each that has ended to
/// it, in the order of their ends. Only the parent calls the members; it must take every child with next()
/// before it continues. An exception of a child is kept and stops the others, as a stop request to the parent
/// does.
//
// ended_ is empty, the newest of a stack of children that have ended, or parent_waits. A child, its result
// and its link belong to the child until S2, then to the parent. parent_ belongs to the parent until S1, then
// to the child that takes parent_waits out and wakes the parent.
//   [S1] empty -> parent_waits     release  publish parent_                    pairs with S2
//   [S2] push a child              acq_rel  publish its result; see parent_    pairs with S3; S1
//   [S3] take all                  acquire  see the results                    pairs with S2
//   [S4] load                      relaxed  a hint: S3 follows
class child_group : shared_frame {
 public:
  explicit child_group(const parent_of_children& parent)
      : shared_frame(&never_resumed, &functions), inherited_(parent.inherited()), above_(parent.frame()) {
    promise().set_environment(&inherited_);
  }
  child_group(const child_group&) = delete;
  child_group& operator=(const child_group&) = delete;

  using shared_frame::inherited_by_children;
  [[nodiscard]] const stop_token& stop_of_children() const noexcept { return inherited_.stop; }
  /// The number of children that have been started and not been taken.
  [[nodiscard]] std::size_t running() const noexcept { return running_; }
  /// Returns true if the children are to stop; no more must be started then.
  [[nodiscard]] bool is_stopping() const noexcept { return inherited_.stop.stop_requested(); }
  void stop(stop_reason why) noexcept { inherited_.request_stop(why); }

  /// Awaitable of nothing, before the parent starts children: where starts are nested too deep, it continues
  /// when the outermost of them has returned.
  static auto stack_for_starts() noexcept { return stack_operation{}; }
  /// Runs a detail::child until it first suspends.
  template <class Child>
  void start(group_child& place, Child& work) noexcept {
    ++running_;
    const nested_start inside;
    if (!work.start(place.handle())) push(place);
  }
  /// Returns true if next() would not wait.
  [[nodiscard]] bool has_ended() const noexcept {
    return taken_ || ended_.load(memory_order_relaxed) != empty; /*S4*/
  }
  class next_operation;
  /// Awaitable of the place of the next child that has ended. Requires: running() != 0.
  next_operation next() noexcept;

  /// Keeps an error or a cancellation, and stops the children.
  void keep(const outcome<void>& failure) noexcept;
  /// Notes that work was omitted because the children are to stop.
  void keep_stop() noexcept { cancelled_ = inherited_.stop.reason(); }
  /// Called in a catch block: keeps the exception that the parent has caught.
  void keep_current_exception() noexcept;
  [[nodiscard]] bool has_failed() const noexcept {
    return !errors_.empty() || cancelled_ != stop_reason::none;
  }
  /// Returns the errors; if there are none, why something was cancelled; otherwise a value. Requires: none is
  /// running.
  [[nodiscard]] outcome<void> finish() noexcept;

 private:
  friend group_child;
  class stack_operation : waiter {
   public:
    stack_operation() noexcept = default;
    bool await_ready() const noexcept { return this_thread().starts.depth <= nested_starts::most; }
    void await_suspend(std::coroutine_handle<> parent) noexcept {
      suspend(parent);
      put_off(this_thread().starts.late, *this);
    }
    void await_resume() const noexcept {}
  };
  waiter* push(group_child& ended) noexcept;
  void take_all() noexcept;
  static awaiting_frame above(shared_promise& self, stop_reason why) noexcept {
    auto& mine = static_cast<child_group&>(from(self));
    if (mine.inherited_.has_dropped(why)) return {nullptr, awaiting_frame::kind::quiet};
    return mine.above_;
  }
  static constexpr shared_promise::functions functions{&shared_promise::ignore_failure, &above};

  static constexpr std::uintptr_t empty = 0, parent_waits = 1;
  atomic<std::uintptr_t> ended_{empty};
  plain<waiter> parent_;
  group_child* taken_ = nullptr;  // the oldest
  std::size_t running_ = 0;
  subtree inherited_;
  const awaiting_frame above_;
  stop_reason cancelled_ = stop_reason::none;
  gathered_errors errors_;
};

class [[nodiscard]] child_group::next_operation {
 public:
  explicit next_operation(child_group& group) noexcept : group_(group) {}
  bool await_ready() const noexcept { return false; }
  bool await_suspend(std::coroutine_handle<> parent) noexcept {
    child_group& group = group_;
    group.parent_.suspend(parent);
    std::uintptr_t seen = empty;
    if (!group.taken_ && group.ended_.compare_exchange_strong(seen, parent_waits, memory_order_release, /*S1*/
                                                              memory_order_relaxed)) {
      return true;
    }
    return has_to_give_way() && give_way(group.parent_);
  }
  group_child& await_resume() const noexcept {
    if (!group_.taken_) group_.take_all();
    --group_.running_;
    return *detail::exchange(group_.taken_, group_.taken_->next_);
  }

 private:
  child_group& group_;
};
inline child_group::next_operation child_group::next() noexcept {
  CORACLE_REQUIRE(running_ != 0, "a child_group without children was waited for");
  return next_operation{*this};
}

inline void group_child::child_ended(group_frame* self) {
  auto& child = static_cast<group_child&>(*self);
  if (waiter* const parent = child.promise().together->push(child)) wake_on_return(*parent);
}

/// Returns the parent if it waits, for the caller to continue. Otherwise the child, and with it the group,
/// may be gone.
inline waiter* child_group::push(group_child& ended) noexcept {
  const auto mine = reinterpret_cast<std::uintptr_t>(&ended);
  waiter* const parent = &parent_;
  std::uintptr_t seen = ended_.load(memory_order_relaxed);
  do {
    ended.next_ = seen == parent_waits ? nullptr : reinterpret_cast<group_child*>(seen);
  } while (!ended_.compare_exchange_weak(seen, mine, memory_order_acq_rel, memory_order_relaxed)); /*S2*/
  return seen == parent_waits ? parent : nullptr;
}
inline void child_group::take_all() noexcept {
  auto* newest = reinterpret_cast<group_child*>(ended_.exchange(empty, memory_order_acquire)); /*S3*/
  while (newest) {
    group_child* const earlier = newest->next_;
    newest->next_ = taken_;
    taken_ = newest;
    newest = earlier;
  }
}

inline void child_group::keep(const outcome<void>& failure) noexcept {
  if (failure.is_cancelled()) {
    if (cancelled_ == stop_reason::none) cancelled_ = failure.reason();
    return stop(failure.reason());
  }
  errors_.add(failure.error());
  stop(stop_reason::sibling_failed);
}
inline void child_group::keep_current_exception() noexcept {
  outcome<void> failure;
  failure.emplace_from([] { CORACLE_RETHROW(); });
  keep(failure);
}
inline outcome<void> child_group::finish() noexcept {
  outcome<void> end;
  if (!errors_.empty()) [[unlikely]] {
    end.emplace_error(errors_.together());
  } else if (cancelled_ != stop_reason::none) {
    end.emplace_cancelled(cancelled_);
  } else {
    end.emplace();
  }
  return end;
}
}  // namespace coracle::detail
