// tests/unit/runtime_metrics_test.cpp -- pools, io_services and timers in numbers.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <coracle/core/task.hpp>
#include <coracle/exec/static_thread_pool.hpp>
#include <coracle/inspect/runtime_metrics.hpp>
#include <coracle/io/io_engine.hpp>
#include <coracle/io/io_service.hpp>
#include <coracle/testing/poll.hpp>
#include <coracle/time/detail/timer_wheel.hpp>
#include <coracle/time/sleep.hpp>
#include <latch>
#include <string>

#include "../support/detached.hpp"
#include "../support/socket_pair.hpp"

namespace {
using namespace std::chrono_literals;
using coracle::read_runtime_metrics;
using coracle::static_thread_pool;
using coracle::task;
using coracle_test::detached;
using coracle_test::io_descriptor_kind;
using coracle_test::socket_pair;

/// Returns the row of the scheduler; one without a number if there is none.
template <class Row>
Row row_of(const std::vector<Row>& in, const coracle::executor& scheduler) {
  const auto found =
      std::find_if(in.begin(), in.end(), [&](const Row& each) { return each.address == &scheduler; });
  return found != in.end() ? *found : Row{};
}
coracle::pool_metrics metrics_of(const static_thread_pool& pool) {
  return row_of(read_runtime_metrics().pools, pool);
}
coracle::io_service_metrics metrics_of(const coracle::io_service& io) {
  return row_of(read_runtime_metrics().io_services, io);
}

template <class Scheduler>
detached count_down_on(Scheduler place, std::latch& ran) {
  co_await place.schedule();
  ran.count_down();
}
detached keep_busy(static_thread_pool& pool, std::latch& busy, std::latch& may_go_on, std::latch& ran) {
  co_await pool.schedule();
  for (int i = 0; i != 2; ++i) {
    const auto count_down = [](static_thread_pool& its, std::latch& counted) -> detached {
      co_await its.schedule();
      counted.count_down();
    };
    count_down(pool, ran);
  }
  busy.count_down();
  may_go_on.wait();
  ran.count_down();
}

TEST_CASE("runtime_metrics: a pool's workers and its queues") {
  static_thread_pool pool{1};
  std::latch busy{1}, may_go_on{1}, ran{9};
  keep_busy(pool, busy, may_go_on, ran);
  busy.wait();
  for (int i = 0; i != 3; ++i) count_down_on(pool.with_priority(static_thread_pool::priority::normal), ran);
  for (int i = 0; i != 2; ++i) count_down_on(pool.with_priority(static_thread_pool::priority::high), ran);
  count_down_on(pool.with_priority(static_thread_pool::priority::low), ran);

  const coracle::pool_metrics found = metrics_of(pool);
  CHECK(found.number != 0);
  REQUIRE(found.workers.size() == 1);
  CHECK(found.workers[0].forked + found.workers[0].queued == 2);
  CHECK(found.workers[0].thread.id != ::getpid());
  CHECK(found.workers[0].thread.processor_time > 0ns);
  CHECK(found.searching == 0);
  CHECK(found.parked == 0);
  CHECK(found.high == 2);
  CHECK(found.normal == 3);
  CHECK(found.low == 1);
  may_go_on.count_down();
  ran.wait();
  const static_thread_pool later{1};
  CHECK(metrics_of(later).number > found.number);
}

TEST_CASE("runtime_metrics: a scheduler has no row after its end") {
  const std::size_t pools = read_runtime_metrics().pools.size();
  const std::size_t services = read_runtime_metrics().io_services.size();
  {
    const static_thread_pool first{1}, second{2};
    const coracle::io_service io;
    CHECK(read_runtime_metrics().pools.size() == pools + 2);
    CHECK(read_runtime_metrics().io_services.size() == services + 1);
    CHECK(metrics_of(second).workers.size() == 2);
  }
  CHECK(read_runtime_metrics().pools.size() == pools);
  CHECK(read_runtime_metrics().io_services.size() == services);
}

detached wait_on(coracle::io_service& io, std::chrono::nanoseconds delay, coracle::stop_token stop) {
  try {
    co_await io.schedule_after(delay, std::move(stop));
  } catch (const coracle::operation_cancelled&) {
  }
}
detached schedule_on(coracle::io_service& io) { co_await io.schedule(); }

TEST_CASE("runtime_metrics: an io_service's timers, and what is ready") {
  coracle::io_service io;
  coracle::stop_source stop;
  CHECK(metrics_of(io).timers.waiting == 0);
  CHECK(metrics_of(io).timers.next == std::chrono::nanoseconds::max());
  for (const auto delay : {std::chrono::nanoseconds{1h}, std::chrono::nanoseconds{1h},
                           std::chrono::nanoseconds{30min}, std::chrono::nanoseconds{24h}})
    wait_on(io, delay, stop.get_token());
  schedule_on(io);
  schedule_on(io);
  const coracle::io_service_metrics found = metrics_of(io);
  CHECK(found.engine == io.engine().name);
  CHECK(found.timers.waiting == 4);
  CHECK(found.timers.next <= 30min);
  CHECK(found.timers.next > 20min);
  CHECK(found.ready == 2);
  CHECK(found.threads.empty());
  CHECK(found.sleeping == 0);
  stop.request_stop();
  io.process_pending_events();
  CHECK(metrics_of(io).timers.waiting == 0);
  CHECK(metrics_of(io).ready == 0);
}

TEST_CASE("runtime_metrics: the thread that runs an io_service") {
  coracle::io_service io;
  const auto look = [](coracle::io_service& on, coracle::io_service_metrics& seen) -> task<> {
    while (seen.threads.empty()) {  // a thread is seen from its first poll on
      co_await on.schedule_after(1us);
      seen = metrics_of(on);
    }
  };
  coracle::io_service_metrics seen;
  io.run(look(io, seen));
  REQUIRE(seen.threads.size() == 1);
  CHECK(seen.threads[0].id == ::gettid());
  CHECK(seen.threads[0].processor_time > 0ns);
  CHECK(metrics_of(io).threads.empty());
}

TEST_CASE("runtime_metrics: descriptors, and who waits for them") {
  coracle::io_service io;
  socket_pair pair{io};
  CHECK(metrics_of(io).descriptors == 2);
  CHECK(metrics_of(io).pending.empty());
  coracle_test::outcome seen;
  char buffer[4];
  auto waiting =
      coracle::testing::poll(coracle_test::note(coracle_test::receive(pair.first, buffer, 4), seen));
  REQUIRE_FALSE(waiting.run());
  io.process_pending_events();
  const coracle::io_service_metrics found = metrics_of(io);
  REQUIRE(found.pending.size() == 1);
  CHECK(found.pending[0].descriptor == pair.first.native_handle());
  CHECK(std::string(found.pending[0].operation) == "receive");
  CHECK(found.pending[0].coroutine != nullptr);
  CHECK(::write(pair.second.native_handle(), "x", 1) == 1);
  while (!waiting.run()) io.process_one_event();
  CHECK(metrics_of(io).pending.empty());
}

TEST_CASE("runtime_metrics: timers that no io_service serves") {
  const std::size_t before = read_runtime_metrics().timers.waiting;
  const auto sleep = []() -> task<> { co_await coracle::sleep_for(1h); };
  auto sleeping = coracle::testing::poll(sleep());
  REQUIRE_FALSE(sleeping.run());
  const coracle::timer_metrics found = read_runtime_metrics().timers;
  CHECK(found.waiting == before + 1);
  CHECK(found.next <= 1h);
  sleeping.request_stop();
  CHECK(sleeping.run());
  CHECK_THROWS_AS(sleeping.get(), coracle::operation_cancelled);
  CHECK(read_runtime_metrics().timers.waiting == before);
}

TEST_CASE("timer_wheel: its slots are counted one at a time, each to a limit") {
  coracle::detail::timer_wheel wheel{0};
  coracle::detail::timer_node nodes[7];
  for (int i = 0; i != 5; ++i) wheel.insert(nodes[i], 1'000'000);
  wheel.insert(nodes[5], 3);
  wheel.insert(nodes[6], ~std::uint64_t{0} - 1);
  std::size_t count = 0, slots = 0;
  for (unsigned at = 0; (at = wheel.count_slot(at, 4, count)) != wheel.all_slots;) ++slots;
  CHECK(slots == 3);
  CHECK(count == 1 + 4 + 1);
  for (coracle::detail::timer_node& each : nodes) wheel.remove(each);
  CHECK(wheel.count_slot(0, 4, count) == wheel.all_slots);
}
}  // namespace
