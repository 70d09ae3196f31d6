// tests/unit/stopped_quietly_test.cpp -- the waits that a stop request ends without a throw, each as a loser.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>
#include <unistd.h>

#include <chrono>
#include <coracle/compose/as_outcome.hpp>
#include <coracle/compose/fmap.hpp>
#include <coracle/compose/single_flight.hpp>
#include <coracle/compose/via.hpp>
#include <coracle/compose/when_any.hpp>
#include <coracle/core/shared_task.hpp>
#include <coracle/core/sync_wait.hpp>
#include <coracle/core/task.hpp>
#include <coracle/core/with_environment.hpp>
#include <coracle/core/yield.hpp>
#include <coracle/exec/blocking.hpp>
#include <coracle/exec/round_robin_scheduler.hpp>
#include <coracle/exec/run_loop.hpp>
#include <coracle/exec/static_thread_pool.hpp>
#include <coracle/exec/strand.hpp>
#include <coracle/io/io_result.hpp>
#include <coracle/io/io_service.hpp>
#include <coracle/io/stream_descriptor.hpp>
#include <coracle/sync/async_manual_reset_event.hpp>
#include <coracle/sync/async_mutex.hpp>
#include <coracle/sync/async_semaphore.hpp>
#include <coracle/sync/async_shared_mutex.hpp>
#include <coracle/testing/lifetime_probe.hpp>
#include <coracle/testing/manual_scheduler.hpp>
#include <coracle/testing/poll.hpp>
#include <coracle/time/rate_limiter.hpp>
#include <coracle/time/retry.hpp>
#include <coracle/time/timeout.hpp>
#include <semaphore>
#include <stdexcept>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include "../support/counted_throws.hpp"
#include "connected_sockets.hpp"

