// src/core/stoppable_wait.cpp -- waits that give way to other coroutines before they start.
// SPDX-License-Identifier: MIT
#include <coracle/core/detail/stoppable_wait.hpp>
#include <new>

namespace coracle::detail {
late_start::late_start(start_function* start, std::coroutine_handle<> suspended,
                       const environment* inherited) noexcept
    : callback_frame(&run, inherited), start_(start), coroutine_(suspended) {
  resumption::handle = callback_frame::handle();
}

bool late_start::post_or_start(void* operation, start_function* start, std::coroutine_handle<> suspended,
                               const environment* inherited) noexcept {
  return give_way(*::new (operation) late_start(start, suspended, inherited)) ||
         start(operation, suspended, inherited);
}

void late_start::run(callback_frame* self) {
  auto* const late = static_cast<late_start*>(self);
  const std::coroutine_handle<> coroutine = late->coroutine_;
  if (!late->start_(late, coroutine, late->promise().get_environment())) resume_on_return(coroutine);
}

void refuse_wait(queued_waiter& waiting, const environment& inherited) noexcept {
  waiting.refuse_for(inherited.stop.reason());
}

bool refuse_wait(queued_waiter& waiting, const environment& inherited, task_frame::function* resumed,
                 bool throws) noexcept {
  refuse_wait(waiting, inherited);
  return resumed && end_refused(waiting, resumed, throws);
}
bool end_refused(queued_waiter& waiting, task_frame::function* resumed, bool throws) noexcept {
  if (!end_when_resumed(waiting, resumed, throws)) return false;
  resume_on_return(waiting.handle);
  return true;
}

void wake_stopped(queued_waiter& waiting, task_frame::function* resumed, bool throws) noexcept {
  if (resumed) static_cast<void>(end_when_resumed(waiting, resumed, throws));
  waiting.wake();
}
}  // namespace coracle::detail
