// examples/11_noexcept_task.cpp -- your own coroutine type: a task whose errors end the program.
// SPDX-License-Identifier: MIT
#include <coracle/core/frame_memory.hpp>
#include <coracle/core/promise_parts.hpp>
#include <coracle/core/sync_wait.hpp>
#include <cstdio>

template <class T>
class [[nodiscard]] noexcept_task {
 public:
  struct promise_type : coracle::part::continues_parent,
                        coracle::part::starts_lazily,
                        coracle::part::returns<T, coracle::part::terminates_on_error>,
                        coracle::part::awaits_anything,
                        coracle::recycled_frames {
    noexcept_task get_return_object() noexcept {
      return noexcept_task(std::coroutine_handle<promise_type>::from_promise(*this));
    }
  };
  noexcept_task(noexcept_task&& other) noexcept : body_(std::exchange(other.body_, nullptr)) {}
  ~noexcept_task() {
    if (body_) body_.destroy();
  }

  bool await_ready() const noexcept { return false; }
  template <class Promise>
  CORACLE_TRANSFER_ABI()
  std::coroutine_handle<> await_suspend(std::coroutine_handle<Promise> parent) noexcept {
    body_.promise().set_parent(parent);
    return coracle::transfer_to(body_);
  }
  T await_resume() noexcept { return body_.promise().take(); }

 private:
  explicit noexcept_task(std::coroutine_handle<promise_type> body) noexcept : body_(body) {}
  std::coroutine_handle<promise_type> body_;
};

noexcept_task<int> twice(int n) { co_return 2 * n; }
noexcept_task<int> four_times(int n) {
  const int half = co_await twice(n);
  co_return 2 * half;
}

int main() { std::printf("%d\n", coracle::sync_wait(four_times(5))); }

// Output:
//   20
