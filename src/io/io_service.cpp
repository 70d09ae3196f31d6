// SPDX-License-Identifier: MIT
#include <coracle/core/environment.hpp>
#include <coracle/core/operation_cancelled.hpp>
#include <coracle/io/io_engine.hpp>
#include <coracle/io/io_service.hpp>

#include "io_loop.hpp"

namespace coracle {
io_service::io_service() : io_service(detail::io_system::linux_system()) {}
io_service::io_service(detail::io_system& system) : loop_(new detail::io_loop(*this, system)) {}
io_service::io_service(std::uint32_t) : io_service() {}
io_service::~io_service() {
  CORACLE_REQUIRE(
      current_executor() != this,
      "an io_service was destroyed by what runs on it, inside its own run() or process_events(), which "
      "goes on with it: end that first");
  delete loop_;
  detail::mark_destroyed(*this);
}

void io_service::post(resumption& item) noexcept { loop_->post(item); }
const io_engine& io_service::engine() const noexcept { return loop_->backend().engine(); }
timer_service* io_service::timers() noexcept { return loop_; }
blocking_service* io_service::blocking_calls() noexcept { return loop_->system().blocking_calls(); }

void detail::io_run::ended(callback_frame* self) noexcept {
  auto& its = *static_cast<io_run*>(self);
  its.loop.end(its);
}
void io_service::process_until_over(detail::io_run& its) noexcept { loop_->run(its); }

std::uint64_t io_service::process_events() { return loop_->run({.wait = true, .only_one = false}); }
std::uint64_t io_service::process_pending_events() { return loop_->run({.wait = false, .only_one = false}); }
std::uint64_t io_service::process_one_event() { return loop_->run({.wait = true, .only_one = true}); }
std::uint64_t io_service::process_one_pending_event() {
  return loop_->run({.wait = false, .only_one = true});
}

void io_service::stop() noexcept { loop_->stop(); }
void io_service::reset() noexcept { loop_->reset(); }
bool io_service::is_stop_requested() const noexcept { return loop_->stopped(); }
void io_service::notify_work_started() noexcept { loop_->work_started(); }
void io_service::notify_work_finished() noexcept { loop_->work_finished(); }

void io_service::timed_schedule_operation::start(std::coroutine_handle<> self, const environment* inherited,
                                                 detail::end_of_task* end) noexcept {
  handle = self;
  home = &service_;
  renew();
  if (begin_wait(inherited, end)) {
    if (service_.loop_->start(*this, time_)) return;
  } else {
    progress = timer::state::removed;
  }
  if (progress == timer::state::removed) static_cast<void>(end_task(self));
  does_not_suspend();
  suspend(self);  // here, not on the io_service
  wake();
}

stop_reason io_service::timed_schedule_operation::await_cancelled() noexcept {
  end_wait();
  return progress == timer::state::removed ? reason() : stop_reason::none;
}
void io_service::timed_schedule_operation::await_resume() {
  if (const stop_reason why = await_cancelled(); why != stop_reason::none) detail::throw_cancelled(why);
}

void io_service::timed_schedule_operation::due(detail::timer& self) noexcept {
  auto& mine = static_cast<timed_schedule_operation&>(self);
  mine.service_.loop_->finish(mine);
}

/// Either this or due() removes the timer; whichever does passes the coroutine to the loop.
void io_service::timed_schedule_operation::stopped(detail::stop_listener& self) noexcept {
  auto& mine = static_cast<timed_schedule_operation&>(self);
  mine.note_stop(mine, &is_over);
  detail::io_loop& loop = *mine.service_.loop_;
  if (loop.remove(mine)) loop.finish(mine);
}

void io_service::timed_schedule_operation::is_over(detail::io_event& self) noexcept {
  auto& mine = static_cast<timed_schedule_operation&>(static_cast<detail::io_timer&>(self));
  if (mine.progress == timer::state::removed) static_cast<void>(mine.end_task(mine.handle));
}

void io_service::timed_schedule_operation::withdraw() noexcept {
  remove();
  [[maybe_unused]] const bool taken = service_.loop_->remove(*this) || service_.loop_->unlist(*this);
  CORACLE_REQUIRE(taken, "a coroutine was destroyed while a timer was resuming it");
}
}  // namespace coracle
