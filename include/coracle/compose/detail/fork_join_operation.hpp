// coracle/compose/detail/fork_join_operation.hpp -- tasks that run in parallel until all of them have ended.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/compose/detail/countdown.hpp>
#include <coracle/compose/detail/gathered_results.hpp>
#include <coracle/core/detail/fork_queue.hpp>
#include <coracle/core/detail/nested_starts.hpp>
#include <coracle/core/detail/stopped_tasks.hpp>
#include <coracle/core/error_group.hpp>
#include <cstddef>
#include <cstdint>

namespace coracle::detail {
struct rest_promise {};
/// The frame that is resumed to start the children that have not been started.
using rest_frame = basic_callback_frame<rest_promise>;

/// Starts tasks in order and suspends their parent until all have ended. On a pool, the start of the rest is
/// offered in this thread's fork queue before a child runs:
///
///   await_suspend()    starts the first child
///   child_is_over()    takes the rest back and starts the next child; if another thread has the rest, the
///                      child is counted down
///   start_rest()       that thread starts the next child
///   last_is_over()     the last child ran alone: continues the parent
///
/// Elsewhere, start_all() starts the children in a loop, and each is counted down.
//
// Unlike when_all(), it cannot stop its children, race them, or await anything but tasks. That halves its
// stores, which dominate the cost of a child that ends inside its start. A child that still runs when another
// thread goes on to the next one is apart, and counts itself down; the others are counted down together. The
// thread that has the rest owns apart_ and next_.
//   [K1] a child failed  relaxed  the countdown orders it before the parent's K2
//   [K2] did one fail?   relaxed  before another child is started, a hint
template <class... Ts>
class [[nodiscard("fork_join does nothing until it is awaited")]] fork_join_operation : shared_frame,
                                                                                        rest_frame {
  using joined_frame = basic_callback_frame<shared_promise>;
  static constexpr std::size_t count = sizeof...(Ts);

 public:
  explicit fork_join_operation(task<Ts>&&... each) noexcept
      : shared_frame(&child_is_over, &functions), rest_frame(&start_rest), children_(std::move(each)...) {}
  /// Requires: not awaited yet.
  fork_join_operation(fork_join_operation&& other) noexcept
      : shared_frame(&child_is_over, &functions),
        rest_frame(&start_rest),
        children_(std::move(other.children_)) {}
  ~fork_join_operation() {}

  bool await_ready() const noexcept { return false; }
  template <class Promise>
  CORACLE_TRANSFER_ABI()
  CORACLE_ALWAYS_INLINE() std::coroutine_handle<> await_suspend(
      std::coroutine_handle<Promise> parent) noexcept {
    awaited_by_ = awaiting_frame::kind_of<Promise>;
    shared_frame::promise().set_environment(detail::environment_of(parent));
    running_.begin(count, parent);
    if (!this_thread().may_fork()) [[unlikely]]
      return start_undivided();
    const std::coroutine_handle<> rest = rest_frame::handle();
    ::new (static_cast<void*>(&rest_)) resumption{rest};
    return start_child<0>(0, fork_queue::nowhere);
  }
  [[nodiscard]] stop_reason await_cancelled() noexcept {
    return none_failed() ? stop_reason::none : failure().reason();
  }
  [[nodiscard]] std::exception_ptr await_failure() noexcept {
    return none_failed() ? nullptr : failure().error();
  }
  auto await_resume() {
    if (!none_failed()) [[unlikely]]
      throw_failure();
    using results = std::tuple<element_t<kept_result_t<task<Ts>>>...>;
    return detail::apply_to_each(
        [](auto&... each) { return results{detail::element_of(detail::as_sibling(each))...}; }, children_);
  }

 private:
  // ---- divided among the threads of a pool ----

  /// As siblings_operation::start_child().
  template <std::size_t First>
  CORACLE_TRANSFER_ABI()
  CORACLE_ALWAYS_INLINE() std::coroutine_handle<> start_child(std::size_t which,
                                                              std::size_t position) noexcept {
    if (First + 1 != count && which + 1 != count) {
      if constexpr (count > 2) next_ = which + 1;
      if (position == fork_queue::nowhere) {
        this_thread().forks->push(rest_);
        this_thread().forks->note_start();
      } else {
        this_thread().forks->push_again(position);
      }
    } else if (apart_ == 0) [[likely]] {
      joined_frame::set_function(&last_is_over);
    } else if (const std::size_t ended = count - 1 - apart_; ended != 0) {
      running_.count_down(ended);
    }
    const std::coroutine_handle<> child = begin_child<First>(which);
    return child ? child : ended_in_start();
  }
  CORACLE_TRANSFER_ABI()
  CORACLE_ALWAYS_INLINE() std::coroutine_handle<> start_next(std::size_t position) noexcept {
    if (!none_failed()) [[unlikely]]
      return leave_rest_out();
    if constexpr (count > 2) {
      return start_child<1>(next_, position);
    } else {
      return start_child<1>(1, position);
    }
  }
  CORACLE_TRANSFER_ABI()
  CORACLE_SAVES_REGISTERS()
  std::coroutine_handle<> leave_rest_out() noexcept {
    const bool is_last = apart_ == 0 || running_.count_down(count - apart_);
    return is_last ? continue_parent() : std::noop_coroutine();
  }
  CORACLE_TRANSFER_ABI()
  CORACLE_SAVES_REGISTERS()
  std::coroutine_handle<> ended_in_start() noexcept { return transfer_to(shared_frame::handle()); }

  /// Resumed by the thread that takes the start of the rest while the previous child still runs or waits.
  CORACLE_TRANSFER_ABI() static void start_rest(rest_frame* self) {
    auto& mine = static_cast<fork_join_operation&>(*self);
    ++mine.apart_;
    this_thread().forks->note_start();
    const std::coroutine_handle<> next = mine.start_next(fork_queue::nowhere);
    CORACLE_RETURN_TO(self, next);
  }
  /// Resumed by each child at its end, unless one of the two below is.
  CORACLE_TRANSFER_ABI() static void child_is_over(joined_frame* self) {
    auto& mine = from(self);
    const thread_state& thread = this_thread();
    std::size_t position = fork_queue::nowhere;
    if (thread.may_fork()) [[likely]]
      position = thread.forks->take_back_fast(mine.rest_);
    std::coroutine_handle<> next;
    if (position != fork_queue::nowhere) [[likely]] {
      next = mine.start_next(position);
    } else {
      next = mine.child_is_over_slowly();
    }
    CORACLE_RETURN_TO(self, next);
  }
  CORACLE_TRANSFER_ABI()
  CORACLE_COLD()
  std::coroutine_handle<> child_is_over_slowly() noexcept {
    const thread_state& thread = this_thread();
    if (thread.may_fork() && thread.forks->take_back(rest_)) return start_next(fork_queue::nowhere);
    return count_one_down();
  }
  CORACLE_TRANSFER_ABI() static void last_is_over(joined_frame* self) {
    const std::coroutine_handle<> next = from(self).continue_parent();
    CORACLE_RETURN_TO(self, next);
  }

  // ---- undivided ----

  CORACLE_TRANSFER_ABI()
  CORACLE_NOINLINE()
  std::coroutine_handle<> start_undivided() noexcept {
    joined_frame::set_function(&one_is_over);
    running_.add_one();  // for start_all()
    nested_start nested;
    if (nested.too_deep()) [[unlikely]] {
      rest_frame::set_function(&start_late);
      nested.put_off(*::new (static_cast<void*>(&late_)) waiter(rest_frame::handle()));
      return std::noop_coroutine();
    }
    return start_all() ? std::noop_coroutine() : running_.transfer_back();
  }
  /// Returns false if all have ended.
  bool start_all() noexcept {
    std::size_t ended = 1;
    for_each([this, &ended](auto& each) {
      if (!none_failed() || !start(each)) ++ended;
    });
    if (!running_.count_down(ended)) return true;
    end_if_stopped();
    return false;
  }
  static void start_late(rest_frame* self) {
    auto& mine = static_cast<fork_join_operation&>(*self);
    if (!mine.start_all()) mine.running_.continue_parent();
  }
  CORACLE_TRANSFER_ABI() static void one_is_over(joined_frame* self) {
    const std::coroutine_handle<> next = from(self).count_one_down();
    CORACLE_RETURN_TO(self, next);
  }

  // ---- both ----

  CORACLE_TRANSFER_ABI() std::coroutine_handle<> count_one_down() noexcept {
    return running_.count_down(1) ? continue_parent() : std::noop_coroutine();
  }
  CORACLE_TRANSFER_ABI() CORACLE_ALWAYS_INLINE() std::coroutine_handle<> continue_parent() noexcept {
    if (!none_failed()) [[unlikely]]
      end_if_stopped();
    return running_.transfer_to_parent();
  }
  [[nodiscard]] bool none_failed() const noexcept { return !failed_.load(memory_order_relaxed); } /*K2*/
  void note_failure() noexcept { failed_.store(true, memory_order_relaxed); }                     /*K1*/

  template <class T>
  using child_of = task_child<T, task<T>&>;
  template <std::size_t At>
  CORACLE_ALWAYS_INLINE()
  std::coroutine_handle<> begin_child(std::size_t which) noexcept {
    if constexpr (At >= count) {
      return nullptr;
    } else {
      if constexpr (At + 1 != count) {
        if (which != At) return begin_child<At + 1>(which);
      }
      return begin(std::get<At>(children_));
    }
  }
  /// Returns the coroutine to resume, or null if the task had ended before.
  template <class T>
  CORACLE_ALWAYS_INLINE()
  std::coroutine_handle<> begin(task<T>& each) noexcept {
    const std::coroutine_handle<> body = child_of<T>{each}.begin(shared_frame::handle());
    if (!body) note_end_of(each);
    return body;
  }
  /// Returns false if the task had ended before.
  template <class T>
  bool start(task<T>& each) noexcept {
    if (child_of<T>{each}.start(shared_frame::handle())) return true;
    note_end_of(each);
    return false;
  }
  template <class T>
  CORACLE_COLD()
  void note_end_of(task<T>& each) noexcept {
    if (!child_of<T>{each}.finish()) note_failure();
  }
  template <class F>
  void for_each(F f) {
    detail::apply_to_each([&f](auto&... each) { (f(each), ...); }, children_);
  }
  /// Calls `f` with how each child ended that has no value.
  template <class F>
  void for_each_failure(F f) {
    for_each([&f]<class T>(task<T>& each) {
      child_of<T> child{each};
      if (!child.finish()) f(child.failure());
    });
  }

  // ---- after the last child has ended, if one has no value ----

  /// Returns the errors; if there are none, why a child was stopped.
  [[nodiscard]] CORACLE_COLD() outcome<void> failure() noexcept {
    gathered_errors errors;
    stop_reason why = stop_reason::none;
    for_each_failure([&](const outcome<void>& end) {
      errors.add(end.error());
      if (why == stop_reason::none) why = end.reason();
    });
    outcome<void> all;
    errors.empty() ? all.emplace_cancelled(why) : all.emplace_error(errors.together());
    return all;
  }
  /// If the children were stopped and the parent is a task, has it ended when it is resumed, unless it must
  /// throw.
  CORACLE_SAVES_REGISTERS() void end_if_stopped() noexcept {
    if (none_failed() || awaited_by_ != awaiting_frame::kind::task) return;
    if (const stop_reason why = failure().reason(); why != stop_reason::none)
      static_cast<void>(stopped_parent::note(running_.parent(), why));
  }
  CORACLE_COLD() void throw_failure() { failure().get(); }

  static fork_join_operation& from(joined_frame* self) noexcept {
    return static_cast<fork_join_operation&>(static_cast<shared_frame&>(*self));
  }
  static fork_join_operation& from(shared_promise& self) noexcept {
    return static_cast<fork_join_operation&>(shared_frame::from(self));
  }
  static void child_failed(shared_promise& self, const void*, stop_reason) noexcept {
    from(self).note_failure();
  }
  static awaiting_frame above(shared_promise& self, stop_reason) noexcept {
    const fork_join_operation& mine = from(self);
    return {mine.running_.parent().address(), mine.awaited_by_};
  }
  static constexpr shared_promise::functions functions{&child_failed, &above};

  plain<std::uint32_t> apart_ = 0;
  atomic<bool> failed_{false};
  awaiting_frame::kind awaited_by_ = awaiting_frame::kind::other;
  countdown running_;
  plain<std::size_t> next_;  // uninitialised until it is set
  union {
    resumption rest_;
    waiter late_;
  };
  std::tuple<task<Ts>...> children_;
};
}  // namespace coracle::detail
