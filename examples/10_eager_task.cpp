// examples/10_eager_task.cpp -- your own coroutine type: a task that starts at the call, on any thread.
// SPDX-License-Identifier: MIT
#include <coracle/core/frame_memory.hpp>
#include <coracle/core/meeting_promise.hpp>
#include <coracle/core/sync_wait.hpp>
#include <coracle/core/task.hpp>
#include <coracle/exec/static_thread_pool.hpp>
#include <cstdio>
#include <exception>

template <class T>
class [[nodiscard]] eager_task {
 public:
  struct promise_type : coracle::part::starts_eagerly,
                        coracle::part::returns<T>,
                        coracle::part::meets_parent,
                        coracle::part::awaits_anything,
                        coracle::recycled_frames {
    eager_task get_return_object() noexcept {
      return eager_task(std::coroutine_handle<promise_type>::from_promise(*this));
    }
  };
  eager_task(eager_task&& other) noexcept : body_(std::exchange(other.body_, nullptr)) {}
  ~eager_task() {
    if (!body_) return;
    if (!body_.promise().has_ended()) std::terminate();  // it may run on another thread: await it first
    body_.destroy();
  }

  bool await_ready() const noexcept { return body_.promise().has_ended(); }
  bool await_suspend(std::coroutine_handle<> parent) noexcept { return body_.promise().set_parent(parent); }
  T await_resume() { return body_.promise().take(); }

 private:
  explicit eager_task(std::coroutine_handle<promise_type> body) noexcept : body_(body) {}
  std::coroutine_handle<promise_type> body_;
};

eager_task<int> square(coracle::static_thread_pool& pool, int n) {
  std::printf("square of %d: started\n", n);
  co_await pool.schedule();
  co_return n* n;
}

coracle::task<> sum_of_squares(coracle::static_thread_pool& pool) {
  eager_task<int> nine = square(pool, 3), sixteen = square(pool, 4);
  std::puts("both run");
  const int first = co_await std::move(nine);
  const int second = co_await std::move(sixteen);
  std::printf("%d + %d = %d\n", first, second, first + second);
}

int main() {
  coracle::static_thread_pool pool{2};
  coracle::sync_wait(sum_of_squares(pool));
}

// Output:
//   square of 3: started
//   square of 4: started
//   both run
//   9 + 16 = 25
