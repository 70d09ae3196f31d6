// coracle/io/io_result.hpp -- the result of an I/O operation or other work, or its error, as a value.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/compose/as_outcome.hpp>
#include <coracle/core/awaitable.hpp>
#include <coracle/core/result.hpp>
#include <coracle/io/detail/io_operation.hpp>
#include <coracle/utility/expected.hpp>
#include <exception>
#include <optional>
#include <system_error>
#include <utility>

namespace coracle {
/// What as_io_result() returns.
template <class T = void>
using io_result = expected<T, std::error_code>;

namespace detail {
template <class T>
concept one_io_operation = std::is_base_of_v<io_operation, T>;

/// Awaits the operation and leaves it to a derived class to take the result, also if it was stopped.
template <class Operation>
class io_operation_inside {
 public:
  explicit io_operation_inside(Operation&& operation) : operation_(std::move(operation)) {}

  bool await_ready() const noexcept { return operation_.await_ready(); }
  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> self) noexcept {
    operation_.resume_when_stopped();
    return operation_.await_suspend(self);
  }

 protected:
  Operation operation_;
};

template <class Operation>
class [[nodiscard("nothing is done until this is awaited")]] io_result_operation
    : public io_operation_inside<Operation> {
  using value = await_result_t<Operation>;

 public:
  using io_operation_inside<Operation>::io_operation_inside;
  /// The branch of a when_any() that has lost has no result.
  [[nodiscard]] stop_reason await_cancelled() noexcept {
    const stop_reason why = this->operation_.await_cancelled();
    return why == stop_reason::lost_race ? why : stop_reason::none;
  }
  io_result<value> await_resume() {
    if (const std::error_code failed = this->operation_.await_error()) return unexpected(failed);
    if constexpr (std::is_void_v<value>) {
      this->operation_.await_resume();
      return {};
    } else {
      return this->operation_.await_resume();
    }
  }
};

/// Gives an empty optional for one error, and otherwise does what the operation does.
template <class Operation>
class [[nodiscard("nothing is done until this is awaited")]] unless_error_operation
    : public io_operation_inside<Operation> {
  using value = await_result_t<Operation>;

 public:
  unless_error_operation(std::errc error, Operation&& operation)
      : io_operation_inside<Operation>(std::move(operation)), error_(error) {}
  auto await_resume() {
    std::optional<std::conditional_t<std::is_void_v<value>, void_value, value>> done;
    if (this->operation_.await_error() == error_) return done;
    if constexpr (std::is_void_v<value>) {
      this->operation_.await_resume();
      done.emplace();
    } else {
      done.emplace(this->operation_.await_resume());
    }
    return done;
  }

 private:
  std::errc error_;
};
template <one_io_operation Operation>
unless_error_operation<Operation> unless_error(std::errc error, Operation operation) {
  return {error, std::move(operation)};
}
}  // namespace detail

/// Returns the code of a std::system_error, and that of the first in an error_group of nothing else; no error
/// for null and for any other exception. For what a program without exceptions cannot catch: the error() of
/// an outcome, what an error handler is given.
[[nodiscard]] std::error_code error_code_of(const std::exception_ptr& error) noexcept;

namespace detail {
/// Awaits work, of which the error may be a std::system_error.
template <class Awaitable>
class [[nodiscard("nothing is done until this is awaited")]] io_result_of_work
    : public ended_work<io_result_of_work<Awaitable>, Awaitable> {
  using result = kept_result_t<Awaitable>;
  using value = std::conditional_t<std::is_void_v<result>, void, element_t<result>>;

 public:
  using ended_work<io_result_of_work, Awaitable>::ended_work;
  static awaiting_frame above(stop_reason) noexcept { return {nullptr, awaiting_frame::kind::quiet}; }
  /// Returns an error without a code.
  [[nodiscard]] std::exception_ptr await_failure() noexcept {
    std::exception_ptr error = this->finished().error();
    return error_code_of(error) ? nullptr : error;
  }
  io_result<value> await_resume() {
    auto end = this->finished().take_outcome();
    if (end.is_cancelled()) return unexpected(std::make_error_code(std::errc::operation_canceled));
    if (const std::error_code failed = error_code_of(end.error())) return unexpected(failed);
    if constexpr (std::is_void_v<value>) {
      std::move(end).get();
      return {};
    } else {
      return std::move(end).get();
    }
  }
};
}  // namespace detail

/// Awaits an operation of a socket, a file, a path, a process or a signal_set, or other work, such as a whole
/// transfer, and returns its result or its std::error_code. Throws no error of the system.
///
///     const coracle::io_result<std::size_t> received = co_await coracle::as_io_result(client.recv(buffer));
///     if (!received) co_return log(received.error().message());
///     const auto line = co_await coracle::as_io_result(reader.read_line());
///
/// Prefer it where an error is as usual as a result, and in programs without exceptions; elsewhere a plain
/// await, whose exception also has the path or the address. In a when_any() or a select() an operation in it
/// counts as without it.
/// Resumes on    where the operation or the work does.
/// Cancellation  as the operation; as as_outcome() of work. But gives std::errc::operation_canceled as the
///               error. The coroutine continues: its further waits are cancelled, too.
/// Exceptions    std::bad_alloc, and std::system_error if an accepted connection cannot be registered with
///               the io_service. An error of work that has no code: see error_code_of().
/// Cost          no more than the operation, and no exception if it fails; for work, as as_outcome().
template <detail::one_io_operation Operation>
detail::io_result_operation<Operation> as_io_result(Operation operation) {
  return detail::io_result_operation<Operation>(std::move(operation));
}
template <detail::work Work>
  requires(!detail::one_io_operation<std::remove_cvref_t<Work>>)
auto as_io_result(Work&& work) {
  return detail::io_result_of_work<detail::work_t<Work>>(detail::as_awaitable(static_cast<Work&&>(work)));
}
template <class T>
  requires(!detail::one_io_operation<std::remove_cvref_t<T>> && !detail::work<T>)
auto as_io_result(T&&) {
  static_assert(detail::is_work<T>,
                "as_io_result needs an operation, such as `client.recv(buffer)`, or a call that returns a "
                "task, or std::move of a task that has a name; or a function that returns one");
  return detail::any_awaiter{};
}
}  // namespace coracle
