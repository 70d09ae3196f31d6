// coracle/compose/as_outcome.hpp -- how work ended, as a value: its result, an error, or that it was stopped.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/compose/detail/child.hpp>
#include <coracle/compose/detail/gathered_results.hpp>
#include <coracle/core/detail/callback_frame.hpp>
#include <coracle/core/environment.hpp>
#include <coracle/core/invoke.hpp>
#include <optional>

namespace coracle {
namespace detail {
/// Awaits on behalf of a coroutine, and keeps how that ended for it to take.
template <class Awaitable>
class ended_work : callback_frame {
 public:
  explicit ended_work(Awaitable&& work)
      : callback_frame(&over, nullptr), work_(static_cast<Awaitable&&>(work)) {}
  /// Requires: not awaited yet.
  ended_work(ended_work&& other) : callback_frame(&over, nullptr), work_(std::move(other.work_)) {}

  bool await_ready() const noexcept { return false; }
  template <class Promise>
  CORACLE_TRANSFER_ABI()
  std::coroutine_handle<> await_suspend(std::coroutine_handle<Promise> suspended) noexcept {
    callback_frame::promise() = callback_promise(environment_of(suspended));
    suspended_ = suspended;
    const std::coroutine_handle<> next = work_.begin(callback_frame::handle());
    return next ? next : transfer_to(suspended);
  }

 protected:
  /// The end of the await.
  child<Awaitable>& finished() noexcept {
    static_cast<void>(work_.finish());
    return work_;
  }

 private:
  CORACLE_TRANSFER_ABI() static void over(callback_frame* self) {
    const std::coroutine_handle<> next = transfer_to(static_cast<ended_work*>(self)->suspended_);
    CORACLE_RETURN_TO(self, next);
  }

  child<Awaitable> work_;
  std::coroutine_handle<> suspended_;
};

template <class Awaitable>
class [[nodiscard("as_outcome does nothing until it is awaited")]] as_outcome_operation
    : public ended_work<Awaitable> {
 public:
  using ended_work<Awaitable>::ended_work;
  outcome<await_result_t<Awaitable>> await_resume() { return this->finished().take_outcome(); }
};

template <class Awaitable>
class [[nodiscard("as_optional does nothing until it is awaited")]] as_optional_operation
    : public ended_work<Awaitable> {
  using value = element_t<await_result_t<Awaitable>>;

 public:
  using ended_work<Awaitable>::ended_work;
  std::optional<value> await_resume() {
    auto end = this->finished().take_outcome();
    if (end.is_cancelled()) return std::nullopt;
    if constexpr (std::is_void_v<await_result_t<Awaitable>>) {
      std::move(end).get();
      return value{};
    } else {
      return std::optional<value>(std::in_place, std::move(end).get());
    }
  }
};
}  // namespace detail

/// Awaits `work`, and gives an outcome: its value, its error, or why it was stopped. It throws nothing.
///
///     coracle::outcome<page> end = co_await coracle::as_outcome(fetch(address));
///     if (end.is_cancelled()) co_return;
///     show(std::move(end).get());  // throws the error, if there is one
///
/// Prefer it to a handler of operation_cancelled in a coroutine that goes on afterwards. An operation that is
/// awaited so directly, such as an event, a lock or a receive, is stopped without an exception. Moves an rvalue
/// in and refers to an lvalue; in place of an awaitable it accepts a function that returns one, and keeps it
/// alive, like invoke(). As a branch of select() it is like a task: wrap the select(), not a `channel.recv()`
/// inside it.
/// Resumes on    where `work` ended.
/// Cancellation  passed on to `work`, whose end is then an outcome with the reason.
/// Exceptions    those of moves, of `work` into it and of its value.
/// Cost          no frame; two transfers.
template <detail::work Work>
auto as_outcome(Work&& work) {
  return detail::as_outcome_operation<detail::work_t<Work>>(detail::as_awaitable(static_cast<Work&&>(work)));
}
/// As as_outcome(), but gives the value in an optional, which is empty if `work` was stopped; void_value stands
/// for void, and a reference comes as std::reference_wrapper. Throws the error of `work`, if it has one.
///
///     while (auto line = co_await coracle::as_optional(lines.next())) print(*line);
template <detail::work Work>
auto as_optional(Work&& work) {
  return detail::as_optional_operation<detail::work_t<Work>>(detail::as_awaitable(static_cast<Work&&>(work)));
}
template <class T>
  requires(!detail::work<T>)
detail::any_awaiter as_outcome(T&&) {
  static_assert(
      detail::is_work<T>,
      "as_outcome needs an awaitable: a call that returns a task, or std::move of a task that has a "
      "name; or a function that returns one");
  return {};
}
template <class T>
  requires(!detail::work<T>)
detail::any_awaiter as_optional(T&&) {
  static_assert(detail::is_work<T>,
                "as_optional needs an awaitable: a call that returns a task, or std::move of a task that has "
                "a name; or a function that returns one");
  return {};
}
}  // namespace coracle
