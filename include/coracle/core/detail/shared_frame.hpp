// coracle/core/detail/shared_frame.hpp -- the frame that several children of one coroutine continue.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/base/builtin_atomic.hpp>
#include <coracle/base/tagged_pointer.hpp>
#include <coracle/core/detail/callback_frame.hpp>
#include <coracle/core/detail/task_frame.hpp>
#include <coracle/core/operation_cancelled.hpp>
#include <coroutine>
#include <cstdint>

namespace coracle::detail {
/// The frame that awaits a combinator, for which the combinator awaits other work.
struct awaiting_frame {
  enum class kind : std::uint8_t {
    other,     ///< a coroutine of another type, which sees an exception
    task,      ///< begins with a task_frame
    callback,  ///< no coroutine
    quiet      ///< takes the end of the work as a value, or drops it: no exception will be seen
  };
  template <class Promise>
  static constexpr kind kind_of = ends_stopped<Promise>          ? kind::task
                                  : promise_of_callback<Promise> ? kind::callback
                                                                 : kind::other;

  void* frame = nullptr;
  kind is = kind::other;
};

/// How the tasks below a frame end once a stop request has reached them.
enum class stopped_end : std::uintptr_t {
  unknown,  ///< not determined yet
  quiet,    ///< destroyed where they wait
  thrown,   ///< resumed, to throw operation_cancelled
  mask = 3
};

/// The promise of a frame that awaits on behalf of another one, and knows which: the parent of children.
///
/// It may be the continuation of many tasks, and cannot tell which of them has ended. Each task that fails or
/// is stopped therefore notifies it before it resumes the frame.
//
//   [F1] load                             relaxed  the functions never change; a stopped_end orders nothing
//   [F2] unknown -> another stopped_end   relaxed  two threads that determine it at once agree
class shared_promise {
 public:
  /// `task` is the address of the task's frame; if `stopped_for` is none, the task has failed.
  using failure = void(shared_promise& self, const void* task, stop_reason stopped_for) noexcept;
  struct functions {
    failure* on_failure;
    /// Returns what awaits the children, for one whose wait was stopped for `why`: if that is a task, it must
    /// not end meanwhile.
    awaiting_frame (*above)(shared_promise& self, stop_reason why) noexcept;
  };
  static void ignore_failure(shared_promise&, const void*, stop_reason) noexcept {}
  static constexpr bool is_of_callback = true;
  explicit shared_promise(const functions* its_functions) noexcept : word_(word(its_functions).bits()) {}

  [[nodiscard]] const environment* get_environment() const noexcept { return environment_; }
  void set_environment(const environment* inherited) noexcept { environment_ = inherited; }

  /// For a task without a result: notifies its parent, if that is such a frame.
  static void notify(std::coroutine_handle<> parent, const void* task, stop_reason stopped_for) noexcept;
  /// As above. `error` may be an operation_cancelled.
  static void notify(std::coroutine_handle<> parent, const void* task,
                     const std::exception_ptr& error) noexcept;

 private:
  friend class shared_frame;
  using word = tagged_pointer<const functions, stopped_end>;
  [[nodiscard]] word now() const noexcept { return word::from_bits(word_.load_relaxed()); } /*F1*/

  builtin_atomic<std::uintptr_t> word_;
  const environment* environment_;  // uninitialised until it is set
};
/// Identified by its destroy function.
class shared_frame : public basic_callback_frame<shared_promise> {
 public:
  /// `its_functions` live longer.
  shared_frame(function* on_resume, const shared_promise::functions* its_functions) noexcept
      : basic_callback_frame(on_resume, its_functions) {
    set_destroy_function(mark);
  }
  [[nodiscard]] static bool is_one(std::coroutine_handle<> handle) noexcept {
    return static_cast<callback_mark::function* const*>(handle.address())[1] == mark;
  }
  /// What awaits the children, for one whose wait was stopped for `why`.
  [[nodiscard]] awaiting_frame above(stop_reason why) noexcept {
    return promise().now().pointer()->above(promise(), why);
  }
  /// Returns how the stopped children end, if that has been determined for one of them; otherwise unknown.
  [[nodiscard]] stopped_end end_of_children() const noexcept { return promise().now().tag(); }
  /// Keeps for the other children how one of them ends.
  void keep_end_of_children(stopped_end end) noexcept {
    const shared_promise::word seen = promise().now();
    if (seen.tag() != stopped_end::unknown) return;
    promise().word_.store_relaxed(shared_promise::word(seen.pointer(), end).bits()); /*F2*/
  }
  /// Returns the frame at `handle`. Requires: is_one().
  [[nodiscard]] static shared_frame& at(std::coroutine_handle<> handle) noexcept {
    return from(std::coroutine_handle<shared_promise>::from_address(handle.address()).promise());
  }
  /// For a frame whose children have frames of their own.
  static void never_resumed(basic_callback_frame*) {
    fail("a frame was resumed that only stands for the parent of its children");
  }
  [[nodiscard]] const environment* inherited_by_children() const noexcept {
    return promise().get_environment();
  }

 protected:
  /// Returns the frame that `self` is the promise of.
  static shared_frame& from(shared_promise& self) noexcept {
    const auto handle = std::coroutine_handle<shared_promise>::from_promise(self);
    return static_cast<shared_frame&>(*static_cast<basic_callback_frame*>(handle.address()));
  }

 private:
  // Has a message of its own, so that a linker does not merge it with the function of other frames.
  static void refuse_destroy(void*) { fail("plain code that waits for several coroutines was destroyed"); }
  // A shared library may have its own copy of a function of the program, but not of such a variable.
  CORACLE_VISIBLE() static inline constinit callback_mark::function* mark = &refuse_destroy;
};
/// The promise of a frame that continues one of several children. They share `Parent`, which begins with a
/// shared_frame: it knows their environment, and what awaits them.
template <class Parent>
class member_promise {
 public:
  static constexpr bool is_of_callback = true;
  static constexpr bool continues_a_member = true;
  explicit member_promise(Parent* shared = nullptr) noexcept : together(shared) {}
  [[nodiscard]] const environment* get_environment() const noexcept {
    return together->inherited_by_children();
  }

  Parent* together;  // first: callback_mark::refuse_destroy_of_member
};

inline void shared_promise::notify(std::coroutine_handle<> parent, const void* task,
                                   stop_reason stopped_for) noexcept {
  if (!shared_frame::is_one(parent)) return;
  auto& promise = std::coroutine_handle<shared_promise>::from_address(parent.address()).promise();
  promise.now().pointer()->on_failure(promise, task, stopped_for);
}
inline void shared_promise::notify(std::coroutine_handle<> parent, const void* task,
                                   const std::exception_ptr& error) noexcept {
  if (shared_frame::is_one(parent)) notify(parent, task, reason_of_stop(error));
}
}  // namespace coracle::detail
