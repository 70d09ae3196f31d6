// coracle/compose/detail/siblings.hpp -- children that one coroutine awaits together: what when_all and when_any share.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/base/atomic.hpp>
#include <coracle/core/detail/callback_frame.hpp>
#include <coracle/core/detail/choice.hpp>
#include <coracle/core/detail/fork_queue.hpp>
#include <coracle/core/detail/nested_starts.hpp>
#include <coracle/core/detail/subtree.hpp>
#include <coracle/core/executor.hpp>
#include <coracle/core/result.hpp>
#include <cstddef>
#include <new>

namespace coracle {
namespace detail {
class siblings;

/// The promise of the continuation of one of them.
class sibling_promise {
 public:
  [[nodiscard]] const environment* get_environment() const noexcept;
  /// For an operation that is the child itself; it is not handed down. So it claims the choice before it ends.
  [[nodiscard]] choice* get_choice() noexcept;

  siblings* together = nullptr;
  bool claims_before_its_end = false;
};
using sibling_base = basic_callback_frame<sibling_promise>;

/// Is resumed to start the next of them.
using start_frame = basic_callback_frame<nothing>;

/// Counts them down, stops those that are not needed any more, and continues the coroutine that awaits them. It is the
/// continuation of those that are tasks, but for the rule `any`, by which each has its own.
class siblings : protected shared_frame, protected start_frame {
 public:
  enum class rule : std::uint8_t {
    collect,  ///< every outcome counts, nobody is stopped
    all,      ///< every value counts: one that gives none stops the others
    any,      ///< the first value or error counts, and stops the others
    success   ///< the first value counts, and stops the others; an error only where there is no value
  };
  siblings(rule what_counts, shared_frame::function* task_is_over, start_frame::function* start_next) noexcept
      : shared_frame(task_is_over, &task_failed), start_frame(start_next), rule_(what_counts) {}
  siblings(const siblings&) = delete;
  siblings& operator=(const siblings&) = delete;
  ~siblings() {
    if (has_subtree_) subtree_.~subtree();
  }

  [[nodiscard]] choice* get_choice() noexcept { return rule_ == rule::any ? &choice_ : nullptr; }

  // Called by the children, on whichever threads they end. `has_claimed`: the choice is this child's already.
  [[nodiscard]] bool collects() const noexcept { return rule_ == rule::collect; }
  [[nodiscard]] const environment* environment_of_children() const noexcept {
    return shared_frame::promise().get_environment();
  }
  void gave_value(sibling_base& one, bool has_claimed) noexcept {
    if (is_race()) decide(one, has_claimed);
  }
  CORACLE_COLD()
  void gave_none(sibling_base& one, bool has_claimed, const outcome<void>& end) noexcept {
    note_failure(&one, end);
    if (rule_ == rule::any && end.has_error()) decide(one, has_claimed);
  }
  /// Of a child by the name of `which`; not for collect.
  CORACLE_COLD() void note_failure(const void* which, const outcome<void>& end) noexcept {
    if (end.is_cancelled()) {
      note_cancelled(end.reason());
    } else {
      note_first(first_failed_, which);
      note_cancelled(stop_reason::sibling_failed);
      failures_.fetch_add(1, memory_order_relaxed); /*W3*/
    }
    if (rule_ == rule::all) subtree_.request_stop(stop_reason::sibling_failed);
  }
  [[nodiscard]] std::coroutine_handle<shared_promise> continuation_of_tasks() noexcept {
    return shared_frame::handle();
  }
  /// Returns true if those were the last.
  bool ended(std::size_t children) noexcept {
    return running_.fetch_sub(children, memory_order_acq_rel) == children; /*W1*/
  }
  void continue_parent() noexcept {
    if (parent_.home != current_executor()) {
      wake_parent();
    } else if (!has_to_give_way() || !give_way(made_at(woken_, parent_.handle, parent_.home))) {
      resume_on_return(parent_.handle);
    }
  }
  /// What goes on, on this thread, now that one more has ended: the start of the rest, the parent, or nothing.
  CORACLE_TRANSFER_ABI() std::coroutine_handle<> after_one() noexcept {
    return is_last() ? transfer_to_parent() : after_one_not_last();
  }
  CORACLE_TRANSFER_ABI() std::coroutine_handle<> after_one_not_last() noexcept {
    if (!has_taken_back()) return after_one_of_several();
    --apart_;  // it is over, and does not run beside the rest
    return transfer_to(start_frame::handle());
  }
  /// The same, for one that was over at once.
  CORACLE_TRANSFER_ABI()
  CORACLE_SAVES_REGISTERS()
  std::coroutine_handle<> after_none() noexcept { return after_one(); }
  CORACLE_TRANSFER_ABI() std::coroutine_handle<> transfer_to_parent() noexcept {
    if (parent_.home != current_executor()) return wake_parent();
    return this_thread().budget.spend_join() ? give_way_before_parent() : transfer_to(parent_.handle);
  }
  /// All were over before they had to be waited for.
  CORACLE_TRANSFER_ABI() std::coroutine_handle<> after_all_at_once() noexcept {
    return has_to_give_way() ? give_way_before_parent() : transfer_to(parent_.handle);
  }
  CORACLE_TRANSFER_ABI()
  CORACLE_COLD()
  std::coroutine_handle<> give_way_before_parent() noexcept {
    const std::coroutine_handle<> parent = parent_.handle;
    return give_way(made_at(woken_, parent, parent_.home)) ? std::noop_coroutine() : transfer_to(parent);
  }
  CORACLE_TRANSFER_ABI()
  CORACLE_SAVES_REGISTERS()
  std::coroutine_handle<> wake_parent() noexcept {
    made_at(woken_, parent_.handle, parent_.home).wake();
    return std::noop_coroutine();
  }

