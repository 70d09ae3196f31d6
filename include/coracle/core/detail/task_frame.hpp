// coracle/core/detail/task_frame.hpp -- what every frame of a task begins with, whatever the task returns.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/base/tagged_pointer.hpp>
#include <coracle/core/operation_cancelled.hpp>
#include <cstdint>
#include <exception>
#include <new>

namespace coracle::detail {
/// A promise whose coroutine may be ended where it is suspended, because of a stop request or, where
/// exceptions are disabled, an error: that of a task. Its frame begins with a task_frame.
template <class Promise>
concept ends_stopped = requires { requires Promise::frame_is_task_frame; };

/// The marks of the second word of a task (core/detail/task_state.hpp).
enum class task_mark : std::uintptr_t {
  has_failed = 1,    ///< it ended with an error, or was stopped; or, where exceptions are disabled, awaits
                     ///< what may end it so
  has_returned = 2,  ///< set in checked builds
  folds = 4,         ///< the word is the address of the awaiter
  mask = 7
};
using task_parent = tagged_pointer<void, task_mark>;

/// The first word of a task that ended without a result: why it was stopped, or its exception, whose address
/// is even.
class failed_outcome {
 public:
  static std::uintptr_t of(stop_reason why) noexcept { return static_cast<std::uintptr_t>(why) << 1 | 1; }
  /// Returns none if it was not stopped and `word` is an exception.
  static stop_reason reason(std::uintptr_t word) noexcept {
    return (word & 1) != 0 ? static_cast<stop_reason>(word >> 1) : stop_reason::none;
  }
  /// Requires: it was not stopped.
  static const std::exception_ptr& error(const std::uintptr_t& word) noexcept {
    const void* const error = &word;
    return *static_cast<const std::exception_ptr*>(error);
  }
  /// In place of whatever `word` was. An operation_cancelled counts as stopped.
  static void store(std::uintptr_t& word, const std::exception_ptr& error) noexcept {
    const stop_reason why = reason_of_stop(error);
    why == stop_reason::none ? store_as_it_is(word, error) : void(word = of(why));
  }
  static void copy(std::uintptr_t& to, const std::uintptr_t& from) noexcept {
    reason(from) == stop_reason::none ? store_as_it_is(to, error(from)) : void(to = from);
  }
  /// It is then null.
  static void drop(std::uintptr_t& word) noexcept {
    if (reason(word) == stop_reason::none)
      *static_cast<std::exception_ptr*>(static_cast<void*>(&word)) = nullptr;
  }

 private:
  static void store_as_it_is(std::uintptr_t& word, const std::exception_ptr& error) noexcept {
    ::new (static_cast<void*>(&word)) std::exception_ptr(error);
  }
};

struct queued_waiter;

struct task_frame {
  using function = void(task_frame*);

  function* resume;  // null at the end of the body
  function* destroy;
  union {
    std::uintptr_t outcome;
    queued_waiter* stopped;  // the wait that a stop request has ended, in place of the environment
  };
  task_parent parent;
};
}  // namespace coracle::detail
