// cppcoro/resume_on.hpp -- say where the awaiter of an awaitable, or of an async_generator, goes on.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/compose/via.hpp>
#include <cppcoro/async_generator.hpp>
#include <cppcoro/awaitable_traits.hpp>
#include <cppcoro/task.hpp>
#include <utility>

namespace coracle {
/// In cppcoro's order of arguments; here, so that an unqualified call finds it.
template <scheduler Scheduler, class T>
async_generator<T> resume_on(Scheduler& place, async_generator<T> source) {
  return coracle::resume_on(std::move(source), place);
}
}  // namespace coracle

namespace cppcoro {
using coracle::resume_on;

/// Runs `value` where the awaiter is; the awaiter goes on on `place`, also after an exception.
///
///     std::string body = co_await cppcoro::resume_on(pool, download(url));
template <coracle::scheduler Scheduler, coracle::awaitable Awaitable>
auto resume_on(Scheduler& place, Awaitable value)
    -> task<detail::owned_result_t<coracle::await_result_t<Awaitable>>> {
  auto held = cppcoro::make_task(static_cast<Awaitable&&>(value));  // keeps the result, or the exception
  co_await held.when_ready();
  co_await coracle::detail::out_of_reach();
  co_await place.schedule();
  co_return co_await std::move(held);
}
/// In coracle's order: what coracle's `value | resume_on(place)` calls, so that the result is owned there
/// too.
template <class T, coracle::scheduler Scheduler>
auto resume_on(task<T> value, Scheduler& place) {
  return cppcoro::resume_on(place, std::move(value));
}

/// What `value | resume_on(place)` applies to the value.
template <class Scheduler>
struct resume_on_transform {
  explicit resume_on_transform(Scheduler& place) noexcept : scheduler(place) {}
  Scheduler& scheduler;
};
template <coracle::scheduler Scheduler>
resume_on_transform<Scheduler> resume_on(Scheduler& place) noexcept {
  return resume_on_transform<Scheduler>{place};
}
template <class T, class Scheduler>
auto operator|(T&& value, resume_on_transform<Scheduler> to) {
  return cppcoro::resume_on(to.scheduler, static_cast<T&&>(value));
}
}  // namespace cppcoro
