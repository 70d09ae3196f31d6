// tests/support/await_and_log.hpp -- awaits and logs when and how the wait ended.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/core/executor.hpp>
#include <coracle/core/operation_cancelled.hpp>
#include <coracle/core/with_environment.hpp>
#include <vector>

#include "detached.hpp"

namespace coracle_test {
/// Awaits `something`, an lvalue that outlives the wait. Then logs `name`.
template <class Awaitable>
detached await_and_log(Awaitable& something, std::vector<int>& log, int name) {
  co_await something;
  log.push_back(name);
}
/// Awaits `something` until `source` stops it. Then logs `name`, or `-name` if it was cancelled.
template <class Awaitable>
detached await_and_log(Awaitable& something, const coracle::stop_source& source, std::vector<int>& log,
                       int name) {
  bool cancelled = false;
  try {
    co_await coracle::with_stop(something, source.get_token());
  } catch (const coracle::operation_cancelled&) {
    cancelled = true;
  }
  log.push_back(cancelled ? -name : name);
}
/// Moves to `place` and awaits `something` there. Then logs `name`, or `-name` if it does not run on `place`.
template <class Scheduler, class Awaitable>
detached await_and_log_on(Scheduler& place, Awaitable& something, std::vector<int>& log, int name) {
  co_await place.schedule();
  co_await something;
  log.push_back(coracle::current_executor() == &place ? name : -name);
}
}  // namespace coracle_test
