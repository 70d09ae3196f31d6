// coracle/exec/run_loop.hpp -- a scheduler that runs on whichever thread calls run(), or step by step.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/core/executor.hpp>
#include <coracle/detail/atomic.hpp>
#include <cstddef>
#include <cstdint>

namespace coracle {
/// A queue of coroutines that the owner's thread runs: until told to stop, or one at a time in a test.
///
///     coracle::run_loop loop;
///     loop.run();                    // until stop(), from any thread or coroutine
///     while (loop.run_one()) {}      // or: whatever can run now, without waiting
///
/// Order         first posted, first run.
/// Resumes on    the thread that is inside run(), run_one() or run_pending().
/// Cancellation  schedule() is not ended by a stop request: the loop must run it.
/// Exceptions    none of its own.
/// Threads       schedule(), post() and stop() from any thread; the running members from one at a time.
/// Cost          no allocation; one exchange to post, a system call if the loop's thread sleeps.
class run_loop final : public executor {
 public:
  run_loop() noexcept = default;
  run_loop(const run_loop&) = delete;
  run_loop& operator=(const run_loop&) = delete;
  /// Requires: nothing is queued, and nobody is inside run().
  ~run_loop();

  class schedule_operation;
  /// Awaitable of nothing: continues on this loop, behind what is queued already.
  [[nodiscard]] schedule_operation schedule() noexcept;
  void post(resumption& item) noexcept override;

  /// Runs what is queued and sleeps in between, until stop() was called and the queue is empty.
  void run();
  /// Runs one. False: nothing was queued.
  bool run_one();
  /// Runs what is queued at the moment of the call, not what that posts. Returns how many.
  std::size_t run_pending();
  /// Lets run() return once the queue is empty; also the next run(), if none is active.
  void stop() noexcept;

 private:
  resumption* take() noexcept;

  // posted_ is null or the newest of a stack of entries. queue_ belongs to the running thread.
  //   [R1] push            release  publish the entry's fields                pairs with R2
  //   [R2] take all        acquire  read those fields                         pairs with R1
  // signal_ is a bit field: `stopping`, and `sleeping` while run() is about to sleep. The seq_cst operations
  // make one of two see the other: a poster that pushes and then reads signal_ (R3), and a sleeper that
  // writes signal_ (R4) and then reads posted_ (R5).
  static constexpr std::uint32_t stopping = 1, sleeping = 2;
  detail::atomic<resumption*> posted_{nullptr};
  detail::atomic<std::uint32_t> signal_{0};
  resumption* queue_ = nullptr;
};

class [[nodiscard("schedule() does nothing until it is awaited")]] run_loop::schedule_operation : resumption {
 public:
  explicit schedule_operation(run_loop& loop) noexcept : loop_(loop) {}
  bool await_ready() const noexcept { return false; }
  CORACLE_NOINLINE_SUSPEND() void await_suspend(std::coroutine_handle<> suspended) noexcept {
    handle = suspended;
    loop_.post(*this);
  }
  void await_resume() const noexcept {}

 private:
  run_loop& loop_;
};
inline run_loop::schedule_operation run_loop::schedule() noexcept { return schedule_operation{*this}; }
}  // namespace coracle
