// coracle/core/with_environment.hpp -- give part of the work another stop token or other values.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/core/detail/subtree.hpp>
#include <coracle/core/environment.hpp>
#include <coracle/core/invoke.hpp>
#include <coracle/core/task.hpp>

namespace coracle {
namespace detail {
inline auto environment_around() noexcept {
  return read_environment([](const environment& here) { return &here; });
}
// The outer environment lives longer. Keeping a token of it would create its stop source.
class with_locals : public environment {
 public:
  with_locals(const environment& outer, const local_binding& bound) noexcept
      : environment(linked_stop_source::lend(outer.stop), outer.deadline, &bound) {}
  with_locals(const with_locals&) = delete;
  with_locals& operator=(const with_locals&) = delete;
  ~with_locals() { linked_stop_source::take_back(stop); }
};
class with_token : public environment {
 public:
  with_token(const environment& outer, stop_token&& token,
             std::chrono::steady_clock::time_point until) noexcept
      : environment(std::move(token), until, outer.locals) {}
};

// `Awaitable` is a reference where the caller passed an lvalue. Everything below the new environment is
// destroyed before it, even if this is destroyed while it waits.
template <bool HasDeadline, class Awaitable>
task<kept_result_t<Awaitable>> with_other_stop(Awaitable child, stop_token token) {
  const environment* const outer = co_await environment_around();
  const auto deadline = HasDeadline ? outer->deadline : std::chrono::steady_clock::time_point::max();
  const with_token mine{*outer, std::move(token), deadline};
  Awaitable below = static_cast<Awaitable&&>(child);
  co_await replace_environment(mine);
  co_return co_await static_cast<Awaitable&&>(below);
}
template <class Awaitable, class T>
task<kept_result_t<Awaitable>> with_bound_value(Awaitable child, const void* key, T value) {
  const environment* const outer = co_await environment_around();
  const local_binding binding{key, __builtin_addressof(value), outer->locals};
  const with_locals mine{*outer, binding};
  co_await replace_environment(mine);
  co_return co_await static_cast<Awaitable&&>(child);
}
template <class Awaitable>
task<kept_result_t<Awaitable>> with_second_stop(Awaitable child, stop_token token) {
  const environment* const outer = co_await environment_around();
  subtree mine{*outer};
  Awaitable below = static_cast<Awaitable&&>(child);
  const stop_callback on_stop{token, [&]() noexcept { mine.request_linked(token.reason()); }};
  co_await replace_environment(mine);
  co_return co_await static_cast<Awaitable&&>(below);
}
}  // namespace detail

/// Awaits `child` with `token` as the stop token of everything below it, in place of the inherited one.
///
///     co_await coracle::with_stop(serve(), source.get_token());
///
/// In this header, an rvalue is moved in; an lvalue, such as an event, is referred to. A function that
/// returns an awaitable may replace it, and is kept until the awaitable has ended, as by invoke(). Prefer
/// stop_when() where a surrounding timeout(), scope or race should also stop `child`.
/// Resumes on    where `child` does.
/// Cancellation  everything below obeys the new token only.
/// Exceptions    those of `child`.
/// Cost          one frame.
template <detail::work Work>
CORACLE_CORO_WRAPPER()
auto with_stop(Work&& child, stop_token token) {
  return detail::with_other_stop<true, detail::work_t<Work>>(detail::as_awaitable(static_cast<Work&&>(child)),
                                                             std::move(token));
}
/// Awaits `child`, which stops on a request to `token` or to the inherited token, whichever comes first.
///
///     net::socket client = co_await coracle::stop_when(listener.accept(), shutdown);
///
/// Cancellation  passed on to `child`, with the reason of the request that came first.
/// Exceptions    those of `child`; std::bad_alloc.
/// Cost          one frame and one stop source.
template <detail::work Work>
CORACLE_CORO_WRAPPER()
auto stop_when(Work&& child, stop_token token) {
  return detail::with_second_stop<detail::work_t<Work>>(detail::as_awaitable(static_cast<Work&&>(child)),
                                                        std::move(token));
}
/// Awaits `child` shielded from the inherited stop token and deadline: for work that must be completed even
/// while everything around it is being stopped. Task-local values stay bound.
///
///     co_await coracle::shielded(connection.say_goodbye());
///
/// Resumes on    where `child` does.
/// Cancellation  no stop request, earlier or later, reaches anything below.
/// Exceptions    those of `child`.
/// Cost          one frame.
template <detail::work Work>
CORACLE_CORO_WRAPPER()
auto shielded(Work&& child) {
  return detail::with_other_stop<false, detail::work_t<Work>>(
      detail::as_awaitable(static_cast<Work&&>(child)), {});
}
/// Awaits `child`, with `local` bound to `value` for it and for everything below it: see task_local.
/// Resumes on    where `child` does.
/// Cancellation  as `child`, which inherits stop token and deadline.
/// Exceptions    those of `child`, and of moving `value`.
/// Cost          one frame.
template <detail::work Work, class T>
CORACLE_CORO_WRAPPER()
auto with_value(Work&& child, const task_local<T>& local, std::type_identity_t<T> value) {
  return detail::with_bound_value<detail::work_t<Work>>(detail::as_awaitable(static_cast<Work&&>(child)),
                                                        &local, std::move(value));
}

namespace detail {
template <class T>
auto not_in_environment() noexcept {
  static_assert(is_work<T>,
                "this needs an awaitable: a call that returns a task, or std::move of a task that has "
                "a name; or a function that returns one");
  static_assert(!is_work<T>, "work is stopped by a stop_token: that of a stop_source is source.get_token()");
  return any_awaiter{};
}
}  // namespace detail
template <class T, class Token>
  requires(!(detail::work<T> && std::is_convertible_v<Token, stop_token>))
auto with_stop(T&&, Token&&) {
  return detail::not_in_environment<T>();
}
template <class T, class Token>
  requires(!(detail::work<T> && std::is_convertible_v<Token, stop_token>))
auto stop_when(T&&, Token&&) {
  return detail::not_in_environment<T>();
}
template <class T>
  requires(!detail::work<T>)
auto shielded(T&&) {
  return detail::not_in_environment<T>();
}
template <class T, class... Rest>
  requires(!detail::work<T>)
auto with_value(T&&, Rest&&...) {
  static_assert(detail::never<T>,
                "with_value(work(), local, value) begins with an awaitable: a call that returns a task, or "
                "std::move of a task that has a name; or a function that returns one");
  return detail::any_awaiter{};
}
}  // namespace coracle
