// tests/support/lets_through.hpp -- tests whether an event is set, as a consumer.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/core/awaitable.hpp>

#include "detached.hpp"

namespace coracle_test {
/// Returns true if an await completes at once; an auto-reset event is then reset. Otherwise the event is
/// unchanged.
template <class Event>
bool lets_through(Event& event) {
  bool passed = false;
  const auto pass = [](Event& e, bool& done) -> detached {
    co_await e;
    done = true;
  };
  pass(event, passed);
  if (passed) return true;
  event.set();
  if constexpr (requires { event.is_set(); }) event.reset();
  return false;
}
}  // namespace coracle_test
