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

/// Returns the same handle, opaque to the optimiser. clang then calls the destroy function that the frame
/// stores, even where it has seen the frame created: a stop request may have replaced that function
/// (core/detail/stopped_tasks.hpp).
template <class Promise>
CORACLE_ALWAYS_INLINE()
std::coroutine_handle<Promise> opaque(std::coroutine_handle<Promise> frame) noexcept {
  void* address = frame.address();
  CORACLE_HIDES_ORIGIN(address);
  return std::coroutine_handle<Promise>::from_address(address);
}

/// Called before a coroutine starts a task.
template <class Promise>
CORACLE_ALWAYS_INLINE()
void note_child([[maybe_unused]] std::coroutine_handle<Promise> parent) noexcept {
  if constexpr (!CORACLE_EXCEPTIONS() && ends_stopped<Promise>) parent.promise().fails_with_child();
}

#if !CORACLE_EXCEPTIONS()
/// Called when `parent` awaits a task that has failed before: ends `parent` with it, if that is a task.
/// Returns the coroutine to resume next.
template <class Promise>
CORACLE_RARE_TRANSFER()
std::coroutine_handle<> end_with_child(std::coroutine_handle<Promise> parent, void* failed) noexcept {
  if constexpr (ends_stopped<Promise>) {
    std::uintptr_t outcome;  // the failed task may be in the frame of its parent
    failed_outcome::copy(outcome, static_cast<task_frame*>(failed)->outcome);
    const std::coroutine_handle<> next = end_tasks(*static_cast<task_frame*>(parent.address()), outcome);
    failed_outcome::drop(outcome);
    return next;
  } else {
    return transfer_to(parent);
  }
}
#endif

/// Starts the body of a task as the child of a task or of a frame that is no coroutine.
template <class T>
class CORACLE_THROWS_ABI() task_awaiter_base {
 public:
  explicit task_awaiter_base(std::coroutine_handle<task_promise<T>> body) noexcept : body_(body) {}
  bool await_ready() const noexcept { return is_over() && gives_result(); }
  template <class Promise>
  CORACLE_INLINE_TRANSFER()
  std::coroutine_handle<> await_suspend(std::coroutine_handle<Promise> parent) noexcept {
    const auto body = body_;  // read once: the compiler cannot know that set_parent() leaves this alone
#if !CORACLE_EXCEPTIONS()
    if (body.done()) [[unlikely]]
      return detail::end_with_child(parent, body.address());
#endif
    body.promise().set_parent(parent);
    detail::note_child(parent);
    return coracle::transfer_to(body);
  }

 protected:
  [[nodiscard]] bool is_over() const noexcept { return body_.done(); }
  /// Returns false if a task that awaits this one must be ended, and so must suspend. Requires: is_over().
  [[nodiscard]] bool gives_result() const noexcept {
    return CORACLE_EXCEPTIONS() || !body_.promise().has_error();
  }
  /// Only a body that was started records how it ended.
  [[nodiscard]] bool failed() const noexcept { return body_.done() && body_.promise().has_error(); }
  /// Returns why it was stopped, or none if it was not. Requires: it has failed.
  [[nodiscard]] stop_reason stopped_for() const noexcept { return body_.promise().stopped_for(); }
  /// Requires: it has failed, and was not stopped.
  [[nodiscard]] const std::exception_ptr& error() const noexcept { return body_.promise().kept_error(); }

  std::coroutine_handle<task_promise<T>> body_;
};
/// Takes the result of a task that outlives the await.
template <class T>
class CORACLE_THROWS_ABI() task_awaiter : public task_awaiter_base<T> {
 public:
  using task_awaiter_base<T>::task_awaiter_base;
  bool await_ready() const noexcept { return is_over() && this->gives_result(); }
  [[nodiscard]] bool is_over() const noexcept {
    const bool has_ended = this->body_.done();
    CORACLE_CHECK(!has_ended || this->body_.promise().parent(), awaited_twice);
    return has_ended;
  }
  CORACLE_ALWAYS_INLINE() T await_resume() {
    if constexpr (CORACLE_CHECKS()) mark_taken(internal_call());
    return this->body_.promise().take();
  }

  /// Returns why the task was stopped, or none. Called in place of await_resume() to avoid an exception.
  [[nodiscard]] stop_reason await_cancelled() const noexcept {
    return this->failed() ? this->stopped_for() : stop_reason::none;
  }
  /// Returns what await_resume() would throw, or null. Requires: it was not stopped.
  [[nodiscard]] std::exception_ptr await_failure() const noexcept {
    return this->failed() ? this->error() : nullptr;
  }

  // For is_ready_for_plain_code() and result_for_plain_code(), which check in every build.
  void require_body(internal_call) const noexcept { CORACLE_REQUIRE(this->body_, awaited_empty); }
  void require_result(internal_call) const noexcept {
    CORACLE_REQUIRE(this->body_.promise().parent(), awaited_twice);
  }
  void mark_taken(internal_call) const noexcept { this->body_.promise().forget_parent(); }
};
/// Owns the body that it awaits: nothing refers to the task that it was taken from. With clang, the awaiter
/// of a `co_await` of an rvalue.
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
#if !CORACLE_EXCEPTIONS()
    if (body.done()) [[unlikely]]
      return detail::end_with_child(parent, body.address());
#endif
    // Where a slot may be offered, the address of this object escapes, so the destructor loads the handle
    // from memory and it is opaque already.
    if constexpr (!may_fold<T> || !ends_stopped<Promise>) this->body_ = body = opaque(body);
    const bool may_offer = this->template may_be_offered_to<Promise>(body);
    body.promise().set_parent(parent);
    detail::note_child(parent);
    if (may_offer) this->offer_to(body, parent);
    return coracle::transfer_to(body);
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

/// Stands for an awaiting coroutine that is not a task. A task stores only the address of its parent, and
/// treats a coroutine there as a task, which a stop request may destroy while it waits
/// (core/detail/stopped_tasks.hpp). Any other parent is therefore represented by a frame that is no
/// coroutine.
class parent_bridge : callback_frame {
 public:
  parent_bridge() noexcept : callback_frame(&task_is_over, nullptr) {}
  /// Requires: not awaited yet.
  parent_bridge(const parent_bridge&) noexcept : parent_bridge() {}

  /// Returns what a task must continue for `parent`; if `parent` is a task, a stop request that ends the
  /// child destroys it.
  template <class Promise>
  auto continues(std::coroutine_handle<Promise> parent) noexcept {
    if constexpr (ends_stopped<Promise>) {
      return parent;
    } else {
      return resumes(parent);
    }
  }
  /// Returns what a task must continue so that `parent` is resumed in any case.
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
/// task::when_ready(): the result stays in the task. The parent is resumed even if a stop request ends the
/// task.
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
