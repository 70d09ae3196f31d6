// tests/support/await_and_log.hpp -- a wait that can be stopped, and how it ended.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/core/operation_cancelled.hpp>
#include <coracle/core/with_environment.hpp>
#include <vector>

#include "detached.hpp"

namespace coracle_test {
/// Awaits `something`, an lvalue that outlives the wait, until `source` stops it. Then logs `name`, or `-name` if it
/// was cancelled.
template <class Awaitable>
detached await_and_log(Awaitable& something, const coracle::stop_source& source, std::vector<int>& log,
                       int name) {
  bool cancelled = false;
  try {
    co_await coracle::with_stop(something, source.get_token());
  } catch (const coracle::operation_cancelled&) {
    cancelled = true;
  }
  log.push_back(cancelled ? -name : name);
}
}  // namespace coracle_test
