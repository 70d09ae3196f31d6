// coracle/exec/blocking.hpp -- run blocking calls off the scheduler's threads.
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
class blocking_service;

namespace detail {
class blocking_pool_state;

/// A call that waits for a thread or runs on one.
class blocking_call : public stoppable_wait<blocking_call> {
 protected:
  using action = void(blocking_call&) noexcept;
  blocking_call(blocking_pool& pool, action* call) noexcept;
  /// For an operation that is awaited again.
  void set_call(action* call) noexcept { call_ = call; }

 private:
  friend stoppable_wait;
  friend blocking_service;
  bool enqueue() noexcept;
  bool withdraw() noexcept;

  blocking_service* service_;  // the pool; from enqueue() on, the executor's, if it has one
  action* call_;               // null once it has returned: so debuggers see a call that runs
};

template <class Function>
struct blocking_result : std::invoke_result<Function&> {};
template <std::invocable<stop_token> Function>
struct blocking_result<Function> : std::invoke_result<Function&, stop_token> {};
/// Returns what would have to be awaited.
template <class Function>
concept awaitable_function = awaitable<typename blocking_result<Function>::type>;
template <class Function>
concept blocking_function =
    requires { typename blocking_result<Function>::type; } && !awaitable_function<Function>;
}  // namespace detail

/// Makes blocking calls: the threads of a pool, or a simulation, which has none.
///
/// Threads  all members may be called from any thread.
class blocking_service {
 public:
  /// Returns false if the call was cancelled, or has been made already.
  virtual bool enqueue(detail::blocking_call& call) noexcept = 0;
  /// Stop was requested. Returns true if the call was in the queue; its coroutine is then woken.
  virtual bool withdraw(detail::blocking_call& call) noexcept = 0;

 protected:
  ~blocking_service() = default;
  static detail::queued_waiter& node_of(detail::blocking_call& call) noexcept { return call.node(); }
  static detail::blocking_call& call_of(detail::queued_waiter& node) noexcept {
    return detail::blocking_call::operation_of(node);
  }
  static void make(detail::blocking_call& call) noexcept {
    call.call_(call);
    call.call_ = nullptr;
  }
};

/// Threads for blocking calls: if a call would have to wait, another thread is started, up to a limit; an
/// idle thread ends after a while.
///
///     coracle::blocking_pool lookups{8};
///     addrinfo* found = nullptr;
///     const int error =
///         co_await coracle::blocking(lookups, [&] { return ::getaddrinfo(name, "https", &hints, &found); });
///
/// Prefer blocking(fn), on the program's default pool, unless these calls need a limit of their own.
/// Order       first called, first begun.
/// Exceptions  the constructor: std::bad_alloc. If no thread exists and the system cannot start one, the
///             awaiting thread makes the call itself.
/// Threads     thread-safe; the destructor is not called on one of the pool's own threads.
class blocking_pool {
 public:
  /// Requires: max_threads >= 1.
  explicit blocking_pool(std::size_t max_threads = 64,
                         std::chrono::milliseconds idle_time = std::chrono::seconds{10});
  blocking_pool(const blocking_pool&) = delete;
  blocking_pool& operator=(const blocking_pool&) = delete;
  /// Joins the threads. Requires: all calls have ended; not called in a child process of fork(), which has
  /// none of the threads.
  ~blocking_pool();

  /// Returns the current number of threads.
  [[nodiscard]] std::size_t thread_count() const noexcept;

 private:
  friend detail::blocking_call;
  std::unique_ptr<detail::blocking_pool_state> state_;
};

/// The program's default pool of up to 64 threads. It is never destroyed, so it may be used at any time, also
/// by destructors of static objects; its remaining threads end with the program. A child process of fork()
/// gets its own.
[[nodiscard]] blocking_pool& default_blocking_pool();

/// The result of blocking().
template <class Function>
class [[nodiscard("nothing is called until this is awaited: co_await blocking(fn)")]] blocking_operation
    : public detail::blocking_call {
  using result = typename detail::blocking_result<Function>::type;

 public:
  template <class F>
  blocking_operation(blocking_pool& pool, F&& function)
      : blocking_call(pool, &call), function_(static_cast<F&&>(function)) {}

  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> suspended) noexcept {
    // A branch of a when_any() wins when it ends, not when it begins, so the call takes no part in the
    // choice.
    inherited_ = detail::environment_of(suspended);
    end_ = {};
    set_call(&call);
    return wait<detail::ends_stopped<Promise>>(suspended, inherited_);
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

/// Awaitable of the result of `function`, which is called on a thread of the pool, where it may block. It may
/// take the inherited stop token, to poll it.
///
///     std::string text = co_await coracle::blocking([&] { return read_whole_file(path); });
///
/// `function` is moved in, and returns no awaitable: nothing would await it. g++ 12: name a lambda first if
/// its captures have destructors. Prefer a dedicated thread for a call that never ends.
/// Order         first called, first begun.
/// Resumes on    the executor on which it was awaited; outside any executor, the thread that made the call.
/// Cancellation  if stop is requested before, or while it waits for a thread: it is not called. Once it has
///               begun, the await waits until it returns, and returns its result.
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
auto blocking(Ts&&...) {
  constexpr bool returns_awaitable = (detail::awaitable_function<std::decay_t<Ts>> || ...);
  static_assert(!returns_awaitable,
                "blocking(fn) does not await what fn returns: co_await fn(), and call blocking() in it "
                "around what blocks");
  static_assert(returns_awaitable,
                "blocking needs a function that can be called without arguments, or with a stop_token: "
                "blocking([&] { return read(file); }); before it, if need be, a blocking_pool");
  return detail::any_awaiter{};
}
}  // namespace coracle
