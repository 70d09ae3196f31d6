// coracle/core/detail/task_awaiter.hpp -- the awaiters of a task.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/base/check.hpp>
#include <coracle/core/detail/folded_body.hpp>
#include <coracle/core/detail/task_promise.hpp>
#include <coracle/core/transfer.hpp>
#include <coroutine>

namespace coracle::detail {
inline constexpr char awaited_empty[] =
    "an empty task was awaited: it was awaited before, moved from, or never held a coroutine";
inline constexpr char awaited_twice[] =
    "a task was awaited twice: its result has been moved out; a shared_task keeps it";

/// Two tasks that stand side by side and are moved together, as a when_all does just after they were made, would be read
/// by one load, which has to wait until both stores of the one before are done: so the compiler is not to see two.
template <class Promise>
CORACLE_ALWAYS_INLINE()
std::coroutine_handle<Promise> moved_alone(std::coroutine_handle<Promise> frame) noexcept {
  void* address = frame.address();
  CORACLE_HIDES_ORIGIN(address);
  return std::coroutine_handle<Promise>::from_address(address);
}

/// The same coroutine, for a call of destroy() that goes through its frame also where clang has seen that being made: a stop
/// request may have ended it (core/detail/stopped_tasks.hpp). g++ knows no more than the frame, and saves a copy without this.
template <class Promise>
CORACLE_ALWAYS_INLINE()
std::coroutine_handle<Promise> known_by_its_frame(std::coroutine_handle<Promise> body) noexcept {
  return moved_alone(body);
}

/// Starts the body of a task, as the child of a task, or of a frame that is no coroutine.
template <class T>
class task_awaiter_base {
 public:
  explicit task_awaiter_base(std::coroutine_handle<task_promise<T>> body) noexcept : body_(body) {}
  bool await_ready() const noexcept { return body_.done(); }
  template <class Promise>
  CORACLE_INLINE_TRANSFER()
  std::coroutine_handle<> await_suspend(std::coroutine_handle<Promise> parent) noexcept {
    const auto body = body_;  // read once: the compiler cannot know that set_parent() leaves this alone
    body.promise().set_parent(parent);
    return transfer_to(body);
  }

 protected:
  /// Only a body that was started says how it ended.
  [[nodiscard]] bool failed() const noexcept { return body_.done() && body_.promise().has_error(); }
  /// Why it was stopped; none: it was not. Requires: it has failed.
  [[nodiscard]] stop_reason stopped_for() const noexcept { return body_.promise().stopped_for(); }

  std::coroutine_handle<task_promise<T>> body_;
};
/// Takes the result of a task that lives on.
template <class T>
class task_awaiter : public task_awaiter_base<T> {
 public:
  using task_awaiter_base<T>::task_awaiter_base;
  bool await_ready() const noexcept {
    const bool is_over = this->body_.done();
    CORACLE_CHECK(!is_over || this->body_.promise().parent(), awaited_twice);
    return is_over;
  }
  CORACLE_ALWAYS_INLINE() T await_resume() {
    if constexpr (CORACLE_CHECKS()) mark_taken();
    return this->body_.promise().take();
  }

  // For sync_wait(), which checks in every build.
  void require_body() const noexcept { CORACLE_REQUIRE(this->body_, awaited_empty); }
  void require_result() const noexcept { CORACLE_REQUIRE(this->body_.promise().parent(), awaited_twice); }
  void mark_taken() const noexcept { this->body_.promise().forget_parent(); }
};
/// Owns what it awaits: nothing refers to the task that it was taken from. What `co_await` of an rvalue is with clang.
template <class T>
class awaited_task : public task_awaiter<T>, public fold_slot<T> {
 public:
  CORACLE_ALWAYS_INLINE()
  explicit awaited_task(std::coroutine_handle<task_promise<T>> body) noexcept : task_awaiter<T>(body) {}
  awaited_task(const awaited_task&) = delete;
  awaited_task& operator=(const awaited_task&) = delete;
  CORACLE_ALWAYS_INLINE() ~awaited_task() {
    if (body_was_folded()) return;
    if constexpr (task_promise<T>::owner_drops_error) this->body_.promise().drop_untaken_error();
    this->body_.destroy();
  }

