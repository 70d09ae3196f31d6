// tests/support/events.hpp -- the kinds of events, for the tests of their common contract.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/core/task.hpp>
#include <coracle/sync/async_auto_reset_event.hpp>
#include <coracle/sync/async_manual_reset_event.hpp>
#include <coracle/sync/single_consumer_async_auto_reset_event.hpp>
#include <coracle/sync/single_consumer_event.hpp>
#include <coracle/testing/lifetime_probe.hpp>

#define CORACLE_EVENTS                                                                                \
  coracle::async_auto_reset_event, coracle::async_manual_reset_event, coracle::single_consumer_event, \
      coracle::single_consumer_async_auto_reset_event
#define CORACLE_EVENTS_FOR_MANY coracle::async_auto_reset_event, coracle::async_manual_reset_event
#define CORACLE_EVENTS_FOR_ONE coracle::single_consumer_event, coracle::single_consumer_async_auto_reset_event
#define CORACLE_EVENTS_THAT_STAY_SET coracle::async_manual_reset_event, coracle::single_consumer_event
#define CORACLE_EVENTS_THAT_RESET_THEMSELVES \
  coracle::async_auto_reset_event, coracle::single_consumer_async_auto_reset_event

namespace coracle_test {
template <class Event>
concept stays_set = requires(const Event& event) { event.is_set(); };

template <class Event>
coracle::task<> wait_with_local(Event& event, coracle::testing::lifetimes& lives) {
  const coracle::testing::lifetime_probe local(lives);
  co_await event;
}
}  // namespace coracle_test
