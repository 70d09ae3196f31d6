// coracle/core/task.hpp -- the lazy coroutine on which everything else builds.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/base/exchange.hpp>
#include <coracle/core/awaitable.hpp>
#include <coracle/core/detail/allocated_promise.hpp>
#include <coracle/core/detail/task_awaiter.hpp>
#include <coracle/core/detail/task_promise.hpp>
#include <coroutine>
#include <cstddef>
#include <type_traits>
#include <utility>

namespace coracle {
/// A coroutine that starts when it is awaited, and at its end continues the one that awaits it, its parent.
///
///     coracle::task<int> answer() { co_return 42; }
///     coracle::task<> print() { std::printf("%d\n", co_await answer()); }
///
/// Order         the body runs inside the `co_await`, the parent's next line right after it.
/// Resumes on    the thread that finished the body: a transfer, without a scheduler, a lock or an atomic.
/// Cancellation  inherits its parent's environment, and so its stop token.
/// Exceptions    one that leaves the body is thrown from the `co_await`. If the destructor of a local throws
///               after `co_return value`, a body that catches the exception must not await again.
/// Threads       one at a time. It may be moved between threads before it is awaited. While it is awaited it
///               may be moved, as by a vector that grows, but not destroyed.
/// Parameters    live until the body has ended, and at most until the end of the full expression that
///               contains the `co_await`. Which of the two depends on the compiler, unless
///               CORACLE_ENABLE_BODY_FOLDING=0 makes it the latter everywhere (docs/checked-builds.md).
/// Cost          one frame from the recycler (none where it is folded away), constant stack.
template <class T>
class [[nodiscard("a task that is not awaited does nothing: co_await it, or pass it to sync_wait or "
                  "when_all"),
        gnu::warn_unused]] CORACLE_CORO_RETURN_TYPE() CORACLE_IN_A_REGISTER() task : detail::task_awaiter<T> {
  using awaiter = detail::task_awaiter<T>;
  using awaiter::body_;

 public:
  using promise_type = detail::task_promise<T>;
  using value_type = T;

  task() noexcept : awaiter(nullptr) {}
  CORACLE_CORO_WRAPPER() explicit task(std::coroutine_handle<promise_type> body) noexcept : awaiter(body) {}
  // Two adjacent tasks moved together, as into a when_all, would otherwise be read by one wide load, which
  // must wait until both of the preceding stores are done.
  task(task&& other) noexcept : awaiter(detail::opaque(detail::exchange(other.body_, nullptr))) {}
  task& operator=(task&& other) noexcept {
    task(std::move(other)).swap(*this);
    return *this;
  }
  /// Destroys the body where it is suspended, and with it everything that it awaits. Requires: it is not
  /// running, and no thread is about to resume it. Suspended bodies that await one another are destroyed
  /// recursively. Depending on its contents, each takes 16 to 130 bytes of stack with -O2, up to 1,200 with
  /// -O0 or a sanitizer, and up to 2,700 with g++'s sanitizers and -O1 to -O3: in 8 MiB, 3,000 fit in every
  /// build and 60,000 with -O2. End a longer chain by a stop request instead. Bodies that have ended take no
  /// stack.
  CORACLE_ALWAYS_INLINE() ~task() {
    static_assert(
        detail::can_be_moved<T>,
        "the result is moved out of a task: return a std::unique_ptr to a type that cannot be moved");
    if (!body_) return;
    if constexpr (promise_type::owner_drops_error) body_.promise().drop_untaken_error();
    if constexpr (CORACLE_GCC()) {
      body_.destroy();  // g++ always calls the function in the frame; opaque() would cost it a copy
    } else {
      detail::opaque(body_).destroy();
    }
  }

  void swap(task& other) noexcept { detail::swap_values(body_, other.body_); }
  /// Returns false if moved from or default constructed. Unspecified once it has been awaited: with clang the
  /// await takes the frame out of the task, with g++ the frame stays until the task is destroyed.
  [[nodiscard]] explicit operator bool() const& noexcept { return static_cast<bool>(body_); }
  /// Rejected at compile time: a condition on the call itself means that the returned task was not awaited.
  template <class Nothing = void>
  explicit operator bool() const&& noexcept {
    static_assert(!std::is_void_v<Nothing>,
                  "a task is not a condition: co_await the call, which gives its result");
    return false;
  }
  // For a range-for over a call that is not awaited.
  detail::not_awaited begin() = delete;  // a task is no range: co_await it, which gives its result
  detail::not_awaited end();
  /// Returns true if the body has ended or there is none.
  [[nodiscard]] bool is_ready() const noexcept { return !body_ || body_.done(); }

  // How it is awaited. core/awaitable.hpp chooses by the compiler, and the promise of a task by itself
  // (awaits_as_task). A coroutine that is not coracle's finds operator co_await() with either compiler.
  //
  //                                      a coroutine of any type    a task, or a callback_frame
  //   g++    the task keeps the frame    operator co_await()        plain_awaiter()
  //   clang  the await takes the frame   owning_awaiter()           plain_owning_awaiter()
  //
  // With g++ an await copies its awaiter, so that is a bare handle. With clang it is constructed in place: it
  // destroys the frame at the end of the await, or folds the body (core/detail/folded_body.hpp). A parent
  // that is not a task needs a bridge (core/detail/task_awaiter.hpp).

  /// Runs the body and returns its result, moved out. Requires: not empty, and not awaited in this way
  /// before.
  detail::bridged<awaiter> operator co_await() && noexcept {
    require_body();
    return detail::bridged<awaiter>{body_};
  }
  CORACLE_ALWAYS_INLINE() detail::bridged<detail::awaited_task<T>> owning_awaiter() && noexcept {
    require_body();
    return detail::bridged<detail::awaited_task<T>>{detail::exchange(body_, nullptr)};
  }
  awaiter plain_awaiter() && noexcept {
    require_body();
    return *this;
  }
  CORACLE_ALWAYS_INLINE() detail::awaited_task<T> plain_owning_awaiter() && noexcept {
    require_body();
    return detail::awaited_task<T>{detail::exchange(body_, nullptr)};
  }
  /// Returns an awaitable that runs the body and returns nothing, not even its exception: the result stays in
  /// the task for a later `co_await std::move(task)`.
  [[nodiscard]] detail::task_ready_awaiter<T> when_ready() const noexcept {
    require_body();
    return detail::task_ready_awaiter<T>{body_};
  }

 private:
  void require_body() const noexcept { CORACLE_CHECK(body_, detail::awaited_empty); }
};

namespace detail {
/// A conversion, so that any other operator<< is preferred.
struct printed_task {
  template <class T>
  printed_task(const task<T>&) noexcept;
};
template <class Stream>
void operator<<(Stream&&, printed_task) = delete;  // co_await the task, which gives its result

struct made_of_anything {
  template <class... Args>
  made_of_anything(Args&&...) noexcept;
};
}  // namespace detail
/// Rejected at compile time: no function returns an array.
template <class T, std::size_t Size>
class task<T[Size]> : public task<detail::made_of_anything> {
 public:
  template <class Frame>
  task(Frame&&) noexcept;

 private:
  // Last: clang does not see what follows it.
  static_assert(detail::never<T>, "a task cannot return an array: return a std::array");
};

/// Turns any awaitable into a task: for a container, or to name its type. The awaitable is moved in.
template <awaitable Awaitable>
task<detail::kept_result_t<Awaitable>> make_task(Awaitable value) {
  co_return co_await static_cast<Awaitable&&>(value);
}
}  // namespace coracle

/// A coroutine with `std::allocator_arg_t, allocator` as its first parameters (after the object, for a member
/// function or a lambda) takes its frame from a copy of that allocator.
template <class T, class... Params>
  requires requires { typename coracle::detail::given_allocator<Params...>::type; }
struct std::coroutine_traits<coracle::task<T>, Params...> {
  using promise_type =
      coracle::detail::allocated_promise<coracle::detail::task_promise<T>,
                                         typename coracle::detail::given_allocator<Params...>::type>;
};
