// coracle/compose/detail/siblings_operation.hpp -- the control flow of when_all and when_any.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/compose/detail/countdown.hpp>
#include <coracle/compose/detail/divided_start.hpp>
#include <coracle/compose/detail/gathered_results.hpp>
#include <coracle/core/detail/stopped_tasks.hpp>
#include <coracle/core/error_group.hpp>
#include <coracle/core/invoke.hpp>

namespace coracle::detail {
/// Starts children in order and suspends their parent until all have ended. `Children` is a tuple or a
/// vector. In short:
///
///   await_suspend() -> start()          on a pool                       elsewhere, and for a race
///                      start_child()    the first; the rest is offered  start_undivided(): start_all()
///   a child ends ->    child_is_over()  takes the rest back             counts it down
///                      start_rest()     goes on with the next one
///   the last one ends  child_is_over()  countdown::transfer_to_parent()
///   the parent         throw_failure(), then the result of when_all() or when_any()
///
/// If an idle thread takes the rest first, it begins with start_rest().
template <siblings::rule Rule, class Children>
class siblings_operation : public siblings {
 public:
  /// The children, if they are in a vector, or the arguments from which each is made.
  template <class... Args>
  explicit siblings_operation(std::in_place_t, Args&&... args)
      : siblings(Rule, &child_is_over, &functions), children_(static_cast<Args&&>(args)...) {}
  /// Requires: not awaited yet.
  siblings_operation(siblings_operation&& other)
      : siblings(Rule, &child_is_over, &functions), children_(std::move(other.children_)) {}

  bool await_ready() const noexcept { return false; }
  template <class Promise>
  CORACLE_TRANSFER_ABI()
  CORACLE_ALWAYS_INLINE() std::coroutine_handle<> await_suspend(
      std::coroutine_handle<Promise> parent) noexcept {
    this->awaited_by_ = awaiting_frame::kind_of<Promise>;
    return start(environment_or_empty(detail::environment_of(parent)), parent);
  }

 private:
  CORACLE_TRANSFER_ABI()
  CORACLE_NOINLINE()
  std::coroutine_handle<> start(const environment& inherited, std::coroutine_handle<> parent) noexcept {
    CORACLE_CHECK(!is_race || !this->winner(),
                  "a when_any or select was awaited twice: make a new one for each await");
    // Children that end while others are started are counted there, once.
    CORACLE_CHECK(is_race || start_.none_apart(),
                  "a when_all was awaited twice: make a new one for each await");
    if (stop_registration::may_be_late(inherited.stop) && this->note_if_stopped(inherited)) [[unlikely]] {
      end_if_stopped(parent);
      return transfer_to(parent);
    }
    if (count() == 0 || try_leading_children()) {
      running_.suspend(parent);
      return running_.transfer_back();
    }
    if constexpr (is_race) {
      return start_undivided(inherited, parent);
    } else {
      if (!start_.divide(&start_rest, *this)) return start_undivided(inherited, parent);
      this->template set_environment<Rule>(inherited);
      running_.begin(count(), parent);
      return start_child<0>(0, fork_queue::nowhere);
    }
  }

  // ---- divided among the threads of a pool ----

  /// Starts a child that is not before `First`, and returns the coroutine to resume. `First` is 0 only for
  /// the first start; in a tuple it limits the search for the child, and shows early that one child is all.
  /// `position`: for divided_start::offer_rest().
  template <std::size_t First>
  CORACLE_TRANSFER_ABI()
  CORACLE_ALWAYS_INLINE() std::coroutine_handle<> start_child(std::size_t which,
                                                              std::size_t position) noexcept {
    if (which + 1 != count() && (First + 1 != count() || is_range)) [[likely]] {
      start_.offer_rest(which + 1, position);
    } else if (const std::size_t ended = start_.offer_nothing(count()); ended != 0) [[unlikely]] {
      running_.count_down(ended);
    }
    const std::coroutine_handle<> child = begin_child<First>(which);
    return child ? child : ended_in_start();
  }
  CORACLE_TRANSFER_ABI()
  CORACLE_ALWAYS_INLINE() std::coroutine_handle<> start_next(std::size_t position) noexcept {
    const std::size_t which = start_.next();
    if (this->template too_late<Rule>()) [[unlikely]]
      return leave_rest_out();
    return start_child<1>(which, position);
  }
  CORACLE_TRANSFER_ABI()
  CORACLE_SAVES_REGISTERS()
  std::coroutine_handle<> leave_rest_out() noexcept {
    const bool is_last = start_.none_apart() || running_.count_down(start_.uncounted(count()));
    return is_last ? continue_parent() : std::noop_coroutine();
  }
  CORACLE_TRANSFER_ABI()
  CORACLE_SAVES_REGISTERS()
  std::coroutine_handle<> ended_in_start() noexcept { return transfer_to(this->continuation()); }

