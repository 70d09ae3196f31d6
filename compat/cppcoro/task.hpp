// cppcoro/task.hpp -- cppcoro's task: as coracle::task, but it may be awaited more than once.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/base/exchange.hpp>
#include <coracle/core/frame_memory.hpp>
#include <coracle/core/promise_parts.hpp>
#include <cppcoro/awaitable_traits.hpp>
#include <cppcoro/broken_promise.hpp>
#include <cppcoro/config.hpp>
#include <cppcoro/coroutine.hpp>
#include <type_traits>
#include <utility>

namespace cppcoro {
template <class T = void>
class task;

namespace detail {
/// Keeps the result for every later await, where part::returns gives it out once.
template <class T>
class kept_result {
 public:
  void unhandled_exception() noexcept { end_.emplace_current_exception(); }
  std::add_lvalue_reference_t<T> result() { return end_.get(); }
  [[nodiscard]] bool lacks_result() const noexcept { return end_.is_empty(); }

 protected:
  coracle::outcome<T> end_;
};
template <class T>
struct keeps : kept_result<T> {
  template <class U = T>
    requires std::is_convertible_v<U&&, T>
  void return_value(U&& value) noexcept(std::is_nothrow_constructible_v<T, U>) {
    this->end_.emplace(static_cast<U&&>(value));
  }
};
template <>
struct keeps<void> : kept_result<void> {
  void return_void() noexcept { end_.emplace(); }
};

template <class T>
struct task_promise : coracle::part::starts_lazily,
                      keeps<T>,
                      coracle::part::continues_parent,
                      coracle::part::awaits_anything,
                      coracle::recycled_frames {
  task<T> get_return_object() noexcept;
};
}  // namespace detail

/// A lazy coroutine whose result stays in it: `co_await` gives a reference to the result, and a second await
/// gives it again without running anything.
///
///     cppcoro::task<int> answer = compute();
///     int& first = co_await answer;   // runs the body
///     int& again = co_await answer;   // the same object, at once
///
/// Prefer coracle::task in new code: awaited once, it moves its result out and cannot dangle.
/// Order         the body runs inside the first `co_await`, up to its first suspension.
/// Resumes on    the thread that ends the body.
/// Cancellation  the body inherits the environment of its first awaiter.
/// Exceptions    one that leaves the body is thrown from every `co_await`; an empty task throws
///               broken_promise.
/// Threads       one at a time; one awaiter until the body has ended.
/// Cost          one frame from the recycler, constant stack.
template <class T>
class [[nodiscard(
    "a task that is not awaited does nothing: co_await it, or pass it to sync_wait or "
    "when_all")]] task {
  class awaiter_base;
  class lvalue_awaiter;
  class rvalue_awaiter;
  class ready_awaiter;

 public:
  using promise_type = detail::task_promise<T>;
  using value_type = T;

  task() noexcept = default;
  explicit task(std::coroutine_handle<promise_type> body) noexcept : body_(body) {}
  task(task&& other) noexcept : body_(coracle::detail::exchange(other.body_, nullptr)) {}
  task& operator=(task&& other) noexcept {
    task(std::move(other)).swap(*this);
    return *this;
  }
  /// Destroys the body where it stands. Requires: it is not running.
  ~task() {
    if (body_) body_.destroy();
  }

  void swap(task& other) noexcept { coracle::detail::swap_values(body_, other.body_); }
  friend void swap(task& a, task& b) noexcept { a.swap(b); }

  /// Returns true if an await would not suspend. Of an empty task too, whose await throws.
  [[nodiscard]] bool is_ready() const noexcept { return !body_ || body_.done(); }

  /// Gives `T&`.
  lvalue_awaiter operator co_await() const& noexcept { return lvalue_awaiter{body_}; }
  /// Gives `T&&` (`T` itself for numbers and pointers), which dies with the task.
  rvalue_awaiter operator co_await() const&& noexcept { return rvalue_awaiter{body_}; }
  /// An awaitable that runs the body and gives nothing, not even its exception.
  [[nodiscard]] ready_awaiter when_ready() const noexcept { return ready_awaiter{body_}; }

 private:
  std::coroutine_handle<promise_type> body_;
};

template <class T>
class task<T>::awaiter_base {
 public:
  explicit awaiter_base(std::coroutine_handle<promise_type> body) noexcept : body_(body) {}
  bool await_ready() const noexcept { return !body_ || body_.done(); }
  template <class Promise>
  CORACLE_TRANSFER_ABI()
  std::coroutine_handle<> await_suspend(std::coroutine_handle<Promise> parent) noexcept {
    const auto body = body_;
    body.promise().set_parent(parent);
    return coracle::transfer_to(body);
  }

 protected:
  std::add_lvalue_reference_t<T> result() const {
    if (!body_) [[unlikely]]
      coracle::detail::throw_broken_promise();
    return body_.promise().result();
  }

 private:
  std::coroutine_handle<promise_type> body_;
};
template <class T>
class task<T>::lvalue_awaiter : public awaiter_base {
 public:
  using awaiter_base::awaiter_base;
  std::add_lvalue_reference_t<T> await_resume() const { return this->result(); }
};
template <class T>
class task<T>::rvalue_awaiter : public awaiter_base {
  using result_type = std::conditional_t<std::is_arithmetic_v<T> || std::is_pointer_v<T>, std::remove_cv_t<T>,
                                         std::add_rvalue_reference_t<T>>;

 public:
  using awaiter_base::awaiter_base;
  result_type await_resume() const { return static_cast<result_type>(this->result()); }
};
template <class T>
class task<T>::ready_awaiter : public awaiter_base {
 public:
  using awaiter_base::awaiter_base;
  void await_resume() const noexcept {}
};

namespace detail {
template <class T>
task<T> task_promise<T>::get_return_object() noexcept {
  return task<T>{std::coroutine_handle<task_promise>::from_promise(*this)};
}
template <class T>
concept by_cppcoro_make_task = true;  // as by_cppcoro in fmap.hpp
}  // namespace detail

/// Any awaitable as a task. The awaitable is moved in.
template <coracle::awaitable Awaitable>
  requires detail::by_cppcoro_make_task<Awaitable>
task<detail::owned_result_t<coracle::await_result_t<Awaitable>>> make_task(Awaitable value) {
  co_return co_await static_cast<Awaitable&&>(value);
}
}  // namespace cppcoro
