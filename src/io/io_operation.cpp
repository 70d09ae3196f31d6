// SPDX-License-Identifier: MIT
#include <cerrno>
#include <coracle/core/environment.hpp>
#include <coracle/core/operation_cancelled.hpp>
#include <coracle/io/detail/io_operation.hpp>
#include <system_error>

#include "io_backend.hpp"
#include "io_loop.hpp"
#include "system_call.hpp"
#include "system_error.hpp"

namespace coracle::detail {
bool io_operation::start(std::coroutine_handle<> self, const environment* inherited,
                         end_of_task* end) noexcept {
  CORACLE_REQUIRE(record,
                  "an operation was awaited on a file or socket that is closed: keep it open until its "
                  "operations have ended");
  suspend(self);
  renew();
  lost = false;
  if (!begin_wait(inherited, end)) {
    result = -ECANCELED;
    if (end_if_cancelled()) return true;
  } else if (record->backend->submit(*this)) {
    restart_budget();
    return true;
  } else if (result == -ECANCELED && end_if_cancelled()) {
    return true;
  } else if (goes_behind_others()) {
    return true;
  }
  does_not_suspend();
  return false;
}

/// Called when the operation has completed without waiting. Returns true if its coroutine must give way, and
/// so is resumed by the loop.
bool io_operation::goes_behind_others() noexcept {
  const bool of_file = record->kind != io_descriptor_kind::pollable;
  if (!has_to_give_way() && !io_loop::turn_is_over(of_file)) return false;
  this_thread().budget.renew();
  record->backend->deliver(*this);
  return true;
}

stop_reason io_operation::await_cancelled() noexcept {
  end_wait();
  if (lost) return stop_reason::lost_race;
  // Without a stop request, ECANCELED is an error of the system: some file systems report it.
  return result == -ECANCELED ? reason() : stop_reason::none;
}

std::error_code io_operation::await_error() noexcept {
  const stop_reason why = await_cancelled();
  if (why == stop_reason::out_of_memory) return std::make_error_code(std::errc::not_enough_memory);
  if (why != stop_reason::none) return std::make_error_code(std::errc::operation_canceled);
  return result < 0 ? std::error_code(static_cast<int>(-result), std::system_category()) : std::error_code();
}

std::int64_t io_operation::take_result_or_errno() {
  if (const stop_reason why = await_cancelled(); why != stop_reason::none) throw_cancelled(why);
  return result;
}

std::int64_t io_operation::take_result(const char* what) {
  end_wait();
  if (result < 0) throw_why(what);  // also if it is lost
  return result;
}
void io_operation::throw_why(const char* what) {
  const std::int64_t failed = take_result_or_errno();
  throw_error(static_cast<int>(-failed), what);
}

void io_operation::stopped(stop_listener& self) noexcept {
  auto& mine = static_cast<io_operation&>(self);
  mine.note_stop(mine, &is_over);
  mine.record->backend->cancel(mine);
}
void io_operation::is_over(io_event& self) noexcept {
  auto& mine = static_cast<io_operation&>(static_cast<io_request&>(self));
  if (mine.result == -ECANCELED) static_cast<void>(mine.end_task(mine.handle));
}
/// For an operation that was cancelled before it waited. Returns true if its coroutine is ended.
bool io_operation::end_if_cancelled() noexcept {
  if (!end_task(handle)) return false;
  resume_on_return(handle);
  return true;
}

void io_operation::withdraw() noexcept {
  remove();
  [[maybe_unused]] const bool taken = record->backend->withdraw(*this);
  CORACLE_REQUIRE(
      taken,
      "a coroutine was destroyed while it was on its way to its executor after an I/O operation: request "
      "its stop and let it end");
  discard(*this);
}
}  // namespace coracle::detail
