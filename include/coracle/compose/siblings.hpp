// coracle/compose/siblings.hpp -- children that one coroutine awaits together: what when_all and when_any share.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/core/callback_frame.hpp>
#include <coracle/core/choice.hpp>
#include <coracle/core/executor.hpp>
#include <coracle/core/fork_queue.hpp>
#include <coracle/core/nested_starts.hpp>
#include <coracle/core/result.hpp>
#include <coracle/core/subtree.hpp>
#include <coracle/detail/atomic.hpp>
#include <cstddef>
#include <optional>

namespace coracle {
/// Stands for the result of an awaitable that has none.
struct void_value {};

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

/// Counts them down, stops those that are not needed any more, and continues the coroutine that awaits them.
class siblings {
 public:
  enum class rule : std::uint8_t {
    collect,  ///< every outcome counts, nobody is stopped
    all,      ///< every value counts: one that gives none stops the others
    any       ///< the first value or error counts, and stops the others
  };
  explicit siblings(rule what_counts) noexcept : rule_(what_counts) {}
  siblings(const siblings& other) noexcept : rule_(other.rule_) {}  // of one that is not awaited yet
  siblings& operator=(const siblings&) = delete;

  [[nodiscard]] choice* get_choice() noexcept { return rule_ == rule::any ? &choice_ : nullptr; }

  // Called by the children, on whichever threads they end. `has_claimed`: the choice is this child's already.
  [[nodiscard]] bool collects() const noexcept { return rule_ == rule::collect; }
  [[nodiscard]] const environment* environment_of_children() const noexcept { return children_inherit_; }
  void gave_value(sibling_base& one, bool has_claimed) noexcept {
    if (rule_ == rule::any) decide(one, has_claimed);
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
      failures_.fetch_add(1, memory_order_relaxed); /*W3*/
    }
    if (rule_ == rule::all) subtree_->request_stop(stop_reason::sibling_failed);
  }
  /// The continuation of those that are tasks, but for the rule `any`, by which each has its own.
  [[nodiscard]] std::coroutine_handle<shared_promise> continuation_of_tasks() noexcept {
    return tasks_end_.handle();
  }
  /// True: those were the last.
  bool ended(std::size_t children) noexcept {
    return running_.fetch_sub(children, memory_order_acq_rel) == children; /*W1*/
  }
  void continue_parent() noexcept {
    if (parent_.home == current_executor()) {
      resume_on_return(parent_.handle);
    } else {
      parent_.wake();
    }
  }
  /// What goes on, on this thread, now that one more has ended: the start of the rest, the parent, or nothing.
  CORACLE_TRANSFER_ABI() std::coroutine_handle<> after_one() noexcept {
    if (!others_have_ended_) {
      if (has_taken_back()) {
        ++over_;
        return transfer_to(starter_->handle());
      }
      if (is_starting_here()) {
        ++over_;
        return std::noop_coroutine();
      }
      if (!ended(1)) return std::noop_coroutine();
    }
    return transfer_to_parent();
  }
  CORACLE_TRANSFER_ABI() std::coroutine_handle<> transfer_to_parent() noexcept {
    if (parent_.home == current_executor()) return transfer_to(parent_.handle);
    parent_.wake();
    return std::noop_coroutine();
  }

 protected:
  /// Why there is no result without an error; none: there is one, or an error.
  [[nodiscard]] stop_reason cancelled() const noexcept {
    if (first_failed() || winner_) return stop_reason::none;
    return cancelled_.load(memory_order_relaxed); /*W4*/
  }
  [[nodiscard]] const void* first_failed() const noexcept {
    return first_failed_.load(memory_order_relaxed); /*W4*/
  }
  [[nodiscard]] std::size_t failures() const noexcept { return failures_.load(memory_order_relaxed); } /*W4*/
  [[nodiscard]] sibling_base* winner() const noexcept { return winner_; }

  [[nodiscard]] bool is_race() const noexcept { return rule_ == rule::any; }
  /// One has ended before any was started.
  std::coroutine_handle<> go_on_at_once(std::coroutine_handle<> parent) noexcept {
    parent_.suspend(parent);
    return has_to_give_way() && give_way(parent_) ? std::noop_coroutine() : transfer_to(parent);
  }
  void note_cancelled(stop_reason why) noexcept { note_first(cancelled_, why); }
  /// Throws std::bad_alloc. So many are to be counted down.
  void begin(std::size_t count, const environment* inherited, std::coroutine_handle<> parent) {
    children_inherit_ = inherited;
    if (!collects()) children_inherit_ = &subtree_.emplace(environment_or_empty(inherited));
    tasks_end_.handle().promise().set_environment(children_inherit_);
    parent_.suspend(parent);
    running_.store(count, memory_order_relaxed); /*W5*/
  }
  /// True: it is too late to start another one.
  bool too_late() noexcept {
    if (collects() || !(subtree_->stop.stop_requested() || choice_.is_claimed())) [[likely]]
      return false;
    const stop_reason why = subtree_->stop.reason();
    note_cancelled(why == stop_reason::none ? stop_reason::lost_race : why);
    return true;
  }

