// cppcoro/schedule_on.hpp -- run an awaitable, or the body of an async_generator, on a scheduler.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/compose/via.hpp>
#include <cppcoro/async_generator.hpp>
#include <cppcoro/awaitable_traits.hpp>
#include <cppcoro/shared_task.hpp>
#include <cppcoro/task.hpp>
#include <utility>

namespace coracle {
/// In cppcoro's order of arguments; here, so that an unqualified call finds it.
template <scheduler Scheduler, class T>
async_generator<T> schedule_on(Scheduler& place, async_generator<T> source) {
  return coracle::schedule_on(std::move(source), place);
}
}  // namespace coracle

namespace cppcoro {
using coracle::schedule_on;

/// Runs `value` on `place`, which is kept by reference; the awaiter goes on where it ended.
///
///     int sum = co_await cppcoro::schedule_on(pool, add_up(numbers));
template <coracle::scheduler Scheduler, coracle::awaitable Awaitable>
auto schedule_on(Scheduler& place, Awaitable value)
    -> task<detail::owned_result_t<coracle::await_result_t<Awaitable>>> {
  co_await place.schedule();
  co_return co_await static_cast<Awaitable&&>(value);
}
/// In coracle's order: what coracle's `value | schedule_on(place)` calls, so that the result is owned there
/// too.
template <class T, coracle::scheduler Scheduler>
auto schedule_on(task<T> value, Scheduler& place) {
  return cppcoro::schedule_on(place, std::move(value));
}

/// What `value | schedule_on(place)` applies to the value.
template <class Scheduler>
struct schedule_on_transform {
  explicit schedule_on_transform(Scheduler& place) noexcept : scheduler(place) {}
  Scheduler& scheduler;
};
template <coracle::scheduler Scheduler>
schedule_on_transform<Scheduler> schedule_on(Scheduler& place) noexcept {
  return schedule_on_transform<Scheduler>{place};
}
template <class T, class Scheduler>
auto operator|(T&& value, schedule_on_transform<Scheduler> to) {
  return cppcoro::schedule_on(to.scheduler, static_cast<T&&>(value));
}
}  // namespace cppcoro