  /// Resumed by the thread that takes the start of the rest while the previous child still runs or waits.
  CORACLE_TRANSFER_ABI() static void start_rest(start_frame* self) {
    auto& mine = static_cast<siblings_operation&>(*self->handle().promise().children);
    mine.start_.one_apart();
    const std::coroutine_handle<> next = mine.start_next(fork_queue::nowhere);
    CORACLE_RETURN_TO(self, next);
  }
  /// Resumed by each child at its end.
  CORACLE_TRANSFER_ABI() static void child_is_over(basic_callback_frame<shared_promise>* self) {
    auto& mine = static_cast<siblings_operation&>(static_cast<shared_frame&>(*self));
    std::coroutine_handle<> next;
    if constexpr (is_race) {
      next = mine.count_one_down();
    } else if (mine.start_.is_last()) {
      next = mine.continue_parent();
    } else if (!mine.start_.is_divided()) {
      next = mine.count_one_down();
    } else if (const std::size_t position = mine.start_.take_back_fast(); position != fork_queue::nowhere)
        [[likely]] {
      next = mine.start_next(position);
    } else {
      next = mine.child_is_over_slowly();
    }
    CORACLE_RETURN_TO(self, next);
  }
  CORACLE_TRANSFER_ABI()
  CORACLE_ALWAYS_INLINE() std::coroutine_handle<> child_is_over_slowly() noexcept {
    if (!start_.take_back()) return count_one_down();
    start_.one_less_apart();  // start_rest() counts it as running
    return transfer_to(start_.rest());
  }
  CORACLE_TRANSFER_ABI()
  CORACLE_ALWAYS_INLINE() std::coroutine_handle<> count_one_down() noexcept {
    if (start_.in_loop()) {
      start_.over_in_loop();
      return std::noop_coroutine();
    }
    return count_down_now();
  }
  CORACLE_TRANSFER_ABI()
  CORACLE_SAVES_REGISTERS()
  std::coroutine_handle<> count_down_now() noexcept {
    return running_.count_down(1) ? continue_parent() : std::noop_coroutine();
  }

  // ---- undivided ----

  CORACLE_TRANSFER_ABI()
  CORACLE_NOINLINE()
  std::coroutine_handle<> start_undivided(const environment& inherited,
                                          std::coroutine_handle<> parent) noexcept {
    this->template set_environment<Rule>(inherited);
    running_.begin(count() + 1, parent);  // one for start_all()
    nested_start nested;
    if (nested.too_deep()) [[unlikely]] {
      start_.put_off(nested, &start_late, *this);
      return std::noop_coroutine();
    }
    if (start_all()) return std::noop_coroutine();
    end_if_stopped(running_.parent());
    return running_.transfer_back();
  }
  /// Returns false if all have ended.
  CORACLE_ALWAYS_INLINE() bool start_all() noexcept {
    start_.begin_loop();
    for_each([this](auto&& one) {
      if (this->template too_late<Rule>() || !one.start(*this)) start_.over_in_loop();
    });
    const std::size_t ended = start_.end_loop();
    return ended != count() && !running_.count_down(ended + 1);
  }
  static void start_late(start_frame* self) {
    auto& mine = static_cast<siblings_operation&>(*self->handle().promise().children);
    if (mine.start_all()) return;
    mine.end_if_stopped(mine.running_.parent());
    mine.running_.continue_parent();
  }
  /// Tries the leading children that can be carried out without a wait. Returns true if one was: it has won,
  /// and nothing need be started. The effect is as if all had been started in order, and those before it had
  /// been stopped.
  bool try_leading_children() noexcept {
    bool goes_on = Rule == rule::any, found = false;
    if constexpr (Rule == rule::any) {
      for_each([&](auto&& one) {
        goes_on = goes_on && one.can_try && !found;
        if (goes_on) found = one.try_at_once(*this);
      });
    }
    return found;
  }

