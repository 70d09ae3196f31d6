// tests/unit/event_contract_test.cpp -- what holds for every event, whoever may wait and however long it stays set.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <coracle/core/sync_wait.hpp>
#include <coracle/exec/run_loop.hpp>
#include <coracle/sync/async_auto_reset_event.hpp>
#include <coracle/sync/async_manual_reset_event.hpp>
#include <coracle/sync/single_consumer_async_auto_reset_event.hpp>
#include <coracle/sync/single_consumer_event.hpp>
#include <thread>
#include <vector>

#include "../support/await_and_log.hpp"
#include "../support/detached.hpp"

namespace {
using coracle_test::detached;

#define CORACLE_EVENTS                                                                                \
  coracle::async_auto_reset_event, coracle::async_manual_reset_event, coracle::single_consumer_event, \
      coracle::single_consumer_async_auto_reset_event

TEST_CASE_TEMPLATE("event: an await that does not suspend stays on its executor without a post", Event,
                   CORACLE_EVENTS) {
  coracle::run_loop loop;
  Event event{true};
  std::vector<int> log;
  const auto wait = [&]() -> detached {
    co_await loop.schedule();
    co_await event;
    log.push_back(coracle::current_executor() == &loop ? 1 : -1);
  };
  wait();
  CHECK(loop.run_one());
  CHECK(log == std::vector{1});
  CHECK_FALSE(loop.run_one());
}

TEST_CASE_TEMPLATE("event: sync_wait waits for another thread's set() and sees what it wrote", Event,
                   CORACLE_EVENTS) {
  Event event;
  int written = 0;
  std::thread setter([&] {
    written = 42;
    event.set();
  });
  coracle::sync_wait(event);
  CHECK(written == 42);
  setter.join();
}

TEST_CASE_TEMPLATE("event: stop requested after set() has no effect, though the waiter has not run yet",
                   Event, CORACLE_EVENTS) {
  Event event;
  coracle::stop_source source;
  coracle::run_loop loop;
  std::vector<int> log;
  const auto wait = [&]() -> detached {
    co_await loop.schedule();
    coracle_test::await_and_log(event, source, log, 1);
  };
  wait();
  loop.run_pending();
  event.set();
  source.request_stop();
  CHECK(log.empty());
  loop.run_pending();
  CHECK(log == std::vector{1});
}
}  // namespace
