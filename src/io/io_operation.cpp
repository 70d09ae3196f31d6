// SPDX-License-Identifier: MIT
#include <cerrno>
#include <coracle/core/environment.hpp>
#include <coracle/core/operation_cancelled.hpp>
#include <coracle/io/io_operation.hpp>
#include <system_error>

#include "io_backend.hpp"
#include "system_call.hpp"

namespace coracle::detail {
stop_token effective_token(stop_token&& given, const environment* inherited) noexcept {
  return given == stop_token{} && inherited ? inherited->stop : std::move(given);
}

bool io_operation::start(std::coroutine_handle<> self, const environment* inherited) noexcept {
  CORACLE_CHECK(record, "an operation was awaited on a file or socket that is closed");
  stop_token token = effective_token(std::move(given_), inherited);
  suspend(self);
  suspended_ = true;
  // The callback comes first: once the request is submitted, this object may be gone. If stop was requested
  // before, it runs here, and submit() starts nothing.
  if (token.stop_possible()) on_stop_.emplace(std::move(token), cancel_request{this});
  if (record->backend->submit(*this)) return true;
  suspended_ = false;
  return false;
}

std::int64_t io_operation::take_result_or_errno() noexcept {
  suspended_ = false;
  on_stop_.reset();  // waits where the callback runs on another thread
  return result;
}

std::int64_t io_operation::take_result(const char* what) {
  const std::int64_t taken = take_result_or_errno();
  if (taken >= 0) return taken;
  if (taken == -ECANCELED) throw operation_cancelled{};
  throw std::system_error(static_cast<int>(-taken), std::system_category(), what);
}

void io_operation::cancel_request::operator()() const noexcept { request->record->backend->cancel(*request); }

void io_operation::withdraw() noexcept {
  on_stop_.reset();
  [[maybe_unused]] const bool taken = record->backend->withdraw(*this);
  CORACLE_CHECK(
      taken,
      "a coroutine was destroyed while it was on its way to its executor after an I/O operation: request "
      "its stop and let it end");
  discard(*this);
}
}  // namespace coracle::detail
