// tour/small_task.hpp -- a task that takes its frames from wherever it is told to.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/core/frame_memory.hpp>
#include <coracle/core/promise_parts.hpp>
#include <coroutine>
#include <utility>

#if defined(__has_cpp_attribute) && defined(__clang__)
#if __has_cpp_attribute(clang::coro_await_elidable)
#define TOUR_AWAIT_ELIDABLE() [[clang::coro_await_elidable]]
#endif
#endif
#if !defined(TOUR_AWAIT_ELIDABLE)
#define TOUR_AWAIT_ELIDABLE()
#endif

namespace tour {
/// `Frames` is the promise part that allocates. clang may put the frame into that of the awaiting coroutine.
template <class Frames>
class [[nodiscard]] TOUR_AWAIT_ELIDABLE() small_task {
 public:
  struct promise_type : coracle::part::continues_parent,
                        coracle::part::starts_lazily,
                        coracle::part::returns<int>,
                        coracle::part::awaits_anything,
                        Frames {
    small_task get_return_object() noexcept {
      return small_task(std::coroutine_handle<promise_type>::from_promise(*this));
    }
  };

  explicit small_task(std::coroutine_handle<promise_type> body) noexcept : body_(body) {}
  small_task(small_task&& other) noexcept : body_(std::exchange(other.body_, nullptr)) {}
  small_task& operator=(small_task&&) = delete;
  ~small_task() {
    if (body_) body_.destroy();
  }

  class awaiter {
   public:
    explicit awaiter(std::coroutine_handle<promise_type> body) noexcept : body_(body) {}
    bool await_ready() const noexcept { return false; }
    template <class Promise>
    CORACLE_TRANSFER_ABI()
    std::coroutine_handle<> await_suspend(std::coroutine_handle<Promise> parent) noexcept {
      body_.promise().set_parent(parent);
      return coracle::transfer_to(body_);
    }
    int await_resume() { return body_.promise().take(); }

   private:
    std::coroutine_handle<promise_type> body_;
  };
  awaiter operator co_await() && noexcept { return awaiter(body_); }

 private:
  std::coroutine_handle<promise_type> body_;
};

/// Empty, and says so, where there was no memory for its frame.
class [[nodiscard]] cautious {
 public:
  struct promise_type : coracle::part::starts_eagerly,
                        coracle::part::returns<int>,
                        coracle::part::stays_at_end,
                        coracle::reports_allocation_failure<cautious> {
    cautious get_return_object() noexcept {
      return cautious(std::coroutine_handle<promise_type>::from_promise(*this));
    }
  };
  static cautious on_allocation_failure() noexcept { return cautious(nullptr); }

  explicit cautious(std::coroutine_handle<promise_type> body) noexcept : body_(body) {}
  cautious(cautious&& other) noexcept : body_(std::exchange(other.body_, nullptr)) {}
  cautious& operator=(cautious&&) = delete;
  ~cautious() {
    if (body_) body_.destroy();
  }
  [[nodiscard]] bool has_memory() const noexcept { return static_cast<bool>(body_); }
  int result() { return body_.promise().take(); }

 private:
  std::coroutine_handle<promise_type> body_;
};
}  // namespace tour