namespace {
using coracle::async_manual_reset_event;
using coracle::io_service;
using coracle::operation_cancelled;
using coracle::stop_source;
using coracle::sync_wait;
using coracle::task;
using coracle::when_any;
using coracle::net::socket;
using coracle::testing::lifetime_probe;
using coracle::testing::lifetimes;
using coracle::testing::manual_scheduler;
using coracle_test::counts_throws;
using coracle_test::throws_of;
using coracle_test::connected_sockets::any_port;
using coracle_test::connected_sockets::connected;
using coracle_test::connected_sockets::listening;
using coracle_test::connected_sockets::pair;
using coracle_test::connected_sockets::send_all;

task<int> give() { co_return 1; }

/// Awaits the result of `make()` with a local and a handler on the way, as a user's task does.
template <class Make>
task<> around(lifetimes& log, bool& handled, Make make) {
  const lifetime_probe local(log, 1);
  try {
    co_await make();
  } catch (...) {
    handled = true;
    throw;
  }
}
/// Returns how many exceptions it takes to end a task that awaits `make()` and loses a race to `winner()`.
template <class Make, class Winner>
task<> lose(Make make, Winner winner, lifetimes& log, bool& handled) {
  const auto first = co_await when_any(around(log, handled, std::move(make)), winner());
  CHECK(first.index() == 1);
}
template <class Make, class Winner = task<int> (*)()>
int throws_of_loser(Make make, Winner winner = &give) {
  lifetimes log;
  bool handled = false;
  const int thrown = throws_of([&] { sync_wait(lose(std::move(make), std::move(winner), log, handled)); });
  CHECK(log.destroyed == std::vector{1});
  CHECK(handled == (thrown != 0));
  return thrown;
}

TEST_CASE("stopped quietly: what throws is counted" * doctest::skip(!counts_throws)) {
  const auto one = [] {
    try {
      throw 1;
    } catch (...) {
    }
  };
  CHECK(throws_of(one) == 1);
  CHECK(throws_of([] {}) == 0);
}

TEST_CASE("stopped quietly: shared_task, one that runs and one that the loser has started" *
          doctest::skip(!counts_throws)) {
  async_manual_reset_event event;
  const auto body = [&]() -> coracle::shared_task<int> {
    co_await event;
    co_return 3;
  };
  coracle::shared_task<int> shared = body();
  CHECK(throws_of_loser([&] { return shared; }) == 0);
  CHECK(throws_of_loser([&] { return shared; }) == 0);
  CHECK(throws_of_loser([&] { return shared.when_ready(); }) == 0);
  CHECK_FALSE(shared.is_ready());
  event.set();
  CHECK(sync_wait(shared) == 3);
  // Stopped before it waits, also where it need not wait.
  coracle::shared_task<int> late = body();
  const auto stops_first = [&](auto awaited) -> task<> {
    coracle::stop_source source;
    source.request_stop(coracle::stop_reason::lost_race);
    co_await coracle::with_stop(coracle::as_outcome(std::move(awaited)), source.get_token());
  };
  const auto awaits = [&](coracle::shared_task<int> from) -> task<> { co_await from; };
  CHECK(throws_of([&] { sync_wait(stops_first(awaits(shared))); }) == 0);
  CHECK(throws_of([&] { sync_wait(stops_first(awaits(late))); }) == 0);
}

TEST_CASE("stopped quietly: a function in place of a task, and what fmap() awaits" *
          doctest::skip(!counts_throws)) {
  using coracle::as_outcome;
  async_manual_reset_event never;
  const auto wait = [&]() -> task<int> {
    co_await never;
    co_return 2;
  };
  const auto is_stopped = [](auto end) { CHECK(end.reason() == coracle::stop_reason::timed_out); };
  const auto at_once = std::chrono::seconds{0};
  CHECK(throws_of([&] { CHECK(sync_wait(when_any(wait, give)).index() == 1); }) == 0);
  CHECK(throws_of([&] {
          is_stopped(sync_wait(as_outcome(coracle::stop_after(when_any(wait, wait), at_once))));
        }) == 0);
  const auto next = [](int value) { return value + 1; };
  CHECK(throws_of([&] { CHECK(sync_wait(when_any(coracle::fmap(wait(), next), give())).index() == 1); }) ==
        0);
  CHECK(throws_of([&] { CHECK(sync_wait(when_any(coracle::fmap(never, give), give())).index() == 1); }) == 0);
  // One that fails, and one that has a result, do so as before.
  const auto fail = []() -> task<int> {
    throw std::runtime_error("broken");
    co_return 3;
  };
  CHECK_THROWS_AS(sync_wait(when_any(wait, fail)), std::runtime_error);
  CHECK_THROWS_AS(sync_wait(when_any(wait, coracle::fmap(fail(), next))), std::runtime_error);
  CHECK(std::get<1>(sync_wait(when_any(wait, coracle::fmap(give(), next)))) == 2);
}

TEST_CASE("stopped quietly: what waits for a rate_limiter" * doctest::skip(!counts_throws)) {
  using coracle::as_outcome;
  coracle::rate_limiter limiter{1, std::chrono::hours{1}};
  REQUIRE(limiter.try_acquire());
  CHECK(throws_of_loser([&] { return limiter.acquire(); }) == 0);
  CHECK(throws_of([&] { CHECK(sync_wait(when_any(limiter.acquire(), give())).index() == 1); }) == 0);
  const auto stopped_first = [&]() -> task<> {
    coracle::stop_source source;
    source.request_stop();
    const auto end = co_await coracle::with_stop(as_outcome(limiter.acquire()), source.get_token());
    CHECK(end.reason() == coracle::stop_reason::requested);
  };
  CHECK(throws_of([&] { sync_wait(stopped_first()); }) == 0);
}

TEST_CASE("stopped quietly: a blocking call that waits for a thread" * doctest::skip(!counts_throws)) {
  coracle::blocking_pool pool{1};
  std::binary_semaphore begun{0}, go_on{0};
  const auto keep_busy = [&] {
    begun.release();
    go_on.acquire();
  };
  std::thread busy{[&] { sync_wait(coracle::blocking(pool, keep_busy)); }};
  begun.acquire();
  bool called = false;
  const auto call = [&] { called = true; };
  CHECK(throws_of_loser([&] { return coracle::blocking(pool, call); }) == 0);
  go_on.release();
  busy.join();
  CHECK_FALSE(called);
}

TEST_CASE("stopped quietly: single_flight, its last caller and one of several" *
          doctest::skip(!counts_throws)) {
  coracle::single_flight<int, int> flights;
  async_manual_reset_event event;
  lifetimes log;
  bool handled = false, landed = false;
  const auto work = [&]() -> task<int> {
    co_await around(log, handled, [&]() -> const async_manual_reset_event& { return event; });
    landed = true;
    co_return 3;
  };
  const auto call = [&] { return flights.run(1, work); };
  CHECK(throws_of_loser(call) == 0);
  CHECK(log.destroyed == std::vector{1});  // the work has been stopped as its caller was
  CHECK_FALSE(handled);
  CHECK(throws_of_loser([&] { return when_any(call(), call()); }) == 0);
  CHECK_FALSE(landed);
  CHECK_FALSE(handled);
}

/// As throws_of_loser(), on an io_service; the winner takes a turn of it first.
template <class Make>
int throws_of_loser_on(io_service& io, Make make) {
  lifetimes log;
  bool handled = false;
  const auto winner = [&]() -> task<int> {
    co_await io.schedule();
    co_return 1;
  };
  const int thrown = throws_of([&] { io.run(lose(make, winner, log, handled)); });
  const int at_once = throws_of([&] { io.run(lose(make, &give, log, handled)); });
  CHECK(log.destroyed == std::vector{1, 1});
  CHECK(handled == (thrown + at_once != 0));
  return thrown + at_once;
}

TEST_CASE("stopped quietly: a timer of an io_service" * doctest::skip(!counts_throws)) {
  using namespace std::chrono_literals;
  io_service io;
  CHECK(throws_of_loser_on(io, [&] { return io.schedule_after(1h); }) == 0);
  CHECK(throws_of_loser_on(io, [&] { return coracle::timeout(io.schedule_after(1h), 2h); }) == 0);
  // On its own executor: delivered there.
  const auto never_before = [&](auto work) -> task<> {
    stop_source source;
    source.request_stop(coracle::stop_reason::lost_race);
    co_await coracle::with_stop(coracle::as_outcome(std::move(work)), source.get_token());
  };
  const auto waits = [&]() -> task<> { co_await io.schedule_after(1h); };
  CHECK(throws_of([&] { sync_wait(never_before(waits())); }) == 0);
  CHECK(throws_of([&] { io.run(never_before(waits())); }) == 0);
}

TEST_CASE("stopped quietly: an attempt of retry(), and the delay after one" * doctest::skip(!counts_throws)) {
  using namespace std::chrono_literals;
  io_service io;
  async_manual_reset_event never;
  const auto waits = [&]() -> task<int> {
    co_await never;
    co_return 1;
  };
  const auto later = [&] { return io.schedule_after(1h); };
  const auto fails = []() -> task<> {
    throw 1;
    co_return;
  };
  CHECK(throws_of_loser_on(io, [&] { return coracle::retry({}, waits); }) == 0);
  CHECK(throws_of_loser_on(io, [&] { return coracle::retry({}, later); }) == 0);
  const auto stops_delay = [&]() -> task<> {
    const coracle::retry_policy patient{.first_delay = 1h, .max_delay = 1h};
    const auto first = co_await when_any(coracle::retry(patient, fails), give());
    CHECK(first.index() == 1);
  };
  CHECK(throws_of([&] { io.run(stops_delay()); }) == 1);  // the attempt's
}

TEST_CASE("stopped quietly: what waits for a socket or a pipe" * doctest::skip(!counts_throws)) {
  io_service io;
  pair ends = connected(io);
  socket listener = listening(io), udp = socket::create_udpv4(io);
  udp.bind(any_port);
  char byte = 0;
  int pipes[2];
  REQUIRE(::pipe(pipes) == 0);
  coracle::stream_descriptor pipe(io, pipes[0]);
  const coracle::owned_descriptor other(pipes[1]);
  CHECK(throws_of_loser_on(io, [&] { return ends.server.recv(&byte, 1); }) == 0);
  CHECK(throws_of_loser_on(io, [&] { return ends.server.recv_exactly(&byte, 1); }) == 0);
  CHECK(throws_of_loser_on(io, [&] { return listener.accept(); }) == 0);
  CHECK(throws_of_loser_on(io, [&] { return udp.recv_from(&byte, 1); }) == 0);
  CHECK(throws_of_loser_on(io, [&] { return pipe.wait_readable(); }) == 0);
  CHECK(throws_of_loser_on(io, [&] { return pipe.read_some(&byte, 1); }) == 0);
  // The descriptors are as good as before.
  io.run([&]() -> task<> {
    co_await send_all(ends.client, "x");
    CHECK(co_await ends.server.recv(&byte, 1) == 1);
  }());
}

TEST_CASE("stopped quietly: I/O with a token of its own throws, and as_io_result() continues" *
          doctest::skip(!counts_throws)) {
  io_service io;
  pair ends = connected(io);
  char byte = 0;
  stop_source source;
  bool handled = false;
  const auto with_token = [&]() -> task<> {
    try {
      co_await ends.server.recv(&byte, 1, source.get_token());
    } catch (const operation_cancelled&) {
      handled = true;
    }
  };
  const auto stops = [&]() -> task<> {
    co_await io.schedule();
    source.request_stop();
  };
  const auto both = [&]() -> task<> { co_await coracle::when_all(with_token(), stops()); };
  CHECK(throws_of([&] { static_cast<void>(io.run(coracle::as_outcome(both()))); }) == 1);
  CHECK(handled);

  std::error_code seen;
  const auto looks = [&]() -> task<> {
    const auto received = co_await coracle::as_io_result(ends.server.recv(&byte, 1));
    if (!received) seen = received.error();
  };
  const auto race = [&]() -> task<> { co_await when_any(looks(), give()); };
  CHECK(throws_of([&] { io.run(race()); }) == 0);
  CHECK(seen == std::errc::operation_canceled);
}

TEST_CASE("stopped quietly: a task that would go to an executor once stop is requested" *
          doctest::skip(!counts_throws)) {
  coracle::static_thread_pool pool{1};
  manual_scheduler manual;
  coracle::round_robin_scheduler<2> ring;
  const auto stop_before = [&](auto hop) {
    lifetimes log;
    bool handled = false;
    stop_source source;
    source.request_stop();
    const auto races = [&]() -> task<> {
      const coracle::scheduler_ref here = coracle::current_scheduler();
      const auto makes = [&] { return hop(here); };
      auto work = coracle::as_outcome(around(log, handled, makes));
      const auto end = co_await coracle::with_stop(std::move(work), source.get_token());
      CHECK(end.reason() == coracle::stop_reason::requested);
    };
    int thrown = throws_of([&] { sync_wait(races()); });
    thrown += throws_of([&] { sync_wait(coracle::schedule_on(races(), pool)); });
    CHECK(log.destroyed == std::vector{1, 1});
    CHECK(handled == (thrown != 0));
    return thrown;
  };
  using coracle::scheduler_ref;
  CHECK(stop_before([&](scheduler_ref) { return pool.schedule(); }) == 0);
  CHECK(stop_before([&](scheduler_ref) { return manual.schedule(); }) == 0);
  CHECK(stop_before([&](scheduler_ref here) { return here.schedule(); }) == 0);
  CHECK(stop_before([&](scheduler_ref) { return ring.schedule(); }) == 0);
  CHECK(stop_before([&](scheduler_ref) { return coracle::this_task::yield(); }) == 0);
  CHECK(stop_before([&](scheduler_ref) { return coracle::schedule_on(give(), pool); }) == 0);
}

/// Returns how many exceptions it takes to end a task that awaits `hop()` while it is queued on one of the
/// two, where `set_out()` may have put it.
template <class Hop, class SetOut>
int throws_on_the_way(manual_scheduler& place, coracle::run_loop& loop, Hop hop, SetOut set_out) {
  lifetimes log;
  bool handled = false;
  stop_source source;
  const auto hops = [&]() -> task<> {
    auto work = coracle::as_outcome(around(log, handled, hop));
    const auto end = co_await coracle::with_stop(std::move(work), source.get_token());
    CHECK(end.reason() == coracle::stop_reason::shutting_down);
  };
  const int thrown = throws_of([&] {
    auto waits = coracle::testing::poll(place, hops());
    set_out();
    source.request_stop(coracle::stop_reason::shutting_down);
    CHECK_FALSE(waits.ready());
    CHECK(log.destroyed.empty());
    while (waits.step() || loop.run_one()) {
    }
    CHECK(waits.ready());
  });
  CHECK(log.destroyed == std::vector{1});
  CHECK(handled == (thrown != 0));
  return thrown;
}

TEST_CASE("stopped quietly: a task that is in the queue of an executor" * doctest::skip(!counts_throws)) {
  manual_scheduler place;
  coracle::run_loop loop;
  coracle::strand strand{place};
  const auto throws = [&](auto hop) { return throws_on_the_way(place, loop, hop, [] {}); };
  CHECK(throws([&] { return place.schedule(); }) == 0);
  CHECK(throws([&] { return loop.schedule(); }) == 0);
  CHECK(throws([&] { return coracle::scheduler_ref(&loop).schedule(); }) == 0);
  CHECK(throws([&] { return strand.schedule(); }) == 0);
  CHECK(throws([&] { return coracle::this_task::yield(); }) == 0);
  CHECK(throws([&] { return coracle::schedule_on(give(), loop); }) == 0);
  CHECK(throws([&] { return coracle::throwing(coracle::schedule_on(give(), loop)); }) == 1);
}

/// A waiter on an executor is woken when a lock becomes free, and takes it once it runs there.
TEST_CASE("stopped quietly: a task that is on its way to a lock" * doctest::skip(!counts_throws)) {
  manual_scheduler place;
  coracle::run_loop loop;
  coracle::async_mutex mutex;
  coracle::async_semaphore permits{1};
  coracle::async_shared_mutex shared;
  const auto throws = [&](auto wait, auto unlock) { return throws_on_the_way(place, loop, wait, unlock); };
  const auto lock = [&] { return mutex.lock_async(); };
  REQUIRE(mutex.try_lock());
  CHECK(throws(lock, [&] { mutex.unlock(); }) == 0);
  REQUIRE(mutex.try_lock());
  const auto locks = [&]() -> task<> { co_await mutex.lock_async(); };
  CHECK(throws([&] { return coracle::throwing(locks()); }, [&] { mutex.unlock(); }) == 1);
  REQUIRE(permits.try_acquire());
  CHECK(throws([&] { return permits.acquire(); }, [&] { permits.release(); }) == 0);
  CHECK(permits.try_acquire());
  REQUIRE(shared.try_lock());
  CHECK(throws([&] { return shared.lock_shared_async(); }, [&] { shared.unlock(); }) == 0);
  CHECK(shared.try_lock());
  shared.unlock();
}
}  // namespace
