// examples/12_executor_task.cpp -- your own coroutine type: returns to its executor after every await.
// SPDX-License-Identifier: MIT
#include <coracle/compose/via.hpp>
#include <coracle/compose/when_all.hpp>
#include <coracle/core/promise_parts.hpp>
#include <coracle/core/sync_wait.hpp>
#include <coracle/core/task.hpp>
#include <coracle/exec/run_loop.hpp>
#include <coracle/exec/static_thread_pool.hpp>
#include <coracle/utility/on_scope_exit.hpp>
#include <cstdio>

/// The coroutine's first parameter is its executor.
template <class Scheduler, class T = void>
class [[nodiscard]] executor_task {
 public:
  struct promise_type : coracle::part::continues_parent,
                        coracle::part::starts_lazily,
                        coracle::part::returns<T>,
                        coracle::part::adapts_awaits<promise_type>,
                        coracle::recycled_frames {
    template <class... Args>
    explicit promise_type(Scheduler& first, const Args&...) noexcept : home_(first) {}
    executor_task get_return_object() noexcept {
      return executor_task(std::coroutine_handle<promise_type>::from_promise(*this));
    }
    template <coracle::awaitable Awaitable>
    auto adapt_await(Awaitable&& value) {
      return coracle::resume_on(static_cast<Awaitable&&>(value), home_);
    }

   private:
    Scheduler& home_;
  };
  executor_task(executor_task&& other) noexcept : body_(std::exchange(other.body_, nullptr)) {}
  ~executor_task() {
    if (body_) body_.destroy();
  }

  bool await_ready() const noexcept { return false; }
  template <class Promise>
  CORACLE_TRANSFER_ABI()
  std::coroutine_handle<> await_suspend(std::coroutine_handle<Promise> parent) noexcept {
    body_.promise().set_parent(parent);
    return coracle::transfer_to(body_);
  }
  T await_resume() { return body_.promise().take(); }

 private:
  explicit executor_task(std::coroutine_handle<promise_type> body) noexcept : body_(body) {}
  std::coroutine_handle<promise_type> body_;
};

void say(const char* what, coracle::run_loop& loop) {
  std::printf("%s: %s\n", what, coracle::current_executor() == &loop ? "on the loop" : "elsewhere");
}

coracle::task<int> wander(coracle::run_loop& loop, coracle::static_thread_pool& pool) {
  co_await pool.schedule();
  say("in the child", loop);
  co_return 42;
}

executor_task<coracle::run_loop> work(coracle::run_loop& loop, coracle::static_thread_pool& pool) {
  const auto stop_at_end = coracle::on_scope_exit([&] { loop.stop(); });  // after an error, too
  co_await std::suspend_never{};
  say("after the first await", loop);
  const int result = co_await wander(loop, pool);
  say("after the child", loop);
  std::printf("%d\n", result);
}

coracle::task<> run(coracle::run_loop& loop) {
  loop.run();
  co_return;
}

int main() {
  coracle::run_loop loop;
  coracle::static_thread_pool pool{1};
  coracle::sync_wait(coracle::when_all(work(loop, pool), run(loop)));
}

// Output:
//   after the first await: on the loop
//   in the child: elsewhere
//   after the child: on the loop
//   42
