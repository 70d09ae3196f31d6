// coracle/core/detail/task_promise.hpp -- the promise of a task.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/core/detail/folded_body.hpp>
#include <coracle/core/detail/leaving_exception.hpp>
#include <coracle/core/detail/shared_frame.hpp>
#include <coracle/core/detail/task_state.hpp>
#include <coracle/core/frame_memory.hpp>
#include <coracle/core/promise_parts.hpp>
#include <coroutine>
#include <type_traits>
#include <utility>
#if !CORACLE_EXCEPTIONS()
#include <coracle/core/detail/ending_await.hpp>
#endif

namespace coracle {
template <class T = void>
class CORACLE_IN_A_REGISTER() task;

namespace detail {
template <class T>
class new_task;

/// A task awaits another task without a bridge in between (core/detail/task_awaiter.hpp).
struct CORACLE_THROWS_ABI() awaits_as_task : part::awaits_anything {
  using part::awaits_anything::await_transform;
#if !CORACLE_EXCEPTIONS()
  template <awaitable T>
    requires reports_failure<std::remove_reference_t<awaiter_type_t<T>>>
  CORACLE_ALWAYS_INLINE()
  auto await_transform(T&& value) const noexcept {
    return ending_await<T>(static_cast<T&&>(value));
  }
#endif
  template <class T>
  CORACLE_ALWAYS_INLINE()
  auto await_transform(task<T>&& child) const noexcept {
    if constexpr (CORACLE_COPIES_AWAITERS()) {
      return std::move(child).plain_awaiter();
    } else {
      return std::move(child).plain_owning_awaiter();
    }
  }
};

/// Checked by ~task(): once an assertion in task_promise has failed, clang reports each use of that, too.
template <class T>
inline constexpr bool can_be_moved = std::is_void_v<T> || std::is_move_constructible_v<T>;

template <class T>
struct CORACLE_FOLDING_ABI() task_promise : returns_into<T, task_state<T>>,
                                            part::starts_lazily,
                                            awaits_as_task,
                                            recycled_frames {
  static constexpr bool frame_is_task_frame = true;

  task_promise() noexcept = default;
  task_promise(const task_promise&) = delete;
  task_promise& operator=(const task_promise&) = delete;
  ~task_promise() {
    if constexpr (!owner_drops_error) drop_untaken_error();
  }
  // g++ joins the stores of constants into a new frame, unless a store through another pointer, such as that
  // of the task for the caller, comes in between: so that one comes last.
  using return_object = std::conditional_t<CORACLE_GCC(), new_task<T>, task<T>>;
  CORACLE_CORO_WRAPPER() return_object get_return_object() noexcept { return return_object{frame()}; }

  /// Tells a parent that is the continuation of many tasks which one has failed.
  CORACLE_COLD() void unhandled_exception() noexcept {
    report_leaving_exception(frame().address());
    this->keep_error();
    shared_promise::notify(this->parent(), frame().address(), this->kept_error());
    this->mark_failed();
  }

  struct final_awaiter {
    constexpr final_awaiter() noexcept {}
    bool await_ready() const noexcept { return false; }
    template <class Promise>
    CORACLE_TRANSFER_ABI()
    std::coroutine_handle<> await_suspend(std::coroutine_handle<Promise> self) const noexcept {
      task_promise& promise = self.promise();
      if constexpr (may_fold<T>) {
        if (is_folded(promise)) return transfer_to(fold(promise));
        if (promise.has_fold_slot()) [[unlikely]]
          return transfer_to(promise.slot().parent());  // not folded: this body is a function of its own
      }
      return transfer_to(promise.parent());
    }
    void await_resume() const noexcept {}
  };
  final_awaiter final_suspend(body_end end = body_end::here()) const noexcept {
    end.require_result(*this);
    return {};
  }

  /// Moves the result out, or throws the error. Requires: the body has ended.
  CORACLE_ALWAYS_INLINE() T take() {
    if (this->has_error()) [[unlikely]] {
      rethrow_error_of(*static_cast<task_frame*>(frame().address()));
      __builtin_unreachable();
    }
    if constexpr (can_be_moved<T>) return std::move(this->kept_result()).get();
  }
  /// With g++, an untaken error is dropped by the owner of the frame before it destroys that: in the body,
  /// the call would save a register at each resumption. With clang this would make the destructor of a task
  /// larger, and a when_all slower.
  static constexpr bool owner_drops_error = CORACLE_GCC();
  void drop_untaken_error() noexcept {
    // A body that has not ended may have no parent yet, and has no error.
    if (!frame().done()) [[unlikely]]
      return;
    if (this->has_error()) [[unlikely]]
      this->drop_error();
  }

 private:
  [[nodiscard]] std::coroutine_handle<task_promise> frame() noexcept {
    return std::coroutine_handle<task_promise>::from_promise(*this);
  }
};
/// Becomes the task that a coroutine returns, after everything else is done.
template <class T>
class new_task {
 public:
  explicit new_task(std::coroutine_handle<task_promise<T>> body) noexcept : body_(body) {}
  operator task<T>() const noexcept { return task<T>{body_}; }

 private:
  std::coroutine_handle<task_promise<T>> body_;
};
}  // namespace detail
}  // namespace coracle
