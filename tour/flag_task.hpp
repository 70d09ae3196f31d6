// tour/flag_task.hpp -- the classic way without symmetric transfer: an atomic flag says who came second.
// SPDX-License-Identifier: MIT
#pragma once
#include <atomic>
#include <coracle/core/frame_memory.hpp>
#include <coracle/core/promise_parts.hpp>
#include <coroutine>
#include <utility>

namespace tour {
/// The awaiter resumes the child and then looks whether it has ended meanwhile: then it does not suspend at
/// all. The stack stays flat, but each await pays for two atomic exchanges, and a child that ends on another
/// thread races with its parent: whoever comes second goes on, on its own thread.
template <class T>
class [[nodiscard]] flag_task {
 public:
  class promise_type;

  explicit flag_task(std::coroutine_handle<promise_type> body) noexcept : body_(body) {}
  flag_task(flag_task&& other) noexcept : body_(std::exchange(other.body_, nullptr)) {}
  flag_task& operator=(flag_task&&) = delete;
  ~flag_task() {
    if (body_) body_.destroy();
  }

  class awaiter {
   public:
    explicit awaiter(std::coroutine_handle<promise_type> body) noexcept : body_(body) {}
    bool await_ready() const noexcept { return false; }
    bool await_suspend(std::coroutine_handle<> parent) {
      promise_type& child = body_.promise();
      child.parent_ = parent;
      body_.resume();
      return !child.second_.exchange(true, std::memory_order_acq_rel);
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
class flag_task<T>::promise_type : public coracle::part::starts_lazily,
                                   public coracle::part::returns<T>,
                                   public coracle::part::awaits_anything,
                                   public coracle::recycled_frames {
 public:
  flag_task get_return_object() noexcept {
    return flag_task(std::coroutine_handle<promise_type>::from_promise(*this));
  }
  class final_awaiter {
   public:
    final_awaiter() noexcept {}
    bool await_ready() const noexcept { return false; }
    void await_suspend(std::coroutine_handle<promise_type> self) const noexcept {
      promise_type& ended = self.promise();
      if (ended.second_.exchange(true, std::memory_order_acq_rel)) ended.parent_.resume();
    }
    void await_resume() const noexcept {}
  };
  final_awaiter final_suspend() const noexcept { return {}; }

 private:
  friend flag_task;
  std::coroutine_handle<> parent_;
  std::atomic<bool> second_{false};
};
}  // namespace tour
