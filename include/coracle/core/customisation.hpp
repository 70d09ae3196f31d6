// coracle/core/customisation.hpp -- the customisation points of promises and awaitables, as concepts.
// SPDX-License-Identifier: MIT
#pragma once
#include <concepts>
#include <coracle/base/config.hpp>
#include <utility>

namespace coracle {
class environment;
namespace detail {
class choice;
}

// Each customisation point is a member function, and is recognised by what it returns: a free function of the same name is
// never called, and neither is a member that means something else.

/// A promise whose coroutine hands an environment down: what it awaits inherits that stop token, deadline and those task-local
/// values. Read at each await; null stands for an empty environment. The object outlives what inherits it.
///
///     const coracle::environment* get_environment() const noexcept { return environment_; }
///
/// part::continues_parent has it. A promise without it hands down nothing.
template <class Promise>
concept hands_down_environment = requires(Promise& promise) {
  { promise.get_environment() } -> std::convertible_to<const environment*>;
};

/// What several awaits share of which exactly one is to be carried out: the first to claim it. Complete in
/// coracle/core/detail/choice.hpp.
using race_choice = detail::choice;

/// A promise whose coroutine is a branch of a race, as a child of select() is: an operation of this library that it awaits
/// claims the choice before it takes or gives anything, and ends as cancelled, for the reason lost_race, if another branch has
/// claimed it. Null: no race. It is not inherited.
///
///     coracle::race_choice* get_choice() const noexcept { return choice_; }
template <class Promise>
concept offers_choice = requires(Promise& promise) {
  { promise.get_choice() } -> std::convertible_to<race_choice*>;
};

/// An awaitable that, as an rvalue, gives an awaiter that owns all it needs, in place of the one of `operator co_await`: then
/// nothing refers to the awaitable, and a compiler that sees both bodies may keep it in registers. A coroutine of this library
/// uses it where the compiler does not copy awaiters (not with g++), so both awaiters mean the same.
///
///     my_awaiter owning_awaiter() && noexcept { return my_awaiter{std::exchange(state_, nullptr)}; }
template <class T>
concept gives_owning_awaiter = requires(T&& value) {
  static_cast<T&&>(value).owning_awaiter().await_ready();
  static_cast<T&&>(value).owning_awaiter().await_resume();
};
}  // namespace coracle
