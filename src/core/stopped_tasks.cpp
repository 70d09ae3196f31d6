// src/core/stopped_tasks.cpp -- which tasks a stop request ends where they are suspended.
// SPDX-License-Identifier: MIT
#include <coracle/core/detail/stopped_tasks.hpp>

namespace coracle::detail {
/// Returns true if the end of `body` is taken as a value or dropped, so that no exception will be seen. A
/// failed allocation is an error, not a stop.
static bool ends_quietly(const task_frame& body, stop_reason why) noexcept {
  if (why == stop_reason::out_of_memory) return false;
  for (task_above above(body);;) {
    if (!above.is_told()) {
      above = task_above(above.task());
      continue;
    }
    const awaiting_frame next = above.passes_on_to(why);
    if (next.is == awaiting_frame::kind::quiet) return true;
    if (next.is == awaiting_frame::kind::other) return false;
    above = task_above(next);
  }
}

static void replace_resume(task_frame& body, task_frame::function* end) noexcept {
  CORACLE_HIDES_RESUMED(end);
  body.resume = end;
}

bool end_when_resumed(std::coroutine_handle<> task, stop_reason why, task_frame::function* resumed,
                      bool throws) noexcept {
  auto& body = *static_cast<task_frame*>(task.address());
  if (throws && !ends_quietly(body, why)) return false;
  body.outcome = stopped_outcome::of(why);
  replace_resume(body, resumed);
  return true;
}

bool end_wait(queued_waiter& wait, task_frame::function* resumed, bool throws) noexcept {
  auto& body = *static_cast<task_frame*>(std::coroutine_handle<>(wait.handle).address());
  if (wait.progress() != queued_waiter::cancelled || (throws && !ends_quietly(body, wait.reason())))
    return false;
  body.stopped = &wait;
  replace_resume(body, resumed);
  return true;
}
}  // namespace coracle::detail