  // ---- on a pool: while one child runs here, another thread may start the rest ----

  /// Before the first. False: this thread has no queue from which others take.
  bool may_fork(callback_frame::function* start_rest) noexcept {
    thread_state& thread = this_thread();
    if (rule_ == rule::any || !thread.forks || thread.forks->place() != thread.current) return false;
    starter_.emplace(start_rest, *this);
    starter_->entry.handle = starter_->handle();
    return true;
  }
  void offer_rest() noexcept { this_thread().forks->push(starter_->entry); }
  [[nodiscard]] bool has_taken_back() noexcept {
    thread_state& thread = this_thread();
    return starter_ && thread.forks && thread.forks->place() == thread.current &&
           thread.forks->take_back(starter_->entry);
  }
  /// Only one is still to be started: from here on each that ends counts itself.
  void offer_nothing_more(std::size_t children) noexcept {
    if (over_ + 1 == children) {
      others_have_ended_ = true;
    } else if (over_ != 0) {
      ended(over_);
    }
  }
  /// Children that have ended and are not counted down. Belongs to whoever starts the next one.
  plain<std::size_t> over_ = 0;

  // ---- elsewhere this thread starts them all ----

  /// What ends meanwhile on this thread is added to over_.
  void begin_starting() noexcept { starts_on_.store(&this_thread(), memory_order_relaxed); } /*W6*/
  /// False: all have ended.
  bool end_starting(std::size_t children) noexcept {
    starts_on_.store(nullptr, memory_order_relaxed); /*W6*/
    return over_ != children && !ended(over_ + 1);   // with the one for the starter
  }
  [[nodiscard]] bool is_starting_here() const noexcept {
    return starts_on_.load(memory_order_relaxed) == &this_thread(); /*W6*/
  }

  /// Starts them when the outermost of the starts on this thread is about to return.
  template <class Operation>
  void start_later(nested_start& too_deep) noexcept {
    starter_.emplace(&Operation::start_now, *this);
    starter_->entry.handle = starter_->handle();
    starter_->entry.home = parent_.home;
    too_deep.put_off(starter_->entry);
  }
  struct late_start : callback_frame {
    late_start(function* start, siblings& all) noexcept : callback_frame(start, nullptr), together(all) {}
    siblings& together;
    waiter entry;
  };

 private:
  struct end_of_a_task : shared_frame {
    explicit end_of_a_task(siblings& all) noexcept : shared_frame(&over, &failed), together(all) {}
    CORACLE_TRANSFER_ABI() static void over(basic_callback_frame* self) {
      const std::coroutine_handle<> target = static_cast<end_of_a_task*>(self)->together.after_one();
      CORACLE_RETURN_TO(self, target);
    }
    static void failed(shared_promise& self, const void* task) noexcept {
      const auto handle = std::coroutine_handle<shared_promise>::from_promise(self);
      auto& frame = *static_cast<basic_callback_frame*>(handle.address());
      siblings& all = static_cast<end_of_a_task&>(frame).together;
      if (all.collects()) return;
      outcome<void> end;
      end.emplace_from(&rethrow_current);
      all.note_failure(task, end);
    }
    siblings& together;
  };
  /// Of those that come at the same time any may be the first.
  template <class T>
  static void note_first(atomic<T>& first, T mine) noexcept {
    if (first.load(memory_order_relaxed) == T{}) first.store(mine, memory_order_relaxed); /*W2*/
  }
  void decide(sibling_base& one, bool has_claimed) noexcept {
    if (!has_claimed && !choice_.claim()) return;
    winner_ = &one;
    if (subtree_) subtree_->request_stop(stop_reason::lost_race);  // else no other has been started
  }

  //   [W1] count down              acq_rel  publish this child's end; the last one sees the ends of all
  //   [W2] notes who was first     relaxed  orders nothing: it is read after the last W1
  //   [W3] counts failures         relaxed  orders nothing: it is read after the last W1
  //   [W4] load                    relaxed  after the last W1
  //   [W5] store                   relaxed  no child has been started yet
  //   [W6] who starts              relaxed  a thread finds itself there only where it has written that
  atomic<std::size_t> running_{0};
  atomic<const thread_state*> starts_on_{nullptr};
  choice choice_;                              // any: whoever claims it
  plain<sibling_base*> winner_ = nullptr;      // is the winner
  atomic<const void*> first_failed_{nullptr};  // with an error, in time
  atomic<std::size_t> failures_{0};
  atomic<stop_reason> cancelled_{
      stop_reason::none};  // of the first that was; or of them all, none being started
  const rule rule_;
  const environment* children_inherit_ = nullptr;
  waiter parent_;
  end_of_a_task tasks_end_{*this};
  std::optional<subtree> subtree_;
  std::optional<late_start> starter_;
  plain<bool> others_have_ended_ = false;  // only the last child that was started runs
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