 protected:
  /// There is an error to be thrown.
  [[nodiscard]] bool fails() const noexcept { return first_failed() && (rule_ != rule::success || !winner_); }
  /// Nobody has failed or was cancelled.
  [[nodiscard]] bool all_is_well() const noexcept {
    return cancelled_.load(memory_order_relaxed) == stop_reason::none; /*W4*/
  }
  /// Why there is no result without an error; none: there is one, or an error.
  [[nodiscard]] stop_reason cancelled() const noexcept {
    const stop_reason why = cancelled_.load(memory_order_relaxed); /*W4*/
    return why == stop_reason::none || first_failed() || winner_ ? stop_reason::none : why;
  }
  [[nodiscard]] const void* first_failed() const noexcept {
    return first_failed_.load(memory_order_relaxed); /*W4*/
  }
  [[nodiscard]] std::size_t failures() const noexcept { return failures_.load(memory_order_relaxed); } /*W4*/
  [[nodiscard]] sibling_base* winner() const noexcept { return winner_; }

  /// Once the await has ended: this may live longer than the environment in which it was awaited.
  CORACLE_ALWAYS_INLINE() void leave_subtree() noexcept {
    if (std::exchange(has_subtree_, false)) subtree_.~subtree();
  }

  [[nodiscard]] bool is_race() const noexcept { return rule_ >= rule::any; }
  /// Nobody has to be waited for, and nothing was begun.
  std::coroutine_handle<> go_on_at_once(std::coroutine_handle<> parent) noexcept {
    auto& woken = *::new (static_cast<void*>(&woken_)) waiter(parent);
    return has_to_give_way() && give_way(woken) ? std::noop_coroutine() : transfer_to(parent);
  }
  void note_cancelled(stop_reason why) noexcept { note_first(cancelled_, why); }
  CORACLE_SAVES_REGISTERS() bool is_stopped(const environment& inherited) noexcept {
    const stop_reason why = inherited.stop.reason();
    if (why != stop_reason::none) note_cancelled(why);
    return why != stop_reason::none;
  }
  /// So many are to be counted down.
  template <rule What>
  CORACLE_ALWAYS_INLINE()
  void begin(std::size_t count, const environment& inherited, std::coroutine_handle<> parent) noexcept {
    if constexpr (What == rule::collect) {
      shared_frame::promise().set_environment(&inherited);
    } else {
      shared_frame::promise().set_environment(::new (static_cast<void*>(&subtree_)) subtree(inherited));
      has_subtree_ = true;
    }
    ::new (static_cast<void*>(&parent_)) suspended{parent, current_executor()};
    running_.store(count, memory_order_relaxed); /*W5*/
  }
  /// Returns true if it is too late to start another one.
  template <rule What>
  CORACLE_ALWAYS_INLINE()
  bool too_late() noexcept {
    if constexpr (What == rule::collect) return false;
    return (subtree_.may_be_requested() || (What >= rule::any && choice_.is_claimed())) && is_too_late();
  }
  CORACLE_SAVES_REGISTERS() bool is_too_late() noexcept {
    const stop_reason why = subtree_.stop.reason();
    if (why == stop_reason::none && !choice_.is_claimed()) return false;
    note_cancelled(why == stop_reason::none ? stop_reason::lost_race : why);
    return true;
  }

