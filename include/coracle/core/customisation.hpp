// coracle/core/customisation.hpp -- the customisation points of promises and awaitables, as concepts.
// SPDX-License-Identifier: MIT
#pragma once
#include <concepts>
#include <coracle/base/config.hpp>

namespace coracle {
class environment;
namespace detail {
class choice;
/// The parameter of members of awaiters that only this library calls: a user's member of the same name does
/// not take it, and is never called.
struct internal_call {};
}  // namespace detail

// Each customisation point is a member function, recognised by its return type: a free function of the same
// name is never called, and neither is a member that means something else.

/// A promise whose coroutine passes an environment on: what it awaits inherits the stop token, the deadline
/// and the task-local values. The environment is read at each await; null stands for an empty one. The object
/// must outlive everything that inherits it.
///
///     const coracle::environment* get_environment() const noexcept { return environment_; }
///
/// part::continues_parent has this member. A promise without it passes nothing on.
template <class Promise>
concept hands_down_environment = requires(Promise& promise) {
  { promise.get_environment() } -> std::convertible_to<const environment*>;
};

/// Shared by several awaits of which exactly one takes effect: the first to claim it. Complete in
/// coracle/core/detail/choice.hpp.
using race_choice = detail::choice;

/// A promise whose coroutine is a branch of a race, as a child of select() is. An operation of this library
/// that it awaits claims the choice before it takes or gives anything; if another branch has claimed it, the
/// operation ends as cancelled, for the reason lost_race. Null means no race. The choice is not inherited.
///
///     coracle::race_choice* get_choice() const noexcept { return choice_; }
template <class Promise>
concept offers_choice = requires(Promise& promise) {
  { promise.get_choice() } -> std::convertible_to<race_choice*>;
};

/// An awaitable that, as an rvalue, provides an awaiter that owns all it needs, in place of that of `operator
/// co_await`. Nothing then refers to the awaitable, and a compiler that sees both bodies may keep it in
/// registers. Coroutines of this library use it where the compiler does not copy awaiters (not with g++), so
/// both awaiters must mean the same.
///
///     my_awaiter owning_awaiter() && noexcept { return my_awaiter{std::exchange(state_, nullptr)}; }
template <class T>
concept gives_owning_awaiter = requires(T&& value) {
  static_cast<T&&>(value).owning_awaiter().await_ready();
  static_cast<T&&>(value).owning_awaiter().await_resume();
};
}  // namespace coracle
