// coracle/core/detail/stopped_tasks.hpp -- ends tasks where they are suspended.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/core/detail/queued_waiter.hpp>
#include <coracle/core/detail/shared_frame.hpp>
#include <coracle/core/detail/task_frame.hpp>
#include <coracle/core/environment.hpp>
#include <coracle/core/frame_memory.hpp>
#include <coracle/core/transfer.hpp>
#include <exception>
#include <new>

// When a stop request ends a wait, the coroutine is woken and throws operation_cancelled through every task
// above it. Below an as_outcome() the tasks are instead destroyed where they are suspended: the resume
// function of the waiting task is overwritten, so that the executor that resumes it runs end_tasks().
//
//   stopper's thread   removes the wait from its queue, walks up to the first frame that takes the end as a
//                      value, stores resumed() as the resume function, and posts the coroutine:
//                      end_when_resumed()
//   home executor      destroys the frame, then the frame of the task that awaits it, and so on up to the
//                      task whose end is taken as a value; resumes the awaiter of that task
//
// The contents of a frame are therefore destroyed before those of the frame above it, on a constant stack.
// The awaiter in the frame above will destroy the frame below again, so that frame's memory is kept as an
// ended_frame, which looks like a failed task and whose destroy function frees the memory.
//
// Where exceptions are disabled, an error ends a task in the same way, since nothing can be thrown in it:
//
//   awaits a task           marks itself before, as `has_failed`: a task of the compiled library, which has
//                           exceptions, then has it ended with its own error: end_parent_with()
//   awaits something else   through an ending_await (core/detail/ending_await.hpp), which ends it
//   is a combinator         awaits ends_unless_value
//
// Where children are awaited together, the walk up leads through the frame that they continue to what awaits
// them all. It ends there if the children were stopped by what started them, since their end is then dropped.
// After the last child, its operation does the same with the task that awaits it: stopped_parent.
//
// All frames on the way are suspended, and nothing else resumes them: they belong to the thread that removed
// the wait from its queue until it posts the coroutine, and then to the executor. Nothing here is therefore
// atomic.
namespace coracle {
template <class T>
class outcome;
}  // namespace coracle
namespace coracle::detail {
/// The remains of the frame of a task that was ended where it was suspended.
class ended_frame : public task_frame {
 public:
  /// Destroys the frame that begins at `body`.
  static void make_of(task_frame& body, const std::uintptr_t& outcome) noexcept {
    const task_parent above = body.parent;
    thread_state& thread = this_thread();
    ++thread.stopping;
    const auto coroutine = std::coroutine_handle<>::from_address(&body);
    const kept_memory kept = destroy_and_keep(&body, [coroutine] { coroutine.destroy(); });
    --thread.stopping;
    CORACLE_REQUIRE(kept.size >= sizeof(ended_frame),
                    "a task that was stopped has no frame of its own: the compiler has put it into another");
    auto* const left = ::new (static_cast<void*>(&body)) ended_frame;
    left->resume = nullptr;
    function* end = &give_back;
    CORACLE_HIDES_RESUMED(end);
    left->destroy = end;
    failed_outcome::copy(left->outcome, outcome);
    left->parent = above;
    left->parent.add(task_mark::has_failed);
    left->kept_ = kept;
  }

 private:
  static void give_back(task_frame* frame) {
    failed_outcome::drop(frame->outcome);
    const kept_memory kept = static_cast<ended_frame*>(frame)->kept_;
    kept.give_back(frame, kept.size);
  }

