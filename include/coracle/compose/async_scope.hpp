// coracle/compose/async_scope.hpp -- start work now, and wait for all of it later.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/core/awaitable.hpp>
#include <coracle/core/executor.hpp>
#include <coracle/core/frame_memory.hpp>
#include <coracle/core/promise_parts.hpp>
#include <coracle/detail/atomic.hpp>
#include <cstddef>
#include <exception>

namespace coracle {
namespace detail {
/// The calls of spawn() that run inside one another on a thread. Each runs its child inside the call; a child
/// that spawns a child that spawns ... would use up the stack, so the deep ones wait for the outermost call.
struct nested_starts {
  static constexpr unsigned most = 64;
  unsigned depth = 0;
  resumption* first = nullptr;  ///< those that wait to be started
  resumption* last = nullptr;
};
CORACLE_VISIBLE() inline constinit thread_local nested_starts starts_of_this_thread{};
CORACLE_THREAD_LOCAL_ACCESS() inline nested_starts& this_thread_starts() noexcept {
  return starts_of_this_thread;
}

/// While it lives the thread is inside one spawn() more.
class nested_start {
 public:
  nested_start() noexcept : starts_(this_thread_starts()) { ++starts_.depth; }
  nested_start(const nested_start&) = delete;
  nested_start& operator=(const nested_start&) = delete;
  ~nested_start() {
    if (starts_.depth == 1 && starts_.first) run_deep_ones();
    --starts_.depth;
  }

 private:
  CORACLE_NOINLINE() void run_deep_ones() noexcept {
    while (const auto* const child = static_cast<waiter*>(starts_.first)) {
      starts_.first = child->next;
      const executor_scope at{child->home};
      resume(child->handle);
    }
  }
  nested_starts& starts_;
};

/// The first await of a child: suspends it if it is nested too deep.
class start_of_child : waiter {
 public:
  start_of_child() noexcept = default;
  bool await_ready() const noexcept { return this_thread_starts().depth <= nested_starts::most; }
  CORACLE_NOINLINE_SUSPEND() void await_suspend(std::coroutine_handle<> suspended) noexcept {
    nested_starts& starts = this_thread_starts();
    suspend(suspended);
    next = nullptr;
    (starts.first ? starts.last->next : starts.first) = this;
    starts.last = this;
  }
  void await_resume() const noexcept {}
};
}  // namespace detail

/// Children that were started without being awaited one by one; join() waits for all of them.
///
///     coracle::async_scope scope;
///     while (accepting) scope.spawn(serve(co_await listener.accept()));
///     co_await scope.join();
///
/// Prefer when_all where the children are known beforehand, and their results matter.
/// Order         spawn() runs the child until it first suspends, before it returns. Inside more than 64
///               nested calls of spawn(), the child starts before the outermost of them returns.
/// Resumes on    join(): the executor of the awaiting coroutine; if it has none, where the last child ended.
/// Cancellation  a child gets an empty environment, since it may outlive the one that spawned it: pass a stop
///               token with with_stop(). A stop request does not end join(): it waits for all.
/// Exceptions    join() throws the first that left a child; later ones are dropped. spawn(): std::bad_alloc.
/// Threads       spawn() from any thread, until join() is awaited; after that only from a child. join() once,
///               not from a child. Children may end on any threads.
/// Cost          one frame for each child, beside the child's own; two atomic operations; constant stack.
class async_scope {
  class child;
  template <class T>
  static constexpr bool is_child = awaitable<std::decay_t<T>> && std::constructible_from<std::decay_t<T>, T>;

 public:
  async_scope() noexcept = default;
  async_scope(const async_scope&) = delete;
  async_scope& operator=(const async_scope&) = delete;
  /// Requires: joined.
  ~async_scope() {
    if (error_) detail::fail("an async_scope was destroyed with an exception in it: co_await its join()");
    CORACLE_CHECK(count_.load(detail::memory_order_relaxed) <= 1,
                  "an async_scope was destroyed while its children run: co_await its join() on every way out "
                  "of the scope, also where an exception leaves it");
    CORACLE_CHECK(count_.load(detail::memory_order_relaxed) == 0,
                  "an async_scope was destroyed without join(): co_await it on every way out of the scope, "
                  "also where an exception leaves it");
  }

