// cppcoro/detail/awaiting_task.hpp -- a coroutine that awaits one thing and keeps its result.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/base/exchange.hpp>
#include <coracle/core/frame_memory.hpp>
#include <coracle/core/promise_parts.hpp>
#include <cppcoro/detail/void_value.hpp>
#include <exception>
#include <memory>
#include <utility>

namespace cppcoro::detail {
template <class Result>
class awaiting_task;

struct awaiting_promise_base : coracle::part::starts_lazily,
                               coracle::part::continues_parent,
                               coracle::part::awaits_anything,
                               coracle::recycled_frames {
  void unhandled_exception() noexcept { error = std::current_exception(); }
  void rethrow_error() const {
    if (error) [[unlikely]]
      coracle::detail::rethrow(error);
  }
  std::exception_ptr error;
};

/// It ends in `co_yield co_await value`, and stays suspended there: so a result that refers into the awaiter
/// stays valid, and `result` refers to it.
template <class Result>
struct awaiting_promise : awaiting_promise_base {
  awaiting_task<Result> get_return_object() noexcept;
  auto yield_value(Result&& value) noexcept {
    result = std::addressof(value);
    return final_suspend();
  }
  void return_void() const noexcept {}  // never: it does not go on after co_yield
  std::add_pointer_t<Result> result = nullptr;
};
template <>
struct awaiting_promise<void> : awaiting_promise_base {
  awaiting_task<void> get_return_object() noexcept;
  void return_void() const noexcept {}
};

/// Runs one awaitable, then gives its result as often as it is asked: as an lvalue, or, from an rvalue, as
/// the await gave it.
template <class Result>
class awaiting_task {
 public:
  using promise_type = awaiting_promise<Result>;

  explicit awaiting_task(std::coroutine_handle<promise_type> body) noexcept : body_(body) {}
  awaiting_task(awaiting_task&& other) noexcept : body_(coracle::detail::exchange(other.body_, nullptr)) {}
  awaiting_task& operator=(awaiting_task&& other) noexcept {
    coracle::detail::swap_values(body_, other.body_);
    return *this;
  }
  ~awaiting_task() {
    if (body_) body_.destroy();
  }

  std::add_lvalue_reference_t<Result> result() & {
    body_.promise().rethrow_error();
    if constexpr (!std::is_void_v<Result>) return *body_.promise().result;
  }
  std::add_rvalue_reference_t<Result> result() && {
    body_.promise().rethrow_error();
    if constexpr (!std::is_void_v<Result>) return static_cast<Result&&>(*body_.promise().result);
  }
  decltype(auto) non_void_result() & {
    if constexpr (std::is_void_v<Result>) {
      result();
      return void_value{};
    } else {
      return result();
    }
  }
  decltype(auto) non_void_result() && {
    if constexpr (std::is_void_v<Result>) {
      result();
      return void_value{};
    } else {
      return std::move(*this).result();
    }
  }

  /// Runs it until it first suspends; `parent` continues when it has ended.
  template <class Promise>
  void start(std::coroutine_handle<Promise> parent) {
    body_.promise().set_parent(parent);
    coracle::resume(body_);
  }
  class run_operation;
  /// An awaitable of nothing that runs it.
  run_operation run() noexcept { return run_operation{body_}; }

 private:
  std::coroutine_handle<promise_type> body_;
};

template <class Result>
class awaiting_task<Result>::run_operation {
 public:
  explicit run_operation(std::coroutine_handle<promise_type> body) noexcept : body_(body) {}
  bool await_ready() const noexcept { return false; }
  template <class Promise>
  CORACLE_TRANSFER_ABI()
  std::coroutine_handle<> await_suspend(std::coroutine_handle<Promise> parent) noexcept {
    const auto body = body_;
    body.promise().set_parent(parent);
    return coracle::transfer_to(body);
  }
  void await_resume() const noexcept {}

 private:
  std::coroutine_handle<promise_type> body_;
};

template <class Result>
awaiting_task<Result> awaiting_promise<Result>::get_return_object() noexcept {
  return awaiting_task<Result>{std::coroutine_handle<awaiting_promise>::from_promise(*this)};
}
inline awaiting_task<void> awaiting_promise<void>::get_return_object() noexcept {
  return awaiting_task<void>{std::coroutine_handle<awaiting_promise>::from_promise(*this)};
}

/// Awaits `value`, which is kept in the frame, or by reference, as an `Awaited`.
template <class Awaited, class Kept>
awaiting_task<coracle::await_result_t<Awaited>> make_awaiting_task(Kept value) {
  if constexpr (std::is_void_v<coracle::await_result_t<Awaited>>) {
    co_await static_cast<Awaited&&>(value);
  } else {
    co_yield co_await static_cast<Awaited&&>(value);
  }
}
}  // namespace cppcoro::detail
