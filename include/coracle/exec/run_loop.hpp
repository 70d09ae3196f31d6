// coracle/exec/run_loop.hpp -- a scheduler that runs on the thread that calls run(), or step by step.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/base/atomic.hpp>
#include <coracle/core/schedule.hpp>
#include <cstddef>
#include <cstdint>

namespace coracle {
/// A queue of coroutines that the owner's thread runs: until told to stop, or one at a time in a test.
///
///     coracle::run_loop loop;
///     loop.run();                    // until stop(), from any thread or coroutine
///     while (loop.run_one()) {}      // or: everything runnable now, without waiting
///
/// Order         first posted, first run.
/// Resumes on    the thread that is inside run(), run_one() or run_pending().
/// Cancellation  schedule(): as schedule_operation; the loop must run it.
/// Exceptions    none of its own.
/// Threads       schedule(), post() and stop() from any thread; the run members from one at a time. It may be
///               destroyed as soon as everything posted has run and run() has returned.
/// Cost          no allocation; one exchange to post, a system call if the loop's thread sleeps.
class run_loop final : public executor {
 public:
  run_loop() noexcept = default;
  run_loop(const run_loop&) = delete;
  run_loop& operator=(const run_loop&) = delete;
  /// Requires: nothing is queued and run() is not active.
  ~run_loop();

  /// Awaitable of nothing: continues on this loop, behind what is already queued.
  schedule_operation<run_loop> schedule() noexcept { return schedule_operation{*this}; }
  void post(resumption& item) noexcept override;

  /// Runs what is queued, and sleeps in between, until stop() has been called and the queue is empty.
  void run();
  /// Runs one coroutine. Returns false if nothing was queued.
  bool run_one();
  /// Runs what is queued at the time of the call, not what that posts. Returns the number of coroutines run.
  std::size_t run_pending();
  /// Makes run() return once the queue is empty; if run() is not active, the next one.
  void stop() noexcept;

 private:
  resumption* take() noexcept;

  // state_ is one word, so that the exchange that publishes an entry, or the stop, is its thread's last
  // access to the loop, which may be destroyed as soon as another thread sees it. After that only the word's
  // address is used, to wake run(). The word is `sleeping` while run() sleeps or is about to; otherwise bit 0
  // is set if the loop is to stop, and the rest is null or the newest of a stack of entries. queue_ belongs
  // to the running thread.
  //   [R1] push an entry   release  publish its fields                         pairs with R2
  //   [R2] take all        acquire  read those fields                          pairs with R1
  //   [R3] woken           relaxed  R2 or R5 follows
  //   [R4] stop            release  publish what was done before stop()        pairs with R5
  //   [R5] stopping -> 0   acquire  see that                                   pairs with R4
  //   [R6] 0 -> sleeping   relaxed  the thread that changes it wakes the loop: R3 or R2 follows
  //   [R7] load            relaxed  a hint: R2 follows
  static constexpr std::uintptr_t stopping = 1, sleeping = 2;
  detail::atomic<std::uintptr_t> state_{0};
  detail::plain<resumption*> queue_ = nullptr;
};
}  // namespace coracle
