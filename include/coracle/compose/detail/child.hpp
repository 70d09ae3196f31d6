// coracle/compose/detail/child.hpp -- an awaitable that plain code starts, and its outcome.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/core/awaitable.hpp>
#include <coracle/core/detail/reports_end.hpp>
#include <coracle/core/result.hpp>
#include <coracle/core/task.hpp>

namespace coracle::detail {
/// An awaiter that may be carried out without an await; only its result then remains to be taken.
template <class Awaiter>
concept tries_at_once = requires(Awaiter& a) {
  { a.try_at_once(internal_call()) } noexcept -> std::same_as<bool>;
};

template <class From, class To>
CORACLE_COLD()
void copy_failure(const outcome<From>& from, outcome<To>& to) noexcept {
  if (from.is_cancelled()) {
    to.emplace_cancelled(from.reason());
  } else {
    to.emplace_error(from.error());
  }
}

/// Stands for a result that cannot be moved, in an ill-formed program.
struct unmovable_result {
  template <class T>
  unmovable_result(T&&) noexcept;
  template <class T>
  operator T() const noexcept;
};

/// Holds the awaitable, then its awaiter, then its outcome. Call in this order: start(); once it is over,
/// finish(); and then, once, the member that returns the outcome.
template <class Awaitable>
class child {
  using awaiter_type = awaiter_type_t<Awaitable>;

 public:
  using result_type =
      std::conditional_t<can_be_moved<kept_result_t<Awaitable>>, kept_result_t<Awaitable>, unmovable_result>;

  explicit child(Awaitable&& value) : value_(static_cast<Awaitable&&>(value)) {
    static_assert(can_be_moved<kept_result_t<Awaitable>>,
                  "the result of this awaitable is moved: make it a std::unique_ptr to what cannot be moved");
  }
  /// Requires: not started.
  child(child&& other) : value_(static_cast<Awaitable&&>(other.value_)) {}
  ~child() {
    if (has_awaiter_) slot_.~awaiter_slot();
  }

  static constexpr bool can_try = tries_at_once<std::remove_reference_t<awaiter_type>> &&
                                  noexcept(coracle::get_awaiter(std::declval<Awaitable>()));
  /// Returns true if it is over without having been started, false if it can still be started.
  bool try_at_once() noexcept
    requires can_try
  {
    return make_awaiter().get.try_at_once(internal_call());
  }
  /// Returns false if it completed at once; `continuation` will then not be resumed. Otherwise this may
  /// already be destroyed.
  template <class Promise>
  bool start(std::coroutine_handle<Promise> continuation) noexcept {
    outcome<bool> waits;
    waits.emplace_from([this, continuation] {
      awaiter_slot& slot = make_awaiter();
      return !slot.get.await_ready() && detail::suspend_into(slot.get, continuation);
    });
    if (waits.has_value()) [[likely]]
      return waits.get();
    detail::copy_failure(waits, end_);
    return false;
  }
  /// Like start(), but returns what the caller must resume; null if it completed at once.
  template <class Promise>
  std::coroutine_handle<> begin(std::coroutine_handle<Promise> continuation) noexcept {
    outcome<std::coroutine_handle<>> next;
    next.emplace_from([this, continuation]() -> std::coroutine_handle<> {
      awaiter_slot& slot = make_awaiter();
      if (slot.get.await_ready()) return nullptr;
      return detail::suspend_and_give(slot.get, continuation);
    });
    if (next.has_value()) [[likely]]
      return next.get();
    detail::copy_failure(next, end_);
    return nullptr;
  }
  /// Returns true if it has a value; otherwise see failure().
  bool finish() noexcept {
    if (end_.has_error() || end_.is_cancelled()) [[unlikely]]
      return false;
    if constexpr (reports_cancellation<std::remove_reference_t<awaiter_type>>) {
      if (const stop_reason why = slot_.get.await_cancelled(); why != stop_reason::none) {
        end_.emplace_cancelled(why);
        return false;
      }
    }
    if constexpr (!CORACLE_EXCEPTIONS() && reports_failure<std::remove_reference_t<awaiter_type>>) {
      if (std::exception_ptr error = failure_of(slot_.get, internal_call())) {
        end_.emplace_failure(std::move(error));
        return false;
      }
    }
    end_.emplace_from([this]() -> result_type { return slot_.get.await_resume(); });
    return end_.has_value();
  }
  /// An error, or a cancellation.
  [[nodiscard]] outcome<void> failure() noexcept {
    outcome<void> bad;
    detail::copy_failure(end_, bad);
    return bad;
  }
  /// Returns its error, even if it was not started, or null if there is none.
  [[nodiscard]] std::exception_ptr error() noexcept { return end_.error(); }
  result_type result() { return std::move(end_).get(); }
  outcome<result_type> take_outcome() noexcept(std::is_nothrow_move_constructible_v<outcome<result_type>>) {
    return std::move(end_);
  }

