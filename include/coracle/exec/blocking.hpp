// coracle/exec/blocking.hpp -- call what blocks, without blocking the scheduler's thread.
// SPDX-License-Identifier: MIT
#pragma once
#include <concepts>
#include <coracle/base/chrono.hpp>
#include <coracle/core/awaitable.hpp>
#include <coracle/core/detail/stoppable_wait.hpp>
#include <coracle/core/detail/wait_queue.hpp>
#include <coracle/core/result.hpp>
#include <cstddef>
#include <memory>
#include <type_traits>
#include <utility>

namespace coracle {
class blocking_pool;

namespace detail {
class blocking_pool_state;

/// A call that waits for a thread, or that one carries out.
class blocking_call : public stoppable_wait<blocking_call> {
 protected:
  using action = void(blocking_call&) noexcept;
  blocking_call(blocking_pool& pool, action* call) noexcept;

 private:
  friend stoppable_wait;
  friend blocking_pool_state;
  bool enqueue() noexcept;
  bool withdraw() noexcept;

  blocking_pool_state& pool_;
  action* const call_;
};

template <class Function>
struct blocking_result : std::invoke_result<Function&> {};
template <std::invocable<stop_token> Function>
struct blocking_result<Function> : std::invoke_result<Function&, stop_token> {};
template <class Function>
concept blocking_function = std::invocable<Function&> || std::invocable<Function&, stop_token>;
}  // namespace detail

/// Threads for calls that block: one more is started when a call would have to wait, up to a limit; one that has
/// had nothing to do for a while ends.
///
///     coracle::blocking_pool lookups{8};
///     addrinfo* found = nullptr;
///     const int error =
///         co_await coracle::blocking(lookups, [&] { return ::getaddrinfo(name, "https", &hints, &found); });
///
/// Prefer blocking(fn), on the program's own pool, unless these calls are to have a limit of their own.
/// Order       first called, first begun.
/// Exceptions  the constructor: std::bad_alloc. Where the system gives no thread, and there is none, a call is
///             made at once, by whoever awaits it.
/// Threads     any number of threads at once; the destructor is not called on one of its own.
class blocking_pool {
 public:
  /// Requires: most_threads >= 1.
  explicit blocking_pool(std::size_t most_threads = 64,
                         std::chrono::milliseconds idle_time = std::chrono::seconds{10});
  blocking_pool(const blocking_pool&) = delete;
  blocking_pool& operator=(const blocking_pool&) = delete;
  /// Joins the threads. Requires: all calls have ended; not in the child that fork() makes, which has none of them.
  ~blocking_pool();

  /// So many there are now.
  [[nodiscard]] std::size_t thread_count() const noexcept;

 private:
  friend detail::blocking_call;
  std::unique_ptr<detail::blocking_pool_state> state_;
};

/// That of the program: up to 64 threads. It is never destroyed, so it may be used at any time, also by the
/// destructors of static objects; what is left of its threads ends with the program. The child that fork() makes has one
/// of its own.
[[nodiscard]] blocking_pool& default_blocking_pool();

/// What blocking() gives.
template <class Function>
class [[nodiscard("nothing is called until this is awaited: co_await blocking(fn)")]] blocking_operation
    : public detail::blocking_call {
  using result = typename detail::blocking_result<Function>::type;

 public:
  template <class F>
  blocking_operation(blocking_pool& pool, F&& function)
      : blocking_call(pool, &call), function_(static_cast<F&&>(function)) {}

  template <class Promise>
  CORACLE_NOINLINE_SUSPEND()
  bool await_suspend(std::coroutine_handle<Promise> suspended) noexcept {
    // A branch of a when_any() wins when it ends, not when it begins, so the call has no part in the choice.
    inherited_ = detail::environment_of(suspended);
    return wait(suspended, inherited_);
  }
  result await_resume() {
    finish();
    return std::move(end_).get();
  }

 private:
  static void call(blocking_call& self) noexcept {
    auto& mine = static_cast<blocking_operation&>(self);
    CORACLE_TRY() {
      if constexpr (std::is_void_v<result>) {
        mine.invoke();
        mine.end_.emplace();
      } else {
        mine.end_.emplace(mine.invoke());
      }
    }
    CORACLE_CATCH_ALL() { mine.end_.emplace_current_exception(); }
  }
  result invoke() {
    if constexpr (std::invocable<Function&, stop_token>) {
      return function_(detail::environment_or_empty(inherited_).stop);
    } else {
      return function_();
    }
  }

  Function function_;
  outcome<result> end_;
  const environment* inherited_ = nullptr;
};

/// Awaitable of what `function` returns: it is called on a thread of the pool, so that it may block. It may take the
/// inherited stop token, to look at.
///
///     std::string text = co_await coracle::blocking([&] { return read_whole_file(path); });
///
/// `function` is moved in. g++ 12: give a lambda with captures that need a destructor a name first.
/// Prefer a thread of one's own for what never ends.
/// Order         first called, first begun.
/// Resumes on    the executor on which it was awaited; outside any executor, the thread that made the call.
/// Cancellation  stop requested before, or while it waits for a thread: it is not called. Once it has begun, the
///               await waits for its end, and gives what it returns.
/// Exceptions    operation_cancelled; those of `function`.
/// Cost          no allocation; two thread switches.
template <class Function>
  requires detail::blocking_function<std::decay_t<Function>>
blocking_operation<std::decay_t<Function>> blocking(blocking_pool& pool, Function&& function) {
  return {pool, static_cast<Function&&>(function)};
}
template <class Function>
  requires detail::blocking_function<std::decay_t<Function>>
blocking_operation<std::decay_t<Function>> blocking(Function&& function) {
  return {default_blocking_pool(), static_cast<Function&&>(function)};
}
template <class... Ts>
detail::any_awaiter blocking(Ts&&...) {
  static_assert(sizeof...(Ts) == ~std::size_t{0},
                "blocking needs a function that can be called without arguments, or with a stop_token: "
                "blocking([&] { return read(file); })");
  return {};
}
}  // namespace coracle
