// coracle/compose/detail/divided_start.hpp -- starts several children, divided among the threads of a pool.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/core/detail/callback_frame.hpp>
#include <coracle/core/detail/fork_queue.hpp>
#include <coracle/core/detail/nested_starts.hpp>
#include <coracle/core/executor.hpp>
#include <cstddef>
#include <new>

namespace coracle::detail {
class siblings;

/// Resumed to start children: the remaining ones or, if the start was put off, all.
struct start_promise {
  explicit start_promise(siblings* of) noexcept : children(of) {}
  siblings* children;
};
using start_frame = basic_callback_frame<start_promise>;

/// Records how far the start of the children has come, and which of those that were started count themselves
/// down. Children start in order.
///
/// Divided: before a child runs, the start of the remaining ones is offered in this thread's fork queue. This
/// thread takes it back when the child has ended; an idle thread may take it first. The thread that has it
/// owns the fields here. Undivided, without such a queue and for a race: one thread starts all children in a
/// loop.
//
// Most children end inside their start. Those are counted down together, by one atomic operation:
//   divided    a child that has ended when its thread takes the rest back is not counted individually; each
//              of the others, the apart_ ones, counts itself. When only the last child is left to start,
//              those that have ended are counted down, unless nothing runs apart: then only the last child is
//              left, and its end continues the parent without an atomic.
//   undivided  apart_ is the number that ended on the starting thread; they are counted down after the loop.
//   [D1] which thread starts  relaxed  a thread finds itself there only if it has written that
class divided_start {
 public:
  divided_start() noexcept {}
  divided_start(const divided_start&) = delete;
  divided_start& operator=(const divided_start&) = delete;
  ~divided_start() {}

  // ---- divided ----

  /// Returns false if this thread has no queue that others can steal from.
  [[nodiscard]] CORACLE_ALWAYS_INLINE() bool divide(start_frame::function* start_rest,
                                                    siblings& children) noexcept {
    if (!this_thread().may_fork()) return false;
    ::new (static_cast<void*>(&rest_)) resumption{make_frame(start_rest, children)};
    stage_ = stage::divided;
    return true;
  }
  [[nodiscard]] bool is_divided() const noexcept { return stage_ != stage::undivided; }
  /// Returns true if only the child that was started last is still running.
  [[nodiscard]] bool is_last() const noexcept { return stage_ == stage::last; }

  /// `position`: where in the queue the entry was, if it was taken back and the queue has not been used
  /// since; otherwise fork_queue::nowhere.
  CORACLE_ALWAYS_INLINE() void offer_rest(std::size_t next, std::size_t position) noexcept {
    next_ = next;
    if (position == fork_queue::nowhere) {
      this_thread().forks->push(rest_);
    } else {
      this_thread().forks->push_again(position);
    }
  }
  /// The only remaining child is the last of `children`. Returns how many must be counted down now.
  [[nodiscard]] CORACLE_ALWAYS_INLINE() std::size_t offer_nothing(std::size_t children) noexcept {
    if (apart_ != 0) [[unlikely]]
      return children - 1 - apart_;
    stage_ = stage::last;
    return 0;
  }
  /// The first child that has not been started.
  [[nodiscard]] std::size_t next() const noexcept { return next_; }
  /// Returns how many of `children` do not count themselves if no more are started.
  [[nodiscard]] std::size_t uncounted(std::size_t children) const noexcept { return children - apart_; }
  [[nodiscard]] bool none_apart() const noexcept { return apart_ == 0; }

  /// The short path of take_back(). Returns the position for offer_rest(), or fork_queue::nowhere: call
  /// take_back() then.
  [[nodiscard]] CORACLE_ALWAYS_INLINE() std::size_t take_back_fast() const noexcept {
    const thread_state& thread = this_thread();
    if (!thread.may_fork()) [[unlikely]]
      return fork_queue::nowhere;
    return thread.forks->take_back_fast(rest_);
  }
  /// Returns true if the start of the rest was still in this thread's queue.
  [[nodiscard]] CORACLE_ALWAYS_INLINE() bool take_back() const noexcept {
    const thread_state& thread = this_thread();
    return stage_ == stage::divided && thread.may_fork() && thread.forks->take_back(rest_);
  }
  /// The rest goes on while the previous child still runs, which therefore counts itself.
  void one_apart() noexcept {
    ++apart_;
    this_thread().forks->note_start();
  }
  /// The rest is about to go on, and one_apart() will be called, although the previous child has ended.
  void one_less_apart() noexcept { --apart_; }
  [[nodiscard]] std::coroutine_handle<> rest() noexcept { return frame_.handle(); }

  // ---- undivided ----

  void begin_loop() noexcept { starts_on_.store(&this_thread(), memory_order_relaxed); } /*D1*/
  /// A child has ended on this thread during the loop, or is left out.
  void over_in_loop() noexcept { ++apart_; }
  [[nodiscard]] bool in_loop() const noexcept {
    return starts_on_.load(memory_order_relaxed) == &this_thread(); /*D1*/
  }
  /// Returns how many ended in the loop.
  std::size_t end_loop() noexcept {
    starts_on_.store(nullptr, memory_order_relaxed); /*D1*/
    return apart_;
  }
  /// Calls `loop` on the current executor when the outermost of the starts on this thread is about to return.
  void put_off(nested_start& too_deep, start_frame::function* loop, siblings& children) noexcept {
    too_deep.put_off(*::new (static_cast<void*>(&late_)) waiter(make_frame(loop, children)));
  }

 private:
  std::coroutine_handle<> make_frame(start_frame::function* start, siblings& children) noexcept {
    return (::new (static_cast<void*>(&frame_)) start_frame(start, &children))->handle();
  }

  enum class stage : std::uint8_t { undivided, divided, last };

  atomic<const thread_state*> starts_on_{nullptr};
  plain<std::size_t> apart_ = 0;
  plain<stage> stage_ = stage::undivided;
  plain<std::size_t> next_;  // uninitialised until it is set
  // Each is constructed when it is needed.
  union {
    start_frame frame_;
  };
  union {
    resumption rest_;
    waiter late_;
  };
};
}  // namespace coracle::detail