 private:
  // Holds the awaiter whether get_awaiter returns it by value or by reference.
  struct awaiter_slot {
    explicit awaiter_slot(Awaitable&& value) : get(coracle::get_awaiter(static_cast<Awaitable&&>(value))) {}
    awaiter_type get;
  };
  awaiter_slot& make_awaiter() noexcept(can_try) {
    if constexpr (can_try) {
      if (has_awaiter_) return slot_;
    }
    ::new (static_cast<void*>(&slot_)) awaiter_slot(static_cast<Awaitable&&>(value_));
    has_awaiter_ = true;
    return slot_;
  }
  Awaitable value_;
  union {  // not a std::optional, which takes longer to compile than the rest of this class
    awaiter_slot slot_;
  };
  bool has_awaiter_ = false;
  outcome<result_type> end_;
};

/// A task keeps its awaiter and its result in its own frame, so a child takes eight bytes. `Task` is the
/// task, or a reference to it.
template <class T, class Task>
class task_child {
  using awaiter_type = task_awaiter<T>;

 public:
  /// A task requires that a `T` can be moved.
  using result_type = std::conditional_t<can_be_moved<T>, kept_result_t<task<T>>, unmovable_result>;

  explicit task_child(Task&& value) noexcept : task_(static_cast<Task&&>(value)) {}

  static constexpr bool can_try = false;

  template <class Promise>
  bool start(std::coroutine_handle<Promise> continuation) noexcept {
    auto a = std::move(task_).plain_awaiter();
    return !a.is_over() && detail::suspend_into(a, continuation);
  }
  template <class Promise>
  CORACLE_TRANSFER_ABI()
  std::coroutine_handle<> begin(std::coroutine_handle<Promise> continuation) noexcept {
    auto a = std::move(task_).plain_awaiter();
    if (a.is_over()) return nullptr;
    return a.await_suspend(continuation);
  }
  bool finish() noexcept { return !ended_awaiter(task_).failed(); }
  [[nodiscard]] CORACLE_COLD() outcome<void> failure() noexcept {
    outcome<void> bad;
    const ended_awaiter ended(task_);
    if (const stop_reason why = ended.stopped_for(); why != stop_reason::none) {
      bad.emplace_cancelled(why);
    } else {
      bad.emplace_failure(ended.error());
    }
    return bad;
  }
  [[nodiscard]] std::exception_ptr error() noexcept { return finish() ? nullptr : failure().error(); }
  /// The address by which the task identifies itself to a shared_promise.
  [[nodiscard]] const void* frame() noexcept { return ended_awaiter(task_).frame(); }
  result_type result() { return std::move(task_).plain_awaiter().await_resume(); }
  outcome<result_type> take_outcome() noexcept {
    outcome<result_type> end;
    if (finish()) [[likely]] {
      end.emplace_from([this]() -> result_type { return result(); });
    } else {
      take_failure(end);
    }
    return end;
  }

 protected:
  [[nodiscard]] task<T>& work() noexcept { return task_; }

 private:
  CORACLE_COLD() void take_failure(outcome<result_type>& end) noexcept {
    detail::copy_failure(failure(), end);
  }
  struct ended_awaiter : awaiter_type {
    explicit ended_awaiter(task<T>& owner) noexcept : awaiter_type(std::move(owner).plain_awaiter()) {}
    using awaiter_type::error;
    using awaiter_type::failed;  // false for a task that was never started
    using awaiter_type::stopped_for;
    [[nodiscard]] const void* frame() const noexcept { return this->body_.address(); }
  };
  Task task_;
};
template <class T>
class child<task<T>> : public task_child<T, task<T>> {
 public:
  using task_child<T, task<T>>::task_child;
};
}  // namespace coracle::detail
