// cppcoro/sync_wait.hpp -- the way from plain code into coroutines and back, as cppcoro has it.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/core/sync_wait.hpp>
#include <cppcoro/awaitable_traits.hpp>
#include <cppcoro/detail/awaiting_task.hpp>
#include <utility>

namespace cppcoro {
namespace detail {
template <class T>
concept by_cppcoro_sync_wait = true;  // as by_cppcoro in fmap.hpp
}  // namespace detail

/// Starts the awaitable on this thread, blocks the thread until it has completed, and gives what `co_await`
/// gives: of an rvalue task a reference that dies with the task.
///
///     int value = cppcoro::sync_wait(answer());
///
/// The function of an fmap runs on the thread that completes the awaitable, as it does inside a coroutine.
/// Prefer coracle::sync_wait in new code: it needs no frame.
template <coracle::awaitable Awaitable>
  requires detail::by_cppcoro_sync_wait<Awaitable>
coracle::await_result_t<Awaitable> sync_wait(Awaitable&& value) {
  using result = coracle::await_result_t<Awaitable>;
  auto task = detail::make_awaiting_task<Awaitable, Awaitable&&>(static_cast<Awaitable&&>(value));
  coracle::sync_wait(task.run());
  return static_cast<std::add_rvalue_reference_t<result>>(std::move(task).result());
}
}  // namespace cppcoro