  template <class Promise>
  CORACLE_INLINE_TRANSFER()
  std::coroutine_handle<> await_suspend(std::coroutine_handle<Promise> parent) noexcept {
    auto body = this->body_;
    // Where a slot may be offered, this object is in memory, and clang loads the handle from there.
    if constexpr (!may_fold<T> || !ends_stopped<Promise>) this->body_ = body = known_by_its_frame(body);
    const bool is_seen = this->template is_for<Promise>(body);
    body.promise().set_parent(parent);
    if (is_seen) this->offer_to(body, parent);
    return transfer_to(body);
  }
  CORACLE_ALWAYS_INLINE() T await_resume() {
    if constexpr (may_fold<T>) {
      if (body_was_folded()) return this->take_result();
    }
    return task_awaiter<T>::await_resume();
  }

 private:
  friend fold_slot<T>;
  [[nodiscard]] bool body_was_folded() const noexcept { return may_fold<T> && !this->body_; }
};

/// Stands for a coroutine that awaits a task and is no task. A task knows only the address of its parent, and takes a
/// coroutine there to be a task, which a stop request may destroy where it waits (core/detail/stopped_tasks.hpp). So for any
/// other there has to be a frame that is no coroutine.
class parent_bridge : callback_frame {
 public:
  parent_bridge() noexcept : callback_frame(&task_is_over, nullptr) {}
  /// Requires: not awaited yet.
  parent_bridge(const parent_bridge&) noexcept : parent_bridge() {}

  /// What a task is to continue for `parent`, which may be a task, and then is destroyed if a stop request ends the child.
  template <class Promise>
  auto continues(std::coroutine_handle<Promise> parent) noexcept {
    if constexpr (ends_stopped<Promise>) {
      return parent;
    } else {
      return resumes(parent);
    }
  }
  /// What a task is to continue to have `parent` resumed in any case.
  template <class Promise>
  auto resumes(std::coroutine_handle<Promise> parent) noexcept {
    if constexpr (promise_of_callback<Promise>) {
      return parent;
    } else {
      const environment* inherited = nullptr;
      if constexpr (hands_down_environment<Promise>) inherited = parent.promise().get_environment();
      callback_frame::promise() = callback_promise(inherited);
      parent_ = parent;
      return callback_frame::handle();
    }
  }

 private:
  CORACLE_TRANSFER_ABI() static void task_is_over(callback_frame* self) {
    const std::coroutine_handle<> next = transfer_to(static_cast<parent_bridge*>(self)->parent_);
    CORACLE_RETURN_TO(self, next);
  }

  std::coroutine_handle<> parent_;
};
/// `Awaiter`, for a coroutine of any type.
template <class Awaiter>
class bridged : public Awaiter {
 public:
  using Awaiter::Awaiter;
  template <class Promise>
  CORACLE_INLINE_TRANSFER()
  std::coroutine_handle<> await_suspend(std::coroutine_handle<Promise> parent) noexcept {
    return Awaiter::await_suspend(bridge_.continues(parent));
  }

 private:
  parent_bridge bridge_;
};
/// task::when_ready(): the result stays in the task. The parent is resumed also if a stop request ends the task.
template <class T>
class task_ready_awaiter : public task_awaiter_base<T> {
 public:
  using task_awaiter_base<T>::task_awaiter_base;
  template <class Promise>
  CORACLE_INLINE_TRANSFER()
  std::coroutine_handle<> await_suspend(std::coroutine_handle<Promise> parent) noexcept {
    return task_awaiter_base<T>::await_suspend(bridge_.resumes(parent));
  }
  void await_resume() const noexcept {}

 private:
  parent_bridge bridge_;
};
}  // namespace coracle::detail