  kept_memory kept_;
};

/// The frame that awaits a task.
class task_above {
 public:
  /// For a frame that is a task or is notified.
  explicit task_above(awaiting_frame known) noexcept
      : frame_(known.frame), is_notified_(known.is == awaiting_frame::kind::callback) {}
  explicit task_above(const task_frame& body) noexcept {
    if (body.parent.has(task_mark::folds)) {
      // The awaiter begins with the body, followed by the slot: core/detail/task_awaiter.hpp.
      frame_ = static_cast<void**>(body.parent.pointer())[1];
    } else {
      frame_ = body.parent.pointer();
      is_notified_ = callback_mark::is_at(handle()) || shared_frame::is_one(handle());
    }
  }
  /// Returns true if the frame is no task, and gets to know of the end through shared_promise::notify() or by
  /// being resumed.
  [[nodiscard]] bool is_notified() const noexcept { return is_notified_; }
  [[nodiscard]] std::coroutine_handle<> handle() const noexcept {
    return std::coroutine_handle<>::from_address(frame_);
  }
  /// Returns the frame that knows on whose behalf this one waits, or null if it waits on its own. Requires:
  /// is_notified().
  [[nodiscard]] shared_frame* shared() const noexcept {
    if (shared_frame::is_one(handle())) return &shared_frame::at(handle());
    if (!callback_mark::is_of_member(handle())) return nullptr;
    return &shared_frame::at(std::coroutine_handle<>::from_address(static_cast<void**>(frame_)[2]));
  }
  /// Requires: not is_notified().
  [[nodiscard]] task_frame& task() const noexcept { return *static_cast<task_frame*>(frame_); }

 private:
  void* frame_;
  bool is_notified_ = false;
};

/// Ends `body`, which is suspended, and the tasks that await it, with a failed_outcome that is in none of
/// their frames. Returns the coroutine to resume next. A task that an error cannot end, because it was
/// compiled with exceptions, is resumed to throw it.
CORACLE_TRANSFER_ABI()
inline std::coroutine_handle<> end_tasks(task_frame& body, const std::uintptr_t& outcome) noexcept {
  task_frame* ending = &body;
  for (;;) {
    const task_above above(*ending);
    ended_frame::make_of(*ending, outcome);
    if (above.is_notified()) {
      shared_promise::notify(above.handle(), ending, failed_outcome::reason(outcome));
      return transfer_to(above.handle());
    }
    ending = &above.task();
    if (failed_outcome::reason(outcome) == stop_reason::none && !ending->parent.has(task_mark::has_failed))
      return transfer_to(above.handle());
  }
}
/// As above. The task has stored the outcome in place of its environment.
CORACLE_TRANSFER_ABI() inline std::coroutine_handle<> end_tasks(task_frame& body) noexcept {
  std::uintptr_t outcome = body.outcome;
  const std::coroutine_handle<> next = end_tasks(body, outcome);
  failed_outcome::drop(outcome);
  return next;
}
/// As above.
CORACLE_TRANSFER_ABI()
inline std::coroutine_handle<> end_tasks(task_frame& body, const std::exception_ptr& error) noexcept {
  std::uintptr_t outcome;
  failed_outcome::store(outcome, error);
  const std::coroutine_handle<> next = end_tasks(body, outcome);
  failed_outcome::drop(outcome);
  return next;
}

/// Has `resumed` run when `task` is resumed, in place of the rest of its body. Returns false if the task must
/// be resumed and throw; never where `throws` is false. Requires: the task is suspended, and only the caller
/// has it resumed.
CORACLE_COLD()
bool end_when_resumed(std::coroutine_handle<> task, stop_reason why, task_frame::function* resumed,
                      bool throws) noexcept;
/// As end_when_resumed(), for a task that waits, if `wait` is cancelled. The caller has it resumed.
CORACLE_COLD()
bool end_when_resumed(queued_waiter& wait, task_frame::function* resumed, bool throws) noexcept;

/// A task whose children have been stopped or have failed, and that is ended when it is resumed.
class stopped_parent {
 public:
  /// Returns false if the task must be resumed and throw. Requires: the task is suspended, and only the
  /// caller has it resumed.
  CORACLE_THROWS_ABI() static bool note(std::coroutine_handle<> task, stop_reason why) noexcept {
    return end_when_resumed(task, why, &resumed, CORACLE_EXCEPTIONS());
  }

