// coracle/compose/select.hpp -- wait for several channels, timers and tasks; exactly one takes effect.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/compose/when_any.hpp>

namespace coracle {
/// Waits until one of its branches can proceed, and carries out that branch: of several sends and receives,
/// on any channels, exactly one happens. Returns the result at the branch's index in a std::variant, as
/// when_any() does.
///
///     auto chosen = co_await coracle::select(jobs.recv(), results.send(std::move(mine)), sleep_for(1s));
///     if (chosen.index() == 0) run(std::get<0>(chosen));  // and mine is as it was
///
/// The same as when_any(), under the name that states what a branch promises: an operation of this library
/// that waits in a queue, for an element, a place, a lock, a permit, a token or a signal, takes nothing and
/// gives nothing away unless it wins. That holds only where it is the branch itself. A task takes effect as
/// it runs: if it loses, it is stopped and joined, but its effects remain. So `timeout(ch.recv(), 1s)` as a
/// branch can lose an element where `ch.recv()` cannot.
/// Order         of branches that can be carried out at once, the first one wins; the later ones are not
///               started. A branch that is always ready therefore starves those behind it: list the rare ones
///               first.
/// Cancellation  a stop request ends it, and no branch has taken effect.
/// Exceptions    those of the branch that wins, such as channel_closed; those of a task that fails while it
///               is stopped; and std::bad_alloc, before anything has happened.
/// Threads       one select() may meet another in a channel: both take effect, or neither.
/// Resumes on    as when_any(), and costs the same.
template <class... Branches>
  requires(detail::work<Branches> && ...) && (sizeof...(Branches) != 0)
auto select(Branches&&... each) {
  return coracle::when_any(static_cast<Branches&&>(each)...);
}
template <class... Ts>
auto select(Ts&&...) {
  static_assert(
      sizeof...(Ts) == 0 || (detail::is_work<Ts> && ...),
      "select needs awaitables: operations such as channel.recv(), calls that return tasks, or std::move of "
      "tasks that have a name, or functions that return them");
  static_assert(sizeof...(Ts) != 0, "select() of nothing: pass at least one awaitable");
  return detail::any_awaiter{};
}
}  // namespace coracle
