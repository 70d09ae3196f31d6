// bench/micro/floor_task.hpp -- a minimal lazy task, the floor that coracle::task is compared to.
// SPDX-License-Identifier: MIT
#pragma once
#include <coroutine>
#include <cstddef>
#include <exception>
#include <new>
#include <type_traits>
#include <utility>

// No environment, no errors, no checks; freed frames are cached without a limit.
namespace floor_task {
struct free_frame {
  free_frame* next;
};
inline constinit thread_local free_frame* free_frames[16]{};

struct frames {
  static void* operator new(std::size_t size) {
    const std::size_t index = (size - 1) / 64;
    if (index >= 16) return ::operator new(size);
    free_frame* const frame = free_frames[index];
    if (!frame) return ::operator new((index + 1) * 64);
    free_frames[index] = frame->next;
    return frame;
  }
  static void operator delete(void* memory, std::size_t size) noexcept {
    const std::size_t index = (size - 1) / 64;
    if (index >= 16) return ::operator delete(memory);
    auto* const frame = static_cast<free_frame*>(memory);
    frame->next = free_frames[index];
    free_frames[index] = frame;
  }
};

struct promise_base : frames {
  struct final_awaiter {
    bool await_ready() const noexcept { return false; }
    template <class Promise>
    std::coroutine_handle<> await_suspend(std::coroutine_handle<Promise> self) const noexcept {
      return self.promise().parent;
    }
    void await_resume() const noexcept {}
  };
  std::suspend_always initial_suspend() const noexcept { return {}; }
  final_awaiter final_suspend() const noexcept { return {}; }
  [[noreturn]] void unhandled_exception() const noexcept { std::terminate(); }

  std::coroutine_handle<> parent;
};
template <class T>
struct result : promise_base {
  void return_value(T given) noexcept { value = given; }
  T take() const noexcept { return value; }
  T value;
};
template <>
struct result<void> : promise_base {
  void return_void() const noexcept {}
  void take() const noexcept {}
};

template <class T = void>
class [[nodiscard]] task {
 public:
  struct promise_type : result<T> {
    task get_return_object() noexcept { return task(handle::from_promise(*this)); }
  };
  using handle = std::coroutine_handle<promise_type>;

  task(task&& other) noexcept : body_(std::exchange(other.body_, nullptr)) {}
  ~task() {
    if (body_) body_.destroy();
  }
  auto operator co_await() && noexcept {
    struct awaiter {
      bool await_ready() const noexcept { return false; }
      std::coroutine_handle<> await_suspend(std::coroutine_handle<> parent) const noexcept {
        body.promise().parent = parent;
        return body;
      }
      T await_resume() const noexcept { return body.promise().take(); }
      handle body;
    };
    return awaiter{body_};
  }
  /// Runs the task to completion on this stack; nothing else may have to resume it.
  T run() {
    body_.promise().parent = std::noop_coroutine();
    body_.resume();
    return body_.promise().take();
  }

 private:
  explicit task(handle body) noexcept : body_(body) {}
  handle body_;
};
}  // namespace floor_task
