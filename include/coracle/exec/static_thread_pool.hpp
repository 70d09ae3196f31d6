// coracle/exec/static_thread_pool.hpp -- a fixed number of threads that share their work.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/core/executor.hpp>
#include <coracle/detail/atomic.hpp>
#include <cstddef>
#include <memory>

namespace coracle {
/// Threads that run coroutines; an idle one takes work from a busy one.
///
///     coracle::static_thread_pool pool{4};
///     co_await pool.schedule();  // from here on: one of its threads
///
/// Order         no order between coroutines is promised; none waits for ever while the pool runs.
/// Resumes on    any of its threads.
/// Cancellation  schedule() is not ended by a stop request: the pool runs it.
/// Exceptions    the constructor: std::system_error where a thread cannot be started.
/// Threads       all members are thread-safe; the destructor is not called from a pool thread.
/// Cost          no allocation after construction; idle threads sleep.
class static_thread_pool final : public executor {
 public:
  /// One thread for each that the machine runs at the same time.
  static_thread_pool();
  /// Requires: threads >= 1.
  explicit static_thread_pool(std::size_t threads);
  static_thread_pool(const static_thread_pool&) = delete;
  static_thread_pool& operator=(const static_thread_pool&) = delete;
  /// Runs all that is queued, and what that posts to the pool, then joins the threads. Nothing is dropped.
  ~static_thread_pool();

  class schedule_operation;
  /// Awaitable of nothing: continues on a pool thread, behind what is queued there already.
  schedule_operation schedule() noexcept;
  void post(resumption& item) noexcept override;
  [[nodiscard]] std::size_t thread_count() const noexcept;

 private:
  class shared_state;
  std::unique_ptr<shared_state> state_;
};

class [[nodiscard("schedule() does nothing until it is awaited")]] static_thread_pool::schedule_operation
    : resumption {
 public:
  explicit schedule_operation(static_thread_pool& pool) noexcept : pool_(pool) {}
  bool await_ready() const noexcept { return false; }
  CORACLE_NOINLINE_SUSPEND() void await_suspend(std::coroutine_handle<> suspended) noexcept {
    handle = suspended;
    pool_.post(*this);
  }
  void await_resume() const noexcept {}

 private:
  static_thread_pool& pool_;
};
inline static_thread_pool::schedule_operation static_thread_pool::schedule() noexcept {
  return schedule_operation{*this};
}
}  // namespace coracle
