// src/core/stopped_tasks.cpp -- which tasks a stop request ends where they are suspended.
// SPDX-License-Identifier: MIT
#include <coracle/core/detail/library_task.hpp>
#include <coracle/core/detail/stopped_tasks.hpp>

namespace coracle::detail {
namespace {
/// The walk from a task whose wait was stopped for a reason, up to the frame that decides how it ends. It
/// stops only at frames that know on whose behalf they wait.
class walk_up {
 public:
  walk_up(const task_frame& body, stop_reason why) noexcept : why_(why) { go_to(task_above(body)); }
  /// Null where an exception will be seen.
  [[nodiscard]] shared_frame* here() const noexcept { return here_; }
  /// Returns true if the children of this frame were stopped, for the same reason. Requires: here().
  [[nodiscard]] bool were_stopped() const noexcept {
    const environment* const inherited = here_->inherited_by_children();
    return inherited && inherited->stop.reason() == why_;
  }
  /// Returns the answer of this frame, or goes on to the next one. Requires: here().
  [[nodiscard]] stopped_end answer_or_next() noexcept {
    const awaiting_frame next = here_->above(why_);
    if (next.is == awaiting_frame::kind::quiet) return stopped_end::quiet;
    if (next.is == awaiting_frame::kind::other) return stopped_end::thrown;
    go_to(task_above(next));
    return stopped_end::unknown;
  }

 private:
  void go_to(task_above above) noexcept {
    while (!above.is_notified()) above = task_above(above.task());
    here_ = above.shared();
  }

  const stop_reason why_;
  shared_frame* here_ = nullptr;
};

/// Returns how `body` ends, which was stopped for `why`.
//
// The frames that the walk has passed keep the answer, so that a request that stops many levels, each of
// which needs it at its end, walks through each of them once. A frame keeps it only if its children, and
// those of all frames below it on the way, had been stopped for this reason before the walk came there: they
// are stopped once, so the first answer holds for all of them.
stopped_end find_how_it_ends(const task_frame& body, stop_reason why) noexcept {
  auto answer = stopped_end::unknown;
  std::size_t keep = 0;
  walk_up walk(body, why);
  for (bool all_stopped = true; answer == stopped_end::unknown && walk.here();) {
    const bool stopped = walk.were_stopped();
    all_stopped = all_stopped && stopped;
    if (stopped) answer = walk.here()->end_of_children();
    if (answer == stopped_end::unknown) answer = walk.answer_or_next();
    if (answer == stopped_end::unknown && all_stopped) ++keep;
  }
  if (answer == stopped_end::unknown) answer = stopped_end::thrown;
  if (keep == 0) return answer;
  auto seen = stopped_end::unknown;
  for (walk_up passed(body, why); keep != 0 && seen == stopped_end::unknown && passed.here(); --keep) {
    passed.here()->keep_end_of_children(answer);
    seen = passed.answer_or_next();
  }
  return answer;
}

/// Returns true if the end of `body` is taken as a value or dropped, so that no exception will be seen. A
/// failed allocation is an error, not a stop.
bool ends_quietly(const task_frame& body, stop_reason why) noexcept {
  return why != stop_reason::out_of_memory && find_how_it_ends(body, why) == stopped_end::quiet;
}

void replace_resume(task_frame& body, task_frame::function* end) noexcept {
  CORACLE_HIDES_RESUMED(end);
  body.resume = end;
}
}  // namespace

void end_parent_with(task_frame& failed) noexcept {
  const task_above above(failed);
  if (above.is_notified() || !above.task().parent.has(task_mark::has_failed)) return;
  task_frame& body = above.task();
  failed_outcome::store(body.outcome, failed_outcome::error(failed.outcome));
  replace_resume(body, &stopped_parent::resumed);
}

bool end_when_resumed(std::coroutine_handle<> task, stop_reason why, task_frame::function* resumed,
                      bool throws) noexcept {
  auto& body = *static_cast<task_frame*>(task.address());
  if (throws && !ends_quietly(body, why)) return false;
  body.outcome = failed_outcome::of(why);
  replace_resume(body, resumed);
  return true;
}

bool end_when_resumed(queued_waiter& wait, task_frame::function* resumed, bool throws) noexcept {
  auto& body = *static_cast<task_frame*>(std::coroutine_handle<>(wait.handle).address());
  if (wait.progress() != queued_waiter::cancelled || (throws && !ends_quietly(body, wait.reason())))
    return false;
  body.stopped = &wait;
  replace_resume(body, resumed);
  return true;
}
}  // namespace coracle::detail
