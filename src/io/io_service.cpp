// SPDX-License-Identifier: MIT
#include <algorithm>
#include <coracle/core/environment.hpp>
#include <coracle/core/operation_cancelled.hpp>
#include <coracle/io/io_service.hpp>

#include "io_loop.hpp"

namespace coracle {
io_service::io_service() : loop_(std::make_unique<detail::io_loop>(*this)) {}
io_service::io_service(std::uint32_t) : io_service() {}
io_service::~io_service() = default;

void io_service::post(resumption& item) noexcept { loop_->post(item); }

std::uint64_t io_service::process_events() { return loop_->run(true, false); }
std::uint64_t io_service::process_pending_events() { return loop_->run(false, false); }
std::uint64_t io_service::process_one_event() { return loop_->run(true, true); }
std::uint64_t io_service::process_one_pending_event() { return loop_->run(false, true); }

void io_service::stop() noexcept { loop_->stop(); }
void io_service::reset() noexcept { loop_->reset(); }
bool io_service::is_stop_requested() const noexcept { return loop_->stopped(); }
void io_service::notify_work_started() noexcept { loop_->work_started(); }
void io_service::notify_work_finished() noexcept { loop_->work_finished(); }

bool io_service::timed_schedule_operation::start(std::coroutine_handle<> self,
                                                 const environment* inherited) noexcept {
  stop_token token = detail::effective_token(std::move(given_), inherited);
  handle = self;
  home = &service_;
  suspended_ = true;
  if (token.stop_possible()) on_stop_.emplace(std::move(token), cancel_timer{this});
  const auto at =
      std::max<std::chrono::nanoseconds::rep>(time_.time_since_epoch() / std::chrono::nanoseconds{1}, 0);
  if (service_.loop_->start(*this, static_cast<std::uint64_t>(at))) return true;
  suspended_ = false;
  return false;
}

void io_service::timed_schedule_operation::await_resume() {
  suspended_ = false;
  on_stop_.reset();
  if (progress == state::cancelled) throw operation_cancelled{};
}

void io_service::timed_schedule_operation::cancel_timer::operator()() const noexcept {
  timer->service_.loop_->cancel(*timer);
}

void io_service::timed_schedule_operation::withdraw() noexcept {
  on_stop_.reset();
  [[maybe_unused]] const bool taken = service_.loop_->withdraw(*this);
  CORACLE_CHECK(taken, "a coroutine was destroyed while a timer was resuming it");
}

}  // namespace coracle