  // ---- on a pool: while one child runs here, another thread may start the rest ----

  /// Called before the first child, not for a race. Returns false if this thread has no queue to steal from.
  [[nodiscard]] CORACLE_ALWAYS_INLINE() bool may_fork() noexcept {
    if (!this_thread().may_fork()) return false;
    ::new (static_cast<void*>(&rest_)) resumption{std::coroutine_handle<>(start_frame::handle())};
    stage_ = stage::forks;
    return true;
  }
  CORACLE_ALWAYS_INLINE() void offer_rest() noexcept { this_thread().forks->push(rest_); }
  [[nodiscard]] CORACLE_ALWAYS_INLINE() bool has_taken_back() const noexcept {
    const thread_state& thread = this_thread();
    return stage_ == stage::forks && thread.may_fork() && thread.forks->take_back(rest_);
  }
  /// This thread starts them all, or has done so.
  [[nodiscard]] bool is_elsewhere() const noexcept { return stage_ == stage::elsewhere; }
  /// As has_taken_back(), where that takes few instructions. Nowhere: ask that. Requires: not the last, nor elsewhere.
  [[nodiscard]] CORACLE_ALWAYS_INLINE() std::size_t taken_back_fast() const noexcept {
    const thread_state& thread = this_thread();
    if (!thread.may_fork()) [[unlikely]]
      return fork_queue::nowhere;
    return thread.forks->take_back_fast(rest_);
  }
  /// The start of the rest was not taken back by the end of the child before, which so counts itself.
  void starts_beside_another() noexcept { ++apart_; }
  /// Only one is still to be started: from here on each that ends counts itself.
  CORACLE_ALWAYS_INLINE() void offer_nothing_more(std::size_t children) noexcept {
    if (apart_ == 0) [[likely]] {
      stage_ = stage::last;
    } else if (apart_ + 1 != children) {
      ended(children - 1 - apart_);
    }
  }
  [[nodiscard]] bool is_last() const noexcept { return stage_ == stage::last; }
  /// It is too late for the rest.
  CORACLE_TRANSFER_ABI()
  CORACLE_SAVES_REGISTERS()
  std::coroutine_handle<> leave_out(std::size_t children) noexcept {
    return apart_ == 0 || ended(children - apart_) ? transfer_to_parent() : std::noop_coroutine();
  }
  CORACLE_TRANSFER_ABI()
  CORACLE_ALWAYS_INLINE() std::coroutine_handle<> after_one_of_several() noexcept {
    if (!is_starting_here()) return count_one_down();
    over_while_starting();
    return std::noop_coroutine();
  }
  CORACLE_TRANSFER_ABI()
  CORACLE_SAVES_REGISTERS()
  std::coroutine_handle<> count_one_down() noexcept {
    return ended(1) ? transfer_to_parent() : std::noop_coroutine();
  }

  // ---- elsewhere this thread starts them all ----

