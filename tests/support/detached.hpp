// tests/support/detached.hpp -- fire-and-forget coroutines for tests.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/core/promise_parts.hpp>
#include <utility>

namespace coracle_test {
/// Starts inside the call; nobody awaits it; frees itself at its end.
struct detached {
  struct promise_type : coracle::part::starts_eagerly,
                        coracle::part::returns<void, coracle::part::terminates_on_error>,
                        coracle::part::frees_itself,
                        coracle::part::awaits_anything {
    detached get_return_object() const noexcept { return {}; }
  };
};

/// Awaits `work` where the caller runs.
template <class Awaitable>
detached run_detached(Awaitable work) {
  co_await std::move(work);
}
/// Moves to `place` and awaits `work` there.
template <class Scheduler, class Awaitable>
detached run_detached_on(Scheduler& place, Awaitable work) {
  co_await place.schedule();
  co_await std::move(work);
}
}  // namespace coracle_test