  // ---- the parent continues, or is ended ----

  CORACLE_TRANSFER_ABI() CORACLE_ALWAYS_INLINE() std::coroutine_handle<> continue_parent() noexcept {
    end_if_stopped(running_.parent());
    return running_.transfer_to_parent();
  }
  /// If the children were stopped and the parent is a task, has it ended when it is resumed, unless it must
  /// throw.
  CORACLE_ALWAYS_INLINE() void end_if_stopped(std::coroutine_handle<> parent) noexcept {
    if constexpr (Rule != rule::collect) {
      const bool has_result = Rule == rule::all ? this->all_gave_values() : this->winner() != nullptr;
      if (!has_result) [[unlikely]]
        end_stopped(parent);
    }
  }
  CORACLE_SAVES_REGISTERS() void end_stopped(std::coroutine_handle<> parent) noexcept {
    if (this->awaited_by_ != awaiting_frame::kind::task) return;
    if (const stop_reason why = this->cancelled(); why != stop_reason::none)
      static_cast<void>(stopped_parent::note(parent, why));
  }
  static awaiting_frame above(shared_promise& self, stop_reason why) noexcept {
    auto& mine = static_cast<siblings_operation&>(siblings::from(self));
    if (mine.ends_unseen(why)) return {nullptr, awaiting_frame::kind::quiet};
    return {mine.running_.parent().address(), mine.awaited_by_};
  }
  static constexpr shared_promise::functions functions{&siblings::task_failed, &above};

 protected:
  static constexpr bool is_range = requires(Children& c) { c.begin(); };

  // ---- the parent takes the results ----

  /// What throw_failure() throws unless the children were stopped, or null.
  [[nodiscard]] std::exception_ptr failure() noexcept {
    this->leave_subtree();
    return this->fails() ? gather_errors().together() : nullptr;
  }
  /// Throws all errors, or the cancellation, if the children ended that way.
  CORACLE_ALWAYS_INLINE() void throw_failure() {
    this->leave_subtree();
    if (!this->all_gave_values()) [[unlikely]]
      throw_first_failure();
  }
  Children& children() noexcept { return children_; }
  /// Returns `f` of each child, in a tuple or a vector as the children are.
  template <class F>
  auto collect(F f) {
    if constexpr (is_range) {
      using result = decltype(f(detail::as_sibling(*children_.begin())));
      return vector_beside<Children, result>::make(children_, each_result(f, children_.begin()),
                                                   each_result(f, children_.end()));
    } else {
      return detail::apply_to_each(
          [&f](auto&... each) {
            return std::tuple<decltype(f(detail::as_sibling(each)))...>{f(detail::as_sibling(each))...};
          },
          children_);
    }
  }

 private:
  CORACLE_COLD() void throw_first_failure() {
    if (this->fails()) gather_errors().throw_together();
    if (const stop_reason why = this->cancelled(); why != stop_reason::none) throw_cancelled(why);
  }
  gathered_errors gather_errors() noexcept {
    gathered_errors errors;
    for_each([&errors, first = this->failures().first_failed()](auto&& one) {
      one.name() == first ? errors.add_first(one.get().error()) : errors.add(one.get().error());
    });
    return errors;
  }

  static constexpr bool is_race = Rule >= rule::any;

  [[nodiscard]] std::size_t count() const noexcept {
    if constexpr (is_range) {
      return children_.size();
    } else {
      return std::tuple_size_v<Children>;
    }
  }
  template <class F>
  void for_each(F f) {
    if constexpr (is_range) {
      for (auto& one : children_) f(detail::as_sibling(one));
    } else {
      detail::apply_to_each([&f](auto&... each) { (f(detail::as_sibling(each)), ...); }, children_);
    }
  }
  template <std::size_t At>
  CORACLE_ALWAYS_INLINE()
  std::coroutine_handle<> begin_child(std::size_t which) noexcept {
    if constexpr (is_range) {
      return detail::as_sibling(children_[which]).begin(*this);
    } else if constexpr (At >= std::tuple_size_v<Children>) {
      return nullptr;
    } else {
      if constexpr (At + 1 != std::tuple_size_v<Children>) {
        if (which != At) return begin_child<At + 1>(which);
      }
      return detail::as_sibling(std::get<At>(children_)).begin(*this);
    }
  }

  countdown running_;
  divided_start start_;
  Children children_;
};
}  // namespace coracle::detail
