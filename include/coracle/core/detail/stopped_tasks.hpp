// coracle/core/detail/stopped_tasks.hpp -- ends tasks where they are suspended, because of a stop request.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/core/detail/callback_frame.hpp>
#include <coracle/core/detail/queued_waiter.hpp>
#include <coracle/core/detail/task_frame.hpp>
#include <coracle/core/frame_memory.hpp>
#include <coracle/core/transfer.hpp>
#include <new>

// A wait that a stop request has ended wakes its coroutine, which throws operation_cancelled, through every task above. Below
// an as_outcome() the tasks are destroyed where they are suspended instead: the resume function of the one that waits is
// overwritten, so that the executor which resumes it runs end_tasks().
//
//   stopper's thread   takes the wait out of its queue, looks up to the first that is told of the end, writes resumed() over
//                      the resume function, and posts the coroutine: stopped_wait::note()
//   home executor      destroys the frame, and then that of the task which awaits it, and so on up to the one whose end is
//                      told; resumes what awaits that one
//
// So what lives in a frame is destroyed before what lives in the frame above it, on a constant stack. The awaiter in the frame
// above will destroy the frame below once more: so its memory is kept as an ended_frame, which looks like a task that has
// failed, and whose destroy function gives the memory back.
//
// All frames on the way are suspended, and nobody resumes them: whoever took the wait out of its queue has them, until it posts
// the coroutine, and then the executor. So nothing here is atomic.
namespace coracle::detail {
/// What is left of the frame of a task that was ended where it was suspended.
class ended_frame : public task_frame {
 public:
  /// Destroys the frame that begins at `body`.
  static void make_of(task_frame& body, std::uintptr_t outcome) noexcept {
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
    left->outcome = outcome;
    left->parent = above;
    left->parent.add(task_mark::has_failed);
    left->kept_ = kept;
  }

 private:
  static void give_back(task_frame* frame) {
    const kept_memory kept = static_cast<ended_frame*>(frame)->kept_;
    kept.give_back(frame, kept.size);
  }

  kept_memory kept_;
};

/// What awaits a task.
class task_above {
 public:
  explicit task_above(const task_frame& body) noexcept {
    if (body.parent.has(task_mark::folds)) {
      // The awaiter begins with the body, and then the slot: core/detail/task_awaiter.hpp.
      frame_ = static_cast<void**>(body.parent.pointer())[1];
    } else {
      frame_ = body.parent.pointer();
      is_told_ = callback_mark::is_at(handle()) || shared_frame::is_one(handle()) ||
                 static_cast<void**>(frame_)[1] == &body;  // forked_child
    }
  }
  [[nodiscard]] bool is_told() const noexcept { return is_told_; }
  [[nodiscard]] std::coroutine_handle<> handle() const noexcept {
    return std::coroutine_handle<>::from_address(frame_);
  }
  /// Requires: not is_told().
  [[nodiscard]] task_frame& task() const noexcept { return *static_cast<task_frame*>(frame_); }

 private:
  void* frame_;
  bool is_told_ = false;
};

/// Returns true if the end of `body` is wanted as a value, so that nobody is to see an exception; or if nothing can be thrown.
/// A failed allocation is an error, not a stop.
inline bool ends_quietly(const task_frame& body, stop_reason why) noexcept {
  if (!CORACLE_EXCEPTIONS()) return true;
  if (why == stop_reason::out_of_memory) return false;
  task_above above(body);
  while (!above.is_told()) above = task_above(above.task());
  return callback_mark::is_of_outcome(above.handle());
}

/// Ends `body`, which is suspended, and the tasks that await it. Gives what is to be resumed then.
CORACLE_TRANSFER_ABI() inline std::coroutine_handle<> end_tasks(task_frame& body, stop_reason why) noexcept {
  task_frame* ending = &body;
  for (;;) {
    const task_above above(*ending);
    ended_frame::make_of(*ending, stopped_outcome::of(why));
    if (above.is_told()) {
      shared_promise::tell(above.handle(), ending, why);
      return transfer_to(above.handle());
    }
    ending = &above.task();
  }
}

/// A task that waits, and that a stop request ends when it is resumed.
class stopped_wait {
 public:
  /// Returns false if the task is to throw when it is resumed. Requires: `wait` is cancelled, its coroutine is a task, and the
  /// caller is to have it resumed.
  CORACLE_COLD() static bool note(queued_waiter& wait) noexcept {
    auto& body = *static_cast<task_frame*>(std::coroutine_handle<>(wait.handle).address());
    if (wait.progress() != queued_waiter::cancelled || !ends_quietly(body, wait.reason())) return false;
    body.stopped = &wait;
    task_frame::function* end = &resumed;
    CORACLE_HIDES_RESUMED(end);
    body.resume = end;
    return true;
  }

 private:
  CORACLE_TRANSFER_ABI() static void resumed(task_frame* body) {
    queued_waiter& wait = *body->stopped;
    const stop_reason why = wait.reason();
    wait.remove();  // waits for a listener that runs on another thread
    const std::coroutine_handle<> next = end_tasks(*body, why);
    CORACLE_RETURN_TO(body, next);
  }
};
}  // namespace coracle::detail
