// tour/naive_task.hpp -- how not to do it: every await and every end is a resume() inside the last one.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/core/frame_memory.hpp>
#include <coracle/core/promise_parts.hpp>
#include <coroutine>
#include <cstdint>
#include <utility>

namespace tour {
/// How many resume() are inside one another on this thread. Counting them down again afterwards is what
/// remains to be done when the inner one returns; so none of them is the last thing that its caller does.
inline thread_local std::uint64_t nested_resumes = 0;

[[gnu::noinline]] inline void resume_nested(std::coroutine_handle<> next) {
  ++nested_resumes;
  next.resume();
  --nested_resumes;
}

template <class T>
class [[nodiscard]] naive_task {
 public:
  class promise_type;

  explicit naive_task(std::coroutine_handle<promise_type> body) noexcept : body_(body) {}
  naive_task(naive_task&& other) noexcept : body_(std::exchange(other.body_, nullptr)) {}
  naive_task& operator=(naive_task&&) = delete;
  ~naive_task() {
    if (body_) body_.destroy();
  }

  class awaiter {
   public:
    explicit awaiter(std::coroutine_handle<promise_type> body) noexcept : body_(body) {}
    bool await_ready() const noexcept { return false; }
    void await_suspend(std::coroutine_handle<> parent) {
      body_.promise().parent_ = parent;
      resume_nested(body_);
    }
    T await_resume() { return body_.promise().take(); }

   private:
    std::coroutine_handle<promise_type> body_;
  };
  awaiter operator co_await() && noexcept { return awaiter(body_); }

 private:
  std::coroutine_handle<promise_type> body_;
};

template <class T>
class naive_task<T>::promise_type : public coracle::part::starts_lazily,
                                    public coracle::part::returns<T>,
                                    public coracle::part::awaits_anything,
                                    public coracle::recycled_frames {
 public:
  naive_task get_return_object() noexcept {
    return naive_task(std::coroutine_handle<promise_type>::from_promise(*this));
  }
  class final_awaiter {
   public:
    final_awaiter() noexcept {}
    bool await_ready() const noexcept { return false; }
    void await_suspend(std::coroutine_handle<promise_type> self) const noexcept {
      resume_nested(self.promise().parent_);
    }
    void await_resume() const noexcept {}
  };
  final_awaiter final_suspend() const noexcept { return {}; }

 private:
  friend naive_task;
  std::coroutine_handle<> parent_;
};
}  // namespace tour
