// coracle/compose/as_outcome.hpp -- how work ended, as a value: its result, an error, or that it was stopped.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/compose/detail/child.hpp>
#include <coracle/compose/detail/element.hpp>
#include <coracle/core/detail/stopped_tasks.hpp>
#include <coracle/core/environment.hpp>
#include <coracle/core/invoke.hpp>
#include <optional>

namespace coracle {
namespace detail {
/// Whether taking the end of the work throws nothing.
template <class Awaitable>
constexpr bool keeps_end = std::is_nothrow_move_constructible_v<outcome<kept_result_t<Awaitable>>>;

/// Awaits the work and keeps its end for the awaiting coroutine. `Operation`, which derives from it, has a
/// static function above(), which says in which form that coroutine takes it: shared_promise.
template <class Operation, class Awaitable>
class ended_work : shared_frame {
 public:
  explicit ended_work(Awaitable&& work)
      : shared_frame(&over, &functions), work_(static_cast<Awaitable&&>(work)) {}
  /// Requires: not awaited yet.
  ended_work(ended_work&& other) : shared_frame(&over, &functions), work_(std::move(other.work_)) {}

  bool await_ready() const noexcept { return false; }
  template <class Promise>
  CORACLE_TRANSFER_ABI()
  std::coroutine_handle<> await_suspend(std::coroutine_handle<Promise> suspended) noexcept {
    shared_frame::promise().set_environment(detail::environment_of(suspended));
    suspended_ = suspended;
    const std::coroutine_handle<> next = work_.begin(shared_frame::handle());
    return next ? next : coracle::transfer_to(suspended);
  }

 protected:
  [[nodiscard]] void* suspended() const noexcept { return suspended_.address(); }
  /// Called when the await is over. Returns true if there is a result.
  bool finish() noexcept {
    if (!is_finished_) has_result_ = work_.finish();
    is_finished_ = true;
    return has_result_;
  }
  [[nodiscard]] child<Awaitable>& work() noexcept { return work_; }
  child<Awaitable>& finished() noexcept {
    static_cast<void>(finish());
    return work_;
  }

 private:
  CORACLE_TRANSFER_ABI() static void over(basic_callback_frame<shared_promise>* self) {
    auto& mine = static_cast<ended_work&>(static_cast<shared_frame&>(*self));
    const std::coroutine_handle<> next = transfer_to(mine.suspended_);
    CORACLE_RETURN_TO(self, next);
  }
  static awaiting_frame above(shared_promise& self, stop_reason why) noexcept {
    return static_cast<Operation&>(static_cast<ended_work&>(shared_frame::from(self))).above(why);
  }
  static constexpr shared_promise::functions functions{&shared_promise::ignore_failure, &above};