  /// Starts `value`, which is moved in; drops what it gives.
  template <class Awaitable>
    requires(is_child<Awaitable>)
  void spawn(Awaitable&& value) {
    const detail::nested_start started;
    run<std::decay_t<Awaitable>>(*this, static_cast<Awaitable&&>(value));
  }
  template <class T>
  void spawn(T&&) {
    static_assert(
        is_child<T>,
        "spawn needs an awaitable that can be moved in: a call that returns a task, or std::move of a "
        "task that has a name");
  }

  class join_operation;
  /// Awaitable of nothing: all children have ended.
  join_operation join() noexcept;

 private:
  template <class Awaitable, class Source>
  static child run(async_scope& scope, Source&& value);

  void child_ended() noexcept {
    if (count_.fetch_sub(1, detail::memory_order_acq_rel) != 1) return; /*A2*/
    if (joiner_.home == current_executor()) {
      detail::resume_on_return(joiner_.handle);
    } else {
      joiner_.wake();
    }
  }
  void keep_current_exception() noexcept {
    if (!failed_.exchange(true, detail::memory_order_relaxed)) error_ = std::current_exception(); /*A4*/
  }

  // count_ is the number of children that have not ended, plus one until join() is awaited. Whoever takes it
  // to zero continues the joiner; nobody else touches the scope after his own subtraction.
  // joiner_ belongs to join() until A3, error_ to the child that was first at A4 until its A2; then both
  // belong to whoever takes the count to zero, and to the joiner after him.
  //   [A1] + 1               relaxed  orders nothing: the caller, a child or in front of join(), keeps the
  //                                   count above zero
  //   [A2] - 1, a child      acq_rel  publish what it did; the last one sees joiner_     pairs with A2, A3
  //   [A3] - 1, the joiner   acq_rel  publish joiner_; if last, see what the children did      pairs with A2
  //   [A4] false -> true     relaxed  decides who is first and orders nothing
  detail::atomic<std::size_t> count_{1};
  detail::atomic<bool> failed_{false};
  detail::plain<waiter> joiner_{};
  detail::plain<std::exception_ptr> error_{};
};

class [[nodiscard("nothing is joined until this is awaited")]] async_scope::join_operation {
 public:
  explicit join_operation(async_scope& scope) noexcept : scope_(scope) {}
  bool await_ready() const noexcept { return false; }
  CORACLE_NOINLINE_SUSPEND() bool await_suspend(std::coroutine_handle<> suspended) noexcept {
    CORACLE_CHECK(!scope_.joiner_.handle, "join() of an async_scope was awaited twice");
    scope_.joiner_.suspend(suspended);
    return scope_.count_.fetch_sub(1, detail::memory_order_acq_rel) != 1; /*A3*/
  }
  void await_resume() const {
    if (scope_.error_) [[unlikely]]
      detail::rethrow(std::exchange(scope_.error_, nullptr));
  }

 private:
  async_scope& scope_;
};
inline async_scope::join_operation async_scope::join() noexcept { return join_operation{*this}; }

class async_scope::child {
 public:
  class promise_type : public part::starts_eagerly, public part::awaits_anything, public recycled_frames {
   public:
    template <class Source>
    promise_type(async_scope& scope, const Source&) noexcept : scope_(scope) {
      const std::size_t before = scope.count_.fetch_add(1, detail::memory_order_relaxed); /*A1*/
      CORACLE_CHECK(before != 0, "spawn() into an async_scope that has been joined");
      static_cast<void>(before);
    }
    child get_return_object() const noexcept { return {}; }
    void return_void() const noexcept {}
    void unhandled_exception() noexcept { scope_.keep_current_exception(); }
    // The body's locals, and so all that the child held, are gone; what is left of the frame needs no scope.
    std::suspend_never final_suspend() const noexcept {
      scope_.child_ended();
      return {};
    }

   private:
    async_scope& scope_;
  };
};

// `value` is moved into the body, not into a parameter, which would be destroyed after the count went down.
template <class Awaitable, class Source>
async_scope::child async_scope::run(async_scope&, Source&& value) {
  Awaitable mine(static_cast<Source&&>(value));
  co_await detail::start_of_child();
  static_cast<void>(co_await static_cast<Awaitable&&>(mine));
}
}  // namespace coracle
