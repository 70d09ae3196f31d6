// src/compose/scope_state.cpp -- the state of an async_scope.
// SPDX-License-Identifier: MIT
#include <coracle/compose/detail/scope_state.hpp>
#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>

namespace coracle::detail {
static void dispose(scope_child& ended) { ended.scope_frame::handle().resume(); }

constexpr shared_promise::functions scope_state::functions{&shared_promise::ignore_failure, &above};

scope_state::~scope_state() {
  if (running() != 0) report_running();
  if (has_errors() && !reported_)
    fail("an async_scope was destroyed with an exception in it: co_await its join()");
  CORACLE_REQUIRE(
      joiner_.handle || !needs_join_,
      "an async_scope was destroyed without join(): co_await it on every way out of the scope, also "
      "where an exception leaves it, or use with_scope()");
  while (!failed_.empty()) dispose(failed_.pop());
  while (!held_.empty()) dispose(held_.pop());
}

// ---- children ----

void scope_state::started(scope_child& late) noexcept {
  const std::size_t seen = word_.lock();
  running_.push(late);
  word_.unlock(seen);
}

void scope_state::failed(scope_child& child) noexcept {
  const std::size_t seen = word_.lock();
  running_.remove(child);
  if (!policy_.on_error()) failed_.push(child);
  word_.unlock(seen);
  report(child);
  leave(word_.lock());
}

void scope_state::report(scope_child& child) noexcept {
  if (policy_.on_error()) {
    policy_.on_error()(child.error);
    dispose(child);
  } else if (policy_.stops_siblings()) {
    request_stop(stop_reason::sibling_failed);
  }
}

void scope_state::wake_joiner() noexcept {
  static_cast<void>(joiner_ends_stopped());
  wake_on_return(joiner_);
}

void end_badly(scope_child& child, const outcome<void>& end, scope_frame::function* destroy) noexcept {
  child.set_function(destroy);
  child.error = end.error();
  if (child.error) return child.scope().failed(child);
  child.scope().ended(child, true);
  dispose(child);
}

void put_off(scope_child& child, nested_start& nested, scope_frame::function* start) noexcept {
  child.set_function(start);
  child.suspend(child.scope_frame::handle());
  nested.put_off(child);
}

// ---- children with a future ----

bool scope_state::hold(scope_future_child& child) noexcept {
  const std::size_t seen = word_.lock();
  const bool holds = !child.is_dropped;
  if (holds) {
    running_.remove(child);
    held_.push(child);
    child.is_held = true;
  }
  word_.unlock(seen);
  return holds;
}

void scope_state::leave() noexcept { leave(word_.lock()); }

void scope_state::drop_future(scope_future_child& child) noexcept {
  const std::size_t seen = word_.lock();
  child.is_dropped = true;
  const bool failed = std::exchange(child.is_held, false);
  if (failed) {
    held_.remove(child);
    if (!policy_.on_error()) failed_.push(child);
  }
  word_.unlock(seen);
  if (failed) report(child);
}

void scope_state::give_up(scope_future_child& child) noexcept {
  const std::size_t seen = word_.lock();
  held_.remove(child);
  child.is_held = false;
  word_.unlock(seen);
  dispose(child);
}

// ---- the joiner ----

inline void scope_state::joined_too_late() noexcept {
  too_late_ = true;
  stopped_by_joiner_.store(true, memory_order_release); /*C2*/
  request_stop(joined_under_->reason());
}

void scope_state::joiner_stopped(stop_reason why) noexcept {
  stopped_by_joiner_.store(true, memory_order_release); /*C2*/
  children_inherit_.request_linked(why);
}

bool scope_state::join(std::coroutine_handle<> joiner, awaiting_frame::kind joiner_is,
                       end_of_task* end_joiner, const environment* its, stop_registration& on_stop) noexcept {
  CORACLE_REQUIRE(!joiner_.handle, "join() of an async_scope was awaited twice: await it once");
  joiner_.suspend(joiner);
  joiner_is_ = joiner_is;
  end_joiner_ = end_joiner;
  if (its) {
    joined_under_ = &its->stop;
    if (its->stop.stop_requested() || !(its->stop == outer_.stop || on_stop.add_to(its->stop)))
      joined_too_late();
  }
  const std::size_t seen = word_.lock();
  word_.unlock(seen - one);
  if (seen != one) return true;
  if (joiner_ends_stopped()) {
    resume_on_return(joiner_.handle);
    return true;
  }
  return has_to_give_way() && give_way(joiner_);
}

stop_reason scope_state::reason_of_join() const noexcept {
  return has_errors() ? stop_reason::none : joined_under_->reason();
}

inline bool scope_state::joiner_ends_stopped() noexcept {
  if (!(too_late_ || any_cancelled_)) [[likely]]
    return false;
  return end_joiner_ && end_stopped_joiner();
}

bool scope_state::end_stopped_joiner() noexcept {
  const stop_reason why = join_cancelled();
  return why != stop_reason::none && end_joiner_(joiner_.handle, why);
}

awaiting_frame scope_state::above(shared_promise& self, stop_reason why) noexcept {
  auto& mine = static_cast<scope_state&>(from(self));
  if (mine.stopped_by_joiner_.load(memory_order_acquire)) /*C3*/
    return {std::coroutine_handle<>(mine.joiner_.handle).address(), mine.joiner_is_};
  if (mine.children_inherit_.has_dropped(why)) return {nullptr, awaiting_frame::kind::quiet};
  return mine.above_;
}

// ---- errors, and misuse ----

std::exception_ptr scope_state::take_errors() noexcept {
  reported_ = true;
  gathered_errors errors;
  for (auto* each = failed_.front(); each; each = static_cast<scope_child*>(each->next))
    errors.add(each->error);
  for (auto* each = held_.front(); each; each = static_cast<scope_future_child*>(each->next)) {
    errors.add(each->error);
    each->is_settled = true;
  }
  return errors.together();
}

void scope_state::report_running() noexcept {
  constexpr int most_named = 8;
  std::fprintf(
      stderr,
      "coracle: an async_scope was destroyed while %zu of its children run: co_await its join() on every "
      "way out of the scope, also where an exception leaves it, or use with_scope(). Spawned at:\n",
      running());
  static_cast<void>(word_.lock());
  int named = 0;
  for (auto* each = running_.front(); each && named != most_named; ++named) {
    const std::source_location& at = each->spawned_at;
    std::fprintf(stderr, "  %s:%u in %s\n", at.file_name(), static_cast<unsigned>(at.line()),
                 at.function_name());
    each = static_cast<scope_child*>(each->next);
  }
  std::abort();
}
}  // namespace coracle::detail
