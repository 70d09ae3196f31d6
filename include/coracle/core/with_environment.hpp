// coracle/core/with_environment.hpp -- give a part of the work another stop token, other values.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/core/environment.hpp>
#include <coracle/core/subtree.hpp>
#include <coracle/core/task.hpp>

namespace coracle {
namespace detail {
// `Awaitable` is a reference where the caller gave an lvalue.
template <class Awaitable, class Change>
task<await_result_t<Awaitable>> with_changed_environment(Awaitable child, Change change) {
  const auto copy = [](const environment& inherited) { return inherited; };
  environment mine = co_await read_environment(copy);
  change(mine);
  co_await replace_environment(mine);
  co_return co_await static_cast<Awaitable&&>(child);
}
template <class Awaitable, class T>
task<await_result_t<Awaitable>> with_bound_value(Awaitable child, const void* key, T value) {
  local_binding binding{key, __builtin_addressof(value), nullptr};
  auto bind = [&binding](environment& mine) {
    binding.outer = mine.locals;
    mine.locals = &binding;
  };
  co_return co_await with_changed_environment<Awaitable>(static_cast<Awaitable&&>(child), bind);
}
template <class Awaitable>
task<await_result_t<Awaitable>> with_second_stop(Awaitable child, stop_token token) {
  const environment* const outer = co_await read_environment([](const environment& here) { return &here; });
  subtree mine{*outer};
  const stop_callback on_stop{token, [&]() noexcept { mine.request_linked(token.reason()); }};
  co_await replace_environment(mine);
  co_return co_await static_cast<Awaitable&&>(child);
}
}  // namespace detail

/// Awaits `child` with `token` as the stop token of everything below it, in place of the inherited one.
///
///     co_await coracle::with_stop(serve(), source.get_token());
///
/// All of this header: an rvalue is moved in, an lvalue, such as an event, referred to.
/// Prefer stop_when() where what is around it, such as a timeout(), a scope or a race, is to stop it, too.
/// Resumes on    where `child` does.
/// Cancellation  what is below obeys the new token only.
/// Exceptions    those of `child`.
/// Cost          one frame.
template <awaitable Awaitable>
CORACLE_CORO_WRAPPER()
auto with_stop(Awaitable&& child, stop_token token) {
  return detail::with_changed_environment<Awaitable>(
      static_cast<Awaitable&&>(child),
      [token = std::move(token)](environment& mine) mutable { mine.stop = std::move(token); });
}
/// Awaits `child`, which stops when `token` asks, as well as when the inherited one does: whichever is first.
///
///     net::socket client = co_await coracle::stop_when(listener.accept(), shutdown);
///
/// Cancellation  passed on to `child`, with the reason of the token that was first.
/// Exceptions    those of `child`; std::bad_alloc.
/// Cost          one frame and one stop source.
template <awaitable Awaitable>
CORACLE_CORO_WRAPPER()
auto stop_when(Awaitable&& child, stop_token token) {
  return detail::with_second_stop<Awaitable>(static_cast<Awaitable&&>(child), std::move(token));
}
/// Awaits `child` out of reach of the inherited stop token and deadline: for what must be done to its end also
/// while everything around it is being stopped. Values stay bound.
///
///     co_await coracle::shielded(connection.say_goodbye());
template <awaitable Awaitable>
CORACLE_CORO_WRAPPER()
auto shielded(Awaitable&& child) {
  return detail::with_changed_environment<Awaitable>(static_cast<Awaitable&&>(child), [](environment& mine) {
    mine.stop = stop_token{};
    mine.deadline = std::chrono::steady_clock::time_point::max();
  });
}
/// Awaits `child` with `local` bound to `value` for everything below it.
template <awaitable Awaitable, class T>
CORACLE_CORO_WRAPPER()
auto with_value(Awaitable&& child, const task_local<T>& local, std::type_identity_t<T> value) {
  return detail::with_bound_value<Awaitable>(static_cast<Awaitable&&>(child), &local, std::move(value));
}
}  // namespace coracle
