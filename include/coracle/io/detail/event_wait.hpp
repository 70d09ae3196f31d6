// coracle/io/detail/event_wait.hpp -- the common part of awaiters of I/O operations and of an io_service's
// timers.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/base/check.hpp>
#include <coracle/core/detail/stopped_tasks.hpp>
#include <coracle/core/environment.hpp>
#include <coracle/io/detail/io_request.hpp>
#include <utility>

namespace coracle::detail {
/// A coroutine's wait for an io_event: which stop token ends it, why it was ended, and whether it has begun.
/// The awaiter derives from this and from its event, and passes a function that cancels the event:
///
///     void sleeper::stopped(stop_listener& self) noexcept {
///       auto& mine = static_cast<sleeper&>(self);
///       mine.note_stop(mine, &is_over);
///       ...
///     }
///     void sleeper::is_over(io_event& self) noexcept {
///       auto& mine = static_cast<sleeper&>(self);
///       if (mine.is_cancelled()) static_cast<void>(mine.end_task(mine.handle));
///     }
///
/// A task that waits may be ended where it is suspended (core/detail/stopped_tasks.hpp). Whether the request
/// has cancelled the event is known when the event is delivered, so that is when it is ended, before it is
/// resumed: is_over() is called then. A coroutine that has passed a token of its own is always resumed.
class event_wait : protected stop_registration {
 protected:
  event_wait(stop_listener::callback* stopped, stop_token token) noexcept
      : stop_registration(stopped), given_(std::move(token)) {}
  /// Requires: `other` has not been awaited.
  event_wait(stop_listener::callback* stopped, event_wait&& other) noexcept
      : event_wait(stopped, std::move(other.given_)) {
    CORACLE_REQUIRE(!other.suspended_, "an I/O operation or a timer was moved while it was awaited");
  }
  event_wait& operator=(event_wait&&) = delete;

  /// Called before the event is started, since the awaiter may be destroyed from then on. Observes the given
  /// token, or else the inherited one. Returns false if stop was already requested. `end`: the
  /// coroutine's end_of_parent().
  [[nodiscard]] bool begin_wait(const environment* inherited, end_of_task* end) noexcept {
    suspended_ = true;
    const bool inherits = given_ == stop_token{} && inherited;
    const stop_token& token = inherits ? inherited->stop : given_;
    end_ = inherits ? end : nullptr;
    reason_ = stop_reason::none;
    if (add_to(token)) return true;
    reason_ = token.reason();
    return false;
  }
  /// Called when the coroutine does not suspend after all.
  void does_not_suspend() noexcept { suspended_ = false; }
  /// Called when the coroutine continues. If the stop callback is running on another thread, waits for its
  /// end.
  void end_wait() noexcept {
    suspended_ = false;
    remove();
  }
  [[nodiscard]] bool is_suspended() const noexcept { return suspended_; }
  /// Called by the stop callback, before it cancels the event.
  void note_stop(io_event& mine, io_event::stopped* is_over) noexcept {
    reason_ = why();
    if (end_) mine.call_when_over(is_over);
  }
  /// Called once the event is over because of a stop request, if its coroutine has not been resumed. If that
  /// is a task, has it end when it is resumed; returns false if it must throw.
  [[nodiscard]] bool end_task(std::coroutine_handle<> waiting) noexcept {
    if (!end_) return false;
    remove();
    if (reason_ == stop_reason::none || !end_(waiting, reason_)) return false;
    suspended_ = false;
    return true;
  }
  /// The reason of a stop request, whether or not it cancelled the event.
  [[nodiscard]] stop_reason reason() const noexcept { return reason_; }

 private:
  stop_token given_;
  end_of_task* end_ = nullptr;  // null: the coroutine is resumed
  stop_reason reason_ = stop_reason::none;
  bool suspended_ = false;  // belongs to the coroutine: awaited, and not resumed yet
};
}  // namespace coracle::detail
