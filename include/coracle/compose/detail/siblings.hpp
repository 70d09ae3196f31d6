// coracle/compose/detail/siblings.hpp -- children awaited together by one coroutine, and their shared state.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/base/exchange.hpp>
#include <coracle/compose/detail/child.hpp>
#include <coracle/compose/detail/failure_notes.hpp>
#include <coracle/compose/detail/race.hpp>
#include <coracle/core/detail/shared_frame.hpp>
#include <coracle/core/detail/subtree.hpp>
#include <new>

namespace coracle::detail {
class siblings;

/// The promise of the frame that a child resumes at its end, where it has a continuation of its own.
class sibling_promise : public member_promise<siblings> {
 public:
  /// For a child that is an operation: it claims the choice when it is carried out, before its end. A child
  /// that is a coroutine does not pass the choice on.
  [[nodiscard]] choice* get_choice() noexcept;

  bool claims_before_its_end = false;
};
using sibling_base = basic_callback_frame<sibling_promise>;

/// The state that all children share: their continuation, their environment, and the notes of how they ended.
class siblings : protected shared_frame {
 public:
  /// Which ends of children decide the result.
  enum class rule : std::uint8_t {
    collect,  ///< every outcome; no child is stopped
    all,      ///< every value; a child without one stops the others
    any,      ///< the first value or error, which stops the others
    success   ///< the first value, which stops the others; errors only where there is no value
  };
  siblings(rule what_counts, shared_frame::function* child_is_over,
           const shared_promise::functions* its_functions) noexcept
      : shared_frame(child_is_over, its_functions), rule_(what_counts) {}
  siblings(const siblings&) = delete;
  siblings& operator=(const siblings&) = delete;
  CORACLE_ALWAYS_INLINE() ~siblings() {
    if (has_subtree_) subtree_.~subtree();
  }

  // ---- called by the children, on any threads ----

  /// Resumed at the end of each child, after the notes below.
  [[nodiscard]] std::coroutine_handle<shared_promise> continuation() noexcept {
    return shared_frame::handle();
  }
  using shared_frame::inherited_by_children;
  [[nodiscard]] choice* get_choice() noexcept {
    return rule_ == rule::any ? &race_.shared_choice() : nullptr;
  }
  [[nodiscard]] bool keeps_every_end() const noexcept { return rule_ == rule::collect; }
  void note_value(const void* child, bool has_claimed) noexcept {
    if (rule_ >= rule::any) stop_losers_of(child, has_claimed);
  }
  CORACLE_COLD() void note_no_value(const void* child, bool has_claimed, const outcome<void>& end) noexcept {
    const stop_reason why = end.reason();
    note_failure(child, why);
    if (rule_ == rule::any && why == stop_reason::none) stop_losers_of(child, has_claimed);
  }
  /// For a child outside any race. `why`: none if it has an error.
  CORACLE_COLD() void note_failure(const void* child, stop_reason why) noexcept {
    if (why != stop_reason::none) {
      if (rule_ >= rule::any && why != stop_reason::lost_race) [[unlikely]]
        note_left_race(why);
      else
        failures_.note_cancelled(why);
    } else {
      failures_.note_error(child);
    }
    if (rule_ == rule::all) subtree_.request_stop(stop_reason::sibling_failed);
  }

 protected:
  // ---- called by the parent's operation, before the first child is started ----

  template <rule Rule>
  CORACLE_ALWAYS_INLINE()
  void set_environment(const environment& inherited) noexcept {
    if constexpr (Rule == rule::collect) {
      shared_frame::promise().set_environment(&inherited);
    } else {
      shared_frame::promise().set_environment(::new (static_cast<void*>(&subtree_)) subtree(inherited));
      has_subtree_ = true;
    }
  }
  CORACLE_SAVES_REGISTERS() bool note_if_stopped(const environment& inherited) noexcept {
    const stop_reason why = inherited.stop.reason();
    if (why != stop_reason::none) failures_.note_cancelled(why);
    return why != stop_reason::none;
  }
  /// Returns true if it is too late to start another child.
  template <rule Rule>
  CORACLE_ALWAYS_INLINE()
  bool too_late() noexcept {
    if constexpr (Rule == rule::collect) return false;
    return (subtree_.may_be_requested() || (Rule >= rule::any && race_.is_decided())) && note_too_late();
  }

