// tests/support/lets_through.hpp -- whether an event is set, asked as a consumer.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/core/awaitable.hpp>

#include "detached.hpp"

namespace coracle_test {
/// True: an await goes on at once; one that closes behind it is not set any more. It is left as it was otherwise.
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