  std::coroutine_handle<> suspended_;  // first: a debugger follows it
  child<Awaitable> work_;
  bool is_finished_ = false, has_result_ = false;
};

template <class Awaitable>
class [[nodiscard("as_outcome does nothing until it is awaited")]] as_outcome_operation
    : public ended_work<as_outcome_operation<Awaitable>, Awaitable> {
 public:
  using ended_work<as_outcome_operation, Awaitable>::ended_work;
  static awaiting_frame above(stop_reason) noexcept { return {nullptr, awaiting_frame::kind::quiet}; }
  outcome<kept_result_t<Awaitable>> await_resume() noexcept(keeps_end<Awaitable>) {
    return this->finished().take_outcome();
  }
};

template <class Awaitable>
class [[nodiscard("as_optional does nothing until it is awaited")]] as_optional_operation
    : public ended_work<as_optional_operation<Awaitable>, Awaitable> {
  using value = element_t<kept_result_t<Awaitable>>;

 public:
  using ended_work<as_optional_operation, Awaitable>::ended_work;
  static awaiting_frame above(stop_reason) noexcept { return {nullptr, awaiting_frame::kind::quiet}; }
  [[nodiscard]] std::exception_ptr await_failure() noexcept { return this->finished().error(); }
  std::optional<value> await_resume() {
    auto end = this->finished().take_outcome();
    if (end.is_cancelled()) return std::nullopt;
    if constexpr (std::is_void_v<kept_result_t<Awaitable>>) {
      std::move(end).get();
      return value{};
    } else {
      return std::optional<value>(std::in_place, std::move(end).get());
    }
  }
};
/// For a combinator that is a task: as as_outcome(), but what awaits the combinator decides whether the tasks
/// below end without an exception. The combinator awaits ends_unless_value before it takes the value.
template <class Awaitable>
class [[nodiscard]] passing_operation : public ended_work<passing_operation<Awaitable>, Awaitable> {
 public:
  using ended_work<passing_operation, Awaitable>::ended_work;
  awaiting_frame above(stop_reason) const noexcept { return {this->suspended(), awaiting_frame::kind::task}; }
  outcome<kept_result_t<Awaitable>> await_resume() { return this->finished().take_outcome(); }
};
template <work Work>
auto passing(Work&& work) {
  return passing_operation<work_t<Work>>(detail::as_awaitable(static_cast<Work&&>(work)));
}

template <class Awaitable>
class [[nodiscard("throwing does nothing until it is awaited")]] throwing_operation
    : public ended_work<throwing_operation<Awaitable>, Awaitable> {
 public:
  using ended_work<throwing_operation, Awaitable>::ended_work;
  static awaiting_frame above(stop_reason) noexcept { return {}; }
  [[nodiscard]] stop_reason await_cancelled() noexcept
    requires(!CORACLE_EXCEPTIONS())
  {
    return this->finish() ? stop_reason::none : this->work().failure().reason();
  }
  [[nodiscard]] std::exception_ptr await_failure() noexcept { return this->finished().error(); }
  kept_result_t<Awaitable> await_resume() { return this->finished().result(); }
};
}  // namespace detail

/// Awaits `work` and returns an outcome: its value, its error, or the reason for which it was stopped. Throws
/// nothing.
///
///     coracle::outcome<page> end = co_await coracle::as_outcome(fetch(address));
///     if (end.is_cancelled()) co_return;
///     show(std::move(end).get());  // throws the error, if there is one
///
/// Prefer it to a handler of operation_cancelled: a stop request that ends `work` then costs one destructor
/// for each task in it, and no exception. `work` is moved in, or referred to if it is an lvalue; a function
/// that returns an awaitable is kept, too. In a select() it counts as a task: put it around the select(), not
/// around `channel.recv()` in one.
/// Resumes on    where `work` does.
/// Cancellation  passed on to `work`. Where a task in it waits, all tasks from there up to this await are
///               destroyed where they are suspended, the innermost first: their handlers do not run. So are
///               the children of combinators in it. See docs/cancellation.md.
/// Exceptions    those of moving `work` in and its value out.
/// Cost          no frame; two transfers.
template <detail::work Work>
auto as_outcome(Work&& work) {
  return detail::as_outcome_operation<detail::work_t<Work>>(detail::as_awaitable(static_cast<Work&&>(work)));
}
/// As as_outcome(), but returns the value in an optional, which is empty if `work` was stopped; void_value
/// stands for void, and an lvalue reference is returned as std::reference_wrapper. Throws the error of
/// `work`, if there is one.
///
///     while (auto line = co_await coracle::as_optional(lines.next())) print(*line);
template <detail::work Work>
auto as_optional(Work&& work) {
  return detail::as_optional_operation<detail::work_t<Work>>(detail::as_awaitable(static_cast<Work&&>(work)));
}
/// Awaits `work`, and throws operation_cancelled if a stop request has ended it. For a coroutine with a
/// handler that must then run, such as one that joins a scope: with a plain `co_await work`, a task may be
/// ended where it is suspended. Returns and throws what `work` does.
///
///     try { co_await coracle::throwing(work(scope)); } catch (...) { error = std::current_exception(); }
///     co_await scope.join();
template <detail::work Work>
auto throwing(Work&& work) {
  return detail::throwing_operation<detail::work_t<Work>>(detail::as_awaitable(static_cast<Work&&>(work)));
}
template <class T>
  requires(!detail::work<T>)
auto as_outcome(T&&) {
  static_assert(
      detail::is_work<T>,
      "as_outcome needs an awaitable: a call that returns a task, or std::move of a task that has a "
      "name; or a function that returns one");
  return detail::any_awaiter{};
}
template <class T>
  requires(!detail::work<T>)
auto as_optional(T&&) {
  static_assert(detail::is_work<T>,
                "as_optional needs an awaitable: a call that returns a task, or std::move of a task that has "
                "a name; or a function that returns one");
  return detail::any_awaiter{};
}
template <class T>
  requires(!detail::work<T>)
auto throwing(T&&) {
  static_assert(detail::is_work<T>,
                "throwing needs an awaitable: a call that returns a task, or std::move of a task that has a "
                "name; or a function that returns one");
  return detail::any_awaiter{};
}
}  // namespace coracle