  /// What ends meanwhile on this thread is not counted down.
  void begin_starting() noexcept { starts_on_.store(&this_thread(), memory_order_relaxed); } /*W6*/
  void over_while_starting() noexcept { ++apart_; }
  /// Returns false if all have ended.
  bool end_starting(std::size_t children) noexcept {
    starts_on_.store(nullptr, memory_order_relaxed);  /*W6*/
    return apart_ != children && !ended(apart_ + 1);  // with the one for the starter
  }
  [[nodiscard]] bool is_starting_here() const noexcept {
    return starts_on_.load(memory_order_relaxed) == &this_thread(); /*W6*/
  }

  /// Starts them when the outermost of the starts on this thread is about to return.
  void start_later(nested_start& too_deep, start_frame::function* start) noexcept {
    start_frame::set_function(start);
    too_deep.put_off(made_at(late_, start_frame::handle(), parent_.home));
  }

 private:
  static waiter& made_at(waiter& place, std::coroutine_handle<> handle, executor* home) noexcept {
    auto& made = *::new (static_cast<void*>(&place)) waiter;
    made.handle = handle;
    made.home = home;
    return made;
  }
  static void task_failed(shared_promise& self, const void* task) noexcept {
    const auto handle = std::coroutine_handle<shared_promise>::from_promise(self);
    auto& frame = *static_cast<basic_callback_frame<shared_promise>*>(handle.address());
    siblings& all = static_cast<siblings&>(static_cast<shared_frame&>(frame));
    if (all.collects()) return;
    outcome<void> end;
    end.emplace_from(&rethrow_current);
    all.note_failure(task, end);
  }
  /// Of those that come at the same time any may be the first.
  template <class T>
  static void note_first(atomic<T>& first, T mine) noexcept {
    if (first.load(memory_order_relaxed) == T{}) first.store(mine, memory_order_relaxed); /*W2*/
  }
  void decide(sibling_base& one, bool has_claimed) noexcept {
    if (!has_claimed && !choice_.claim()) return;
    winner_ = &one;
    if (has_subtree_) subtree_.request_stop(stop_reason::lost_race);  // else no other has been started
  }

  //   [W1] count down              acq_rel  publish this child's end; the last one sees the ends of all
  //   [W2] notes who was first     relaxed  orders nothing: it is read after the last W1
  //   [W3] counts failures         relaxed  orders nothing: it is read after the last W1
  //   [W4] load                    relaxed  after the last W1
  //   [W5] store                   relaxed  no child has been started yet
  //   [W6] who starts              relaxed  a thread finds itself there only where it has written that
  // In such an order that compilers write what is 0 at first by stores that do not overlap: a load that needs
  // two of them waits for both.
  atomic<const thread_state*> starts_on_{nullptr};
  atomic<const void*> first_failed_{nullptr};  // with an error, in time
  plain<sibling_base*> winner_ = nullptr;      // of choice_
  atomic<std::size_t> failures_{0};
  atomic<std::size_t> running_{0};
  // Where they are divided: of those started, who count themselves; belongs to whoever starts the next one. Elsewhere: those
  // that have ended and are not counted down.
  plain<std::size_t> apart_ = 0;
  choice choice_;  // any: whoever claims it
  atomic<stop_reason> cancelled_{
      stop_reason::none};  // of the first that was or failed; or of them all, none being started
  const rule rule_;
  // forks: what starts the rest is in a queue, or runs; last: only the child that was started last runs
  enum class stage : std::uint8_t { elsewhere, forks, last };
  plain<stage> stage_ = stage::elsewhere;
  bool has_subtree_ = false;
  // Of these each is made when it is needed.
  struct suspended {
    plain<std::coroutine_handle<>> handle;
    plain<executor*> home;
  };
  union {
    suspended parent_;
    waiter woken_;  // when it is posted
  };
  union {
    resumption rest_;
    waiter late_;
  };
  union {
    subtree subtree_;
  };
};

inline const environment* sibling_promise::get_environment() const noexcept {
  return together->environment_of_children();
}
inline choice* sibling_promise::get_choice() noexcept {
  choice* const one_of = together->get_choice();
  claims_before_its_end = one_of != nullptr;
  return one_of;
}
}  // namespace detail
}  // namespace coracle
