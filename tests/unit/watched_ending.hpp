// tests/unit/watched_ending.hpp -- how work ends that is stopped while it moves between executors.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/core/operation_cancelled.hpp>
#include <coracle/core/task.hpp>
#include <coracle/core/with_environment.hpp>
#include <coracle/exec/run_loop.hpp>
#include <optional>
#include <stdexcept>
#include <utility>

#include "../support/detached.hpp"

namespace coracle_test {
/// How a coroutine ended, and where it was then.
struct watched_ending {
  bool over = false;
  std::optional<coracle::stop_reason> cancelled;
  bool failed = false;
  const coracle::executor* where = nullptr;
};
/// Awaits `work` with the stop token of `source`, from `home` if there is one.
inline detached watch(coracle::run_loop* home, coracle::stop_source& source, coracle::task<> work,
                      watched_ending& seen) {
  if (home) co_await home->schedule();
  try {
    co_await coracle::with_stop(std::move(work), source.get_token());
  } catch (const coracle::operation_cancelled& e) {
    seen.cancelled = e.reason();
  } catch (const std::runtime_error&) {
    seen.failed = true;
  }
  seen.where = coracle::current_executor();
  seen.over = true;
}
template <class Scheduler>
coracle::task<> go_to(Scheduler& place) {
  co_await place.schedule();
}
inline void run_all(coracle::run_loop& loop) {
  while (loop.run_one()) {
  }
}
}  // namespace coracle_test