  // ---- called after the last child has ended ----

  /// Ends the subtree with the await: this object may outlive the environment that the subtree refers to.
  CORACLE_ALWAYS_INLINE() void leave_subtree() noexcept {
    if (detail::exchange(has_subtree_, false)) subtree_.~subtree();
  }
  [[nodiscard]] bool all_gave_values() const noexcept { return failures_.none(); }
  /// Returns true if there is an error to throw.
  [[nodiscard]] bool fails() const noexcept {
    return failures_.first_failed() && !(rule_ == rule::success && race_.winner());
  }
  /// Returns why there is neither a result nor an error, or none if there is one.
  [[nodiscard]] stop_reason cancelled() const noexcept {
    const stop_reason why = failures_.cancelled();
    return why == stop_reason::none || failures_.first_failed() || race_.winner() ? stop_reason::none : why;
  }
  [[nodiscard]] const void* winner() const noexcept { return race_.winner(); }

  // ---- called where a stop request has ended a wait of a child ----

  /// Returns true if the end of that child is kept as an outcome, or dropped.
  [[nodiscard]] bool ends_unseen(stop_reason why) noexcept {
    return rule_ == rule::collect || (has_subtree_ && subtree_.has_dropped(why));
  }
  [[nodiscard]] const failure_notes& failures() const noexcept { return failures_; }

 protected:
  static siblings& from(shared_promise& self) noexcept {
    return static_cast<siblings&>(shared_frame::from(self));
  }
  /// Called by a task that ends without a result.
  static void task_failed(shared_promise& self, const void* task, stop_reason stopped_for) noexcept {
    siblings& all = from(self);
    if (!all.keeps_every_end()) all.note_failure(task, stopped_for);
  }

 private:
  /// A child that is stopped, and is no loser, leaves a race, which goes on. So the reason of a request that
  /// stops all children counts, whatever the reason for which one has left before.
  CORACLE_COLD() void note_left_race(stop_reason why) noexcept {
    const stop_reason of_all = has_subtree_ ? subtree_.stop.reason() : stop_reason::none;
    if (of_all == stop_reason::none) {
      failures_.note_cancelled(why);
    } else {
      failures_.note_all_cancelled(of_all);
    }
  }
  void stop_losers_of(const void* child, bool has_claimed) noexcept {
    if (!race_.try_to_win(child, has_claimed)) return;
    if (has_subtree_)
      subtree_.request_stop(stop_reason::lost_race);  // otherwise no other child has been started
  }
  CORACLE_SAVES_REGISTERS() bool note_too_late() noexcept {
    const stop_reason why = subtree_.stop.reason();
    if (why == stop_reason::none && !race_.is_decided()) return false;
    failures_.note_cancelled(why == stop_reason::none ? stop_reason::lost_race : why);
    return true;
  }

  failure_notes failures_;
  race race_;
  const rule rule_;

 protected:
  awaiting_frame::kind awaited_by_ = awaiting_frame::kind::other;

 private:
  bool has_subtree_ = false;
  union {
    subtree subtree_;
  };
};
inline choice* sibling_promise::get_choice() noexcept {
  choice* const one_of = together->get_choice();
  claims_before_its_end = one_of != nullptr;
  return one_of;
}

/// A child with a continuation of its own, which notes how it ended.
template <class Awaitable>
class sibling : public sibling_base {
 public:
  using result_type = typename child<Awaitable>::result_type;

  explicit sibling(Awaitable&& value) : sibling_base(&over), work_(static_cast<Awaitable&&>(value)) {}
  sibling(sibling&& other) : sibling_base(&over), work_(std::move(other.work_)) {}

