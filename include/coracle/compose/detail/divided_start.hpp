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

/// Is resumed to start children: the rest of them, or, if that was put off, all.
struct start_promise {
  explicit start_promise(siblings* of) noexcept : children(of) {}
  siblings* children;
};
using start_frame = basic_callback_frame<start_promise>;

/// How far the start of some children has come, and which of those that were started count themselves down.
/// Children start in order.
///
/// Divided: before a child runs, the start of the rest is offered in this thread's fork queue. This thread
/// takes it back when the child has ended; an idle thread may take it before. Whoever has it owns what is
/// written here. Undivided, where there is no such queue, and for a race: one thread starts all in a loop.
//
// Most children end inside their start. Those are counted down together, with one atomic operation for all:
//   divided    a child whose thread took the rest back has ended, and is not counted by itself; each of the
//   others, which are
//              apart_, counts itself. When only the last one is to be started, those that had ended are counted down, unless
//              nothing runs apart: then only the last child is left, and its end continues the parent without an atomic.
//   undivided  apart_ are those that ended on the starting thread; they are counted down after the loop.
//   [D1] which thread starts  relaxed  a thread finds itself there only if it has written that
class divided_start {
 public:
  divided_start() noexcept {}
  divided_start(const divided_start&) = delete;
  divided_start& operator=(const divided_start&) = delete;
  ~divided_start() {}

  // ---- divided ----

  /// Returns false if this thread has no queue to steal from.
  [[nodiscard]] CORACLE_ALWAYS_INLINE() bool divide(start_frame::function* start_rest,
                                                    siblings& children) noexcept {
    if (!this_thread().may_fork()) return false;
    ::new (static_cast<void*>(&rest_)) resumption{make_frame(start_rest, children)};
    stage_ = stage::divided;
    return true;
  }
  [[nodiscard]] bool is_divided() const noexcept { return stage_ != stage::undivided; }
  /// Only the child that was started last still runs.
  [[nodiscard]] bool is_last() const noexcept { return stage_ == stage::last; }

  /// `place`: where in the queue it was before, if it was taken back from there and nothing else was done to
  /// the queue since.
  CORACLE_ALWAYS_INLINE() void offer_rest(std::size_t next, std::size_t place) noexcept {
    next_ = next;
    if (place == fork_queue::nowhere) {
      this_thread().forks->push(rest_);
    } else {
      this_thread().forks->push_again(place);
    }
  }
  /// What is left is one child, the last of `children`. Gives how many are to be counted down now.
  [[nodiscard]] CORACLE_ALWAYS_INLINE() std::size_t offer_nothing(std::size_t children) noexcept {
    if (apart_ != 0) [[unlikely]]
      return children - 1 - apart_;
    stage_ = stage::last;
    return 0;
  }
  /// The first child that has not been started.
  [[nodiscard]] std::size_t next() const noexcept { return next_; }
  /// How many of `children` do not count themselves, if no more are started.
  [[nodiscard]] std::size_t uncounted(std::size_t children) const noexcept { return children - apart_; }
  [[nodiscard]] bool none_apart() const noexcept { return apart_ == 0; }

  /// The short path of take_back(). Gives the place for offer_rest(); fork_queue::nowhere: ask take_back().
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
  /// The child before was not over when the rest went on, so it counts itself; or, after all, it was.
  void one_apart() noexcept { ++apart_; }
  void one_less_apart() noexcept { --apart_; }
  [[nodiscard]] std::coroutine_handle<> rest() noexcept { return frame_.handle(); }

  // ---- undivided ----

  void begin_loop() noexcept { starts_on_.store(&this_thread(), memory_order_relaxed); } /*D1*/
  /// A child has ended on this thread while it starts the others; or is left out.
  void over_in_loop() noexcept { ++apart_; }
  [[nodiscard]] bool in_loop() const noexcept {
    return starts_on_.load(memory_order_relaxed) == &this_thread(); /*D1*/
  }
  /// Gives how many ended in it.
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
  plain<std::size_t> next_;  // not read before it is set
  // Each is made when it is needed.
  union {
    start_frame frame_;
  };
  union {
    resumption rest_;
    waiter late_;
  };
};
}  // namespace coracle::detail