  CORACLE_TRANSFER_ABI() static void resumed(task_frame* body) {
    const std::coroutine_handle<> next = end_tasks(*body);
    CORACLE_RETURN_TO(body, next);
  }
};

using end_of_task = bool(std::coroutine_handle<> task, stop_reason why) noexcept;
/// Returns stopped_parent::note() as the including file compiles it, for a library that may be compiled
/// without its flags; null if a coroutine with this promise is no task.
template <class Promise>
constexpr end_of_task* end_of_parent() noexcept {
  if constexpr (ends_stopped<Promise>) {
    return &stopped_parent::note;
  } else {
    return nullptr;
  }
}

/// Awaited by a combinator that is a task: ends it as a stop request that ends a wait does. Throws
/// operation_cancelled where that must be an exception.
class [[nodiscard]] CORACLE_THROWS_ABI() ends_as_stopped {
 public:
  explicit ends_as_stopped(stop_reason why) noexcept : why_(why) {}
  bool await_ready() const noexcept { return false; }
  template <class Promise>
  CORACLE_TRANSFER_ABI()
  std::coroutine_handle<> await_suspend(std::coroutine_handle<Promise> task) const noexcept {
    static_assert(ends_stopped<Promise>, "the combinator that awaits it must be a task");
    static_cast<void>(stopped_parent::note(task, why_));
    return coracle::transfer_to(task);
  }
  [[noreturn]] void await_resume() const { throw_cancelled(why_); }

 private:
  stop_reason why_;
};

/// Awaited by a combinator that is a task, with the end of work that it has awaited. Continues if there is a
/// value, and if there is an error that get() can throw; otherwise ends the combinator in the same way.
template <class T>
class [[nodiscard]] CORACLE_THROWS_ABI() ends_unless_value {
 public:
  explicit ends_unless_value(const outcome<T>& end) noexcept : end_(end) {}
  bool await_ready() const noexcept { return end_.has_value() || (CORACLE_EXCEPTIONS() && end_.has_error()); }
  template <class Promise>
  CORACLE_TRANSFER_ABI()
  std::coroutine_handle<> await_suspend(std::coroutine_handle<Promise> task) const noexcept {
    if (end_.has_error()) return end_with_error(task);
    return ends_as_stopped(end_.reason()).await_suspend(task);
  }
  void await_resume() const {
    if (end_.is_cancelled()) throw_cancelled(end_.reason());
  }

 private:
  CORACLE_TRANSFER_ABI() std::coroutine_handle<> end_with_error(std::coroutine_handle<> task) const noexcept {
    const std::exception_ptr error = end_.error();
    return end_tasks(*static_cast<task_frame*>(task.address()), error);
  }

  const outcome<T>& end_;
};

// Ends a task in its loop as ends_as_stopped does. Where there are exceptions it throws, because a further
// point of suspension in the loop costs clang up to 10 % of each pass.
#if CORACLE_EXCEPTIONS()
#define CORACLE_END_AS_STOPPED(why) ::coracle::detail::throw_cancelled(why)
#else
#define CORACLE_END_AS_STOPPED(why) co_await ::coracle::detail::ends_as_stopped(why)
#endif

/// A task that waits, and that a stop request ends when it is resumed: see end_when_resumed().
class stopped_wait {
 public:
  CORACLE_TRANSFER_ABI() static void resumed(task_frame* body) {
    queued_waiter& wait = *body->stopped;
    const stop_reason why = wait.reason();
    wait.remove_called();
    // The operation may be one of a frame that lives on, and be awaited again.
    wait.~queued_waiter();
    wait.mark_unused();
    const std::coroutine_handle<> next = end_tasks(*body, failed_outcome::of(why));
    CORACLE_RETURN_TO(body, next);
  }
};
}  // namespace coracle::detail