  /// Returns false if it completed at once; the shared continuation is then not resumed.
  CORACLE_ALWAYS_INLINE() bool start(siblings& all) noexcept {
    promise().together = &all;
    if (work_.start(handle())) return true;
    note_end();
    return false;
  }
  /// As start(), but returns the coroutine that the caller must resume, or null if it completed at once.
  CORACLE_ALWAYS_INLINE() std::coroutine_handle<> begin(siblings& all) noexcept {
    promise().together = &all;
    const std::coroutine_handle<> target = work_.begin(handle());
    if (!target) note_end();
    return target;
  }
  /// Returns true if it is over without having been started.
  bool try_at_once(siblings& all) noexcept {
    if constexpr (child<Awaitable>::can_try) {
      if (!work_.try_at_once()) return false;
      promise().together = &all;
      promise().claims_before_its_end = true;
      note_end();
      return true;
    }
    return false;
  }
  static constexpr bool can_try = child<Awaitable>::can_try;
  child<Awaitable>& get() noexcept { return work_; }
  /// The address by which the notes refer to it.
  [[nodiscard]] const void* name() const noexcept { return static_cast<const sibling_base*>(this); }

 private:
  CORACLE_TRANSFER_ABI() static void over(sibling_base* self) {
    auto& mine = static_cast<sibling&>(*self);
    siblings& all = *mine.promise().together;
    mine.note_end();
    const std::coroutine_handle<> next = transfer_to(all.continuation());
    CORACLE_RETURN_TO(self, next);
  }
  void note_end() noexcept {
    siblings& all = *promise().together;
    const bool has_claimed = promise().claims_before_its_end;
    if (work_.finish() || all.keeps_every_end()) [[likely]] {
      all.note_value(name(), has_claimed);
    } else {
      all.note_no_value(name(), has_claimed, work_.failure());
    }
  }
  child<Awaitable> work_;
};

/// A task that is the child of a combinator which waits for all its children. It has the shared continuation,
/// which a task notifies of its own failure; so only the task is stored, and this refers to it.
template <class T>
class task_sibling : public task_child<T, task<T>&> {
 public:
  using task_child<T, task<T>&>::task_child;

  CORACLE_ALWAYS_INLINE() bool start(siblings& all) noexcept {
    if (task_child<T, task<T>&>::start(all.continuation())) return true;
    note_end(this->work(), all);
    return false;
  }
  CORACLE_ALWAYS_INLINE() std::coroutine_handle<> begin(siblings& all) noexcept {
    const std::coroutine_handle<> target = task_child<T, task<T>&>::begin(all.continuation());
    if (!target) note_end(this->work(), all);
    return target;
  }
  bool try_at_once(siblings&) noexcept { return false; }
  task_sibling& get() noexcept { return *this; }
  [[nodiscard]] const void* name() noexcept { return this->frame(); }

 private:
  /// For a task whose body had ended before. Static, so that no `this` has to be stored in memory.
  CORACLE_SAVES_REGISTERS() static void note_end(task<T>& kept, siblings& all) noexcept {
    task_sibling mine{kept};
    if (!mine.finish() && !all.keeps_every_end()) all.note_failure(mine.name(), mine.failure().reason());
  }
};

template <class Awaitable>
struct joined_sibling {
  using type = sibling<Awaitable>;
};
template <class T>
struct joined_sibling<task<T>> {
  using type = task<T>;
};
/// What a combinator that waits for all its children stores of an awaitable.
template <class Awaitable>
using joined_sibling_t = typename joined_sibling<Awaitable>::type;

template <class Awaitable>
sibling<Awaitable>& as_sibling(sibling<Awaitable>& kept) noexcept {
  return kept;
}
template <class T>
task_sibling<T> as_sibling(task<T>& kept) noexcept {
  return task_sibling<T>{kept};
}
template <class Kept>
using result_of_sibling =
    typename std::remove_cvref_t<decltype(detail::as_sibling(std::declval<Kept&>()))>::result_type;
}  // namespace coracle::detail
