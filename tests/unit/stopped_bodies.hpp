// tests/unit/stopped_bodies.hpp -- tasks below one another, of which the innermost waits, and how they ended.
// SPDX-License-Identifier: MIT
#pragma once
#include <doctest/doctest.h>

#include <coracle/compose/as_outcome.hpp>
#include <coracle/core/stop.hpp>
#include <coracle/core/task.hpp>
#include <coracle/core/with_environment.hpp>
#include <coracle/sync/async_manual_reset_event.hpp>
#include <coracle/testing/lifetime_probe.hpp>
#include <coracle/testing/poll.hpp>
#include <string>
#include <utility>
#include <vector>

namespace coracle_test::stopped_bodies {
using coracle::async_manual_reset_event;
using coracle::task;
using coracle::testing::lifetime_probe;
using coracle::testing::lifetimes;

/// Each notes that a handler has run, or that it went on.
struct trace {
  lifetimes log;
  bool handled = false;
  bool went_on = false;

  [[nodiscard]] bool is_untouched() const { return !handled && !went_on; }
};
[[gnu::noinline]] inline task<std::string> wait(trace& t, const async_manual_reset_event& event) {
  const lifetime_probe local(t.log, 1);
  co_await event;
  t.went_on = true;
  co_return "value";
}
[[gnu::noinline]] inline task<int> wait_below_opaque(trace& t, const async_manual_reset_event& event) {
  const lifetime_probe local(t.log, 2);
  const std::string value = co_await wait(t, event);
  t.went_on = true;
  co_return static_cast<int>(value.size());
}
// A call that the compiler may inline, of a result that fits into a word.
inline task<int> wait_below_visible(trace& t, const async_manual_reset_event& event) {
  const lifetime_probe local(t.log, 3);
  const int size = co_await wait_below_opaque(t, event);
  t.went_on = true;
  co_return size;
}
// One of a result that does not.
inline task<std::string> wait_below_class(trace& t, const async_manual_reset_event& event) {
  const lifetime_probe local(t.log, 4);
  const int size = co_await wait_below_visible(t, event);
  t.went_on = true;
  co_return std::to_string(size);
}
inline task<int> wait_below_named(trace& t, const async_manual_reset_event& event) {
  const lifetime_probe local(t.log, 5);
  auto named = wait_below_class(t, event);
  try {
    co_await std::move(named);
  } catch (...) {
    t.handled = true;
    throw;
  }
  t.went_on = true;
  co_return 5;
}
inline const std::vector innermost_first{1, 2, 3, 4, 5};
inline task<> wait_in_task(const async_manual_reset_event& event) { co_await event; }

/// Stops the work, which then says so.
template <class Work>
void stop_quietly(Work work) {
  coracle::stop_source source;
  auto waiting =
      coracle::testing::poll(coracle::with_stop(coracle::as_outcome(std::move(work)), source.get_token()));
  CHECK_FALSE(waiting.ready());
  source.request_stop(coracle::stop_reason::shutting_down);
  CHECK(waiting.run());
  CHECK(waiting.get().reason() == coracle::stop_reason::shutting_down);
}
}  // namespace coracle_test::stopped_bodies
