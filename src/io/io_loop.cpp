// SPDX-License-Identifier: MIT
#include "io_loop.hpp"

namespace coracle::detail {
namespace {
/// So many events are delivered before the system is asked for more.
constexpr std::uint32_t events_per_poll = is_modelled ? 2 : 61;
}  // namespace

io_loop::io_loop(executor& service, io_system& system)
    : service_(service), system_(system), timers_(system.now()), backend_(system.backend_for(*this)) {}

io_loop::~io_loop() {
  // Whoever posted the last event may still be inside the lock.
  const small_mutex_lock lock{mutex_};
  CORACLE_REQUIRE(
      !has_ready() && timers_.empty(),
      "an io_service was destroyed with coroutines scheduled on it or timers running: request their "
      "stop and process events until they have ended");
  CORACLE_REQUIRE(
      backend_->attached() == 0,
      "an io_service was destroyed before its files and sockets: let their operations end and close "
      "them first");
}

void io_loop::others_run() noexcept {
  ++sleeping_;
  ++runs_sleeping_;
}

void io_loop::post(resumption& item) noexcept {
  const small_mutex_lock lock{mutex_};
  scheduled_.push(item);
  balance();
}

void io_loop::list(io_event& event) noexcept {
  event.listed = true;
  finished_.push(event);
}
void io_loop::finish_in_poll(io_event& event) noexcept {
  const small_mutex_lock lock{mutex_};
  list(event);
}
void io_loop::finish(io_event& event) noexcept {
  const small_mutex_lock lock{mutex_};
  list(event);
  balance();
}
bool io_loop::unlist(io_event& event) noexcept {
  const small_mutex_lock lock{mutex_};
  if (!event.listed) return false;
  event.listed = false;
  finished_.remove(event);
  return true;
}

/// Wakes a thread if there is something for it to do.
void io_loop::balance() noexcept {
  if (sleeping_ == 0 || waking_ || !(sleeper_is_to_leave() || has_ready())) return;
  waking_ = true;
  backend_->wake();
}

bool io_loop::add(timer& each, time_point deadline) noexcept {
  const small_mutex_lock lock{mutex_};
  if (!timers_.add(each, deadline)) return false;
  set_timer();
  return true;
}

bool io_loop::remove(timer& each) noexcept {
  const small_mutex_lock lock{mutex_};
  return timers_.remove(each);
}

bool io_loop::start(io_timer& each, time_point deadline) noexcept {
  if (deadline > now()) return add(each, deadline);
  const small_mutex_lock lock{mutex_};
  if (each.progress == timer::state::removed) return false;
  each.progress = timer::state::fired;
  list(each);
  balance();
  return true;
}

void io_loop::set_timer() noexcept {
  const time_point first = timers_.next();
  if (first >= timer_set_) return;
  timer_set_ = first;
  const std::chrono::nanoseconds since = first.time_since_epoch();
  backend_->set_timer(static_cast<std::uint64_t>(since.count()));
}

/// Releases the lock meanwhile.
void io_loop::fire_timers() noexcept {
  const time_point time = now();
  timer_set_ = time_point::max();
  for (timer_batch due; due.take(timers_, time);) {
    mutex_.unlock();
    due.fire();
    mutex_.lock();
  }
  set_timer();
}

std::uint64_t io_loop::run(bool wait, bool only_one) {
  const executor_scope here{&service_};
  std::uint64_t count = 0;
  while (const ready item = next(wait)) {
    ++count;
    deliver(item);
    if (only_one) break;
  }
  return count;
}

void io_loop::run(io_run& its) noexcept {
  const executor_scope here{&service_};
  while (const ready item = next(true, &its)) deliver(item);
}
void io_loop::end(io_run& its) noexcept {
  const small_mutex_lock lock{mutex_};
  its.over = true;
  if (!its.asleep) return;
  ++runs_over_;
  balance();
}

void io_loop::deliver(ready item) {
  if (item.scheduled) {
    resume(item.scheduled->handle);
  } else if (item.event->home == &service_) {
    resume(item.event->handle);
  } else {
    item.event->wake();
  }
}

io_loop::ready io_loop::next(bool wait, io_run* its) noexcept {
  const small_mutex_lock lock{mutex_};
  ready found;
  for (bool polled = false; !(its ? its->over : stopped_); polled = true) {
    if (polled || since_poll_ < events_per_poll) found = take();
    if (found || (polled && !wait)) break;
    poll(wait, its);
  }
  balance();
  return found;
}

io_loop::ready io_loop::take() noexcept {
  ready found;
  if (!finished_.empty() && (scheduled_.empty() || !scheduled_next_)) {
    found.event = finished_.front();
    found.event->listed = false;
    finished_.remove(*found.event);
    scheduled_next_ = true;
  } else if (!scheduled_.empty()) {
    found.scheduled = &scheduled_.pop();
    scheduled_next_ = false;
  }
  if (found) ++since_poll_;
  return found;
}

/// Releases the lock meanwhile.
void io_loop::poll(bool wait, io_run* its) noexcept {
  balance();
  const bool sleep = wait && !has_ready() && !sleeper_is_to_leave();
  since_poll_ = 0;
  if (sleep) sleep_begins(its);
  mutex_.unlock();
  const io_backend::signals seen = backend_->poll(sleep);
  mutex_.lock();
  if (sleep) sleep_ends(its);
  if (seen.woken) waking_ = false;
  if (seen.timer) fire_timers();
}

void io_loop::sleep_begins(io_run* its) noexcept {
  ++sleeping_;
  if (!its) return;
  ++runs_sleeping_;
  its->asleep = true;
}
void io_loop::sleep_ends(io_run* its) noexcept {
  --sleeping_;
  if (!its) return;
  --runs_sleeping_;
  its->asleep = false;
  if (its->over) --runs_over_;
}

void io_loop::stop() noexcept {
  const small_mutex_lock lock{mutex_};
  stopped_ = true;
  balance();
}
void io_loop::reset() noexcept {
  const small_mutex_lock lock{mutex_};
  stopped_ = false;
}
bool io_loop::stopped() noexcept {
  const small_mutex_lock lock{mutex_};
  return stopped_;
}
void io_loop::work_started() noexcept {
  const small_mutex_lock lock{mutex_};
  ++work_;
}
void io_loop::work_finished() noexcept {
  const small_mutex_lock lock{mutex_};
  CORACLE_REQUIRE(work_ != 0, "notify_work_finished() of an io_service without a notify_work_started()");
  if (--work_ != 0) return;
  stopped_ = true;
  balance();
}
}  // namespace coracle::detail
