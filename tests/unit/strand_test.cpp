// tests/unit/strand_test.cpp -- serial execution on top of a concurrent executor.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <coracle/compose/via.hpp>
#include <coracle/compose/when_all.hpp>
#include <coracle/core/operation_cancelled.hpp>
#include <coracle/core/sync_wait.hpp>
#include <coracle/core/task.hpp>
#include <coracle/core/with_environment.hpp>
#include <coracle/core/yield.hpp>
#include <coracle/exec/run_loop.hpp>
#include <coracle/exec/static_thread_pool.hpp>
#include <coracle/exec/strand.hpp>
#include <coracle/sync/async_manual_reset_event.hpp>
#include <coracle/testing/allocations.hpp>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "../support/abort_message.hpp"
#include "../support/detached.hpp"

namespace {
using coracle::current_executor;
using coracle::executor;
using coracle::run_loop;
using coracle::strand;
using coracle::task;
using coracle_test::detached;

detached log_on(strand& place, std::string& log, char name) {
  co_await place.schedule();
  log += name;
}

TEST_CASE("strand: runs on the underlying executor what is posted, first posted, first run") {
  run_loop loop;
  strand place{loop};
  std::string log;
  for (const char name : {'a', 'b', 'c'}) log_on(place, log, name);
  CHECK(log.empty());
  CHECK(loop.run_one());  // one post underneath for all of them
  CHECK(log == "abc");
  CHECK_FALSE(loop.run_one());
  log_on(place, log, 'd');
  CHECK(loop.run_one());
  CHECK(log == "abcd");
}

TEST_CASE("strand: current_executor() is the strand, and afterwards what it was before") {
  run_loop loop;
  strand place{loop};
  const coracle::executor* inside = nullptr;
  const coracle::executor* underneath = nullptr;
  const auto work = [&]() -> detached {
    co_await place.schedule();
    inside = current_executor();
    co_await loop.schedule();
    underneath = current_executor();
  };
  work();
  CHECK(loop.run_one());
  CHECK(inside == &place);
  CHECK(loop.run_one());
  CHECK(underneath == &loop);
}

TEST_CASE("strand: who waits for an event there is woken there") {
  run_loop loop;
  strand place{loop};
  coracle::async_manual_reset_event event;
  const coracle::executor* woken_on = nullptr;
  const auto work = [&]() -> detached {
    co_await place.schedule();
    co_await event;
    woken_on = current_executor();
  };
  work();
  CHECK(loop.run_one());
  event.set();
  CHECK(woken_on == nullptr);
  CHECK(loop.run_one());
  CHECK(woken_on == &place);
}

TEST_CASE("strand: what is posted while it runs comes behind what is queued, and in the same run") {
  run_loop loop;
  strand place{loop};
  std::string log;
  const auto twice = [&](char first, char second) -> detached {
    co_await place.schedule();
    log += first;
    co_await coracle::this_task::yield();
    log += second;
  };
  twice('a', 'A');
  twice('b', 'B');
  CHECK(loop.run_one());
  CHECK(log == "abAB");
  CHECK_FALSE(loop.run_one());
}

TEST_CASE("strand: what is posted from inside comes behind what another thread has posted before") {
  run_loop loop;
  strand place{loop};
  std::string log;
  const auto note = [&](char letter) -> detached {
    co_await place.schedule();
    log += letter;
  };
  const auto first = [&]() -> detached {
    co_await place.schedule();
    note('a');
    std::thread([&] { note('b'); }).join();
    note('c');
    std::thread([&] { note('d'); }).join();
    co_await place.schedule();
    log += 'e';
  };
  first();
  while (loop.run_one()) {
  }
  CHECK(log == "abcde");
}

TEST_CASE("strand: after 64 in a row the underlying executor has its turn; the order is kept") {
  run_loop loop;
  strand place{loop};
  std::vector<int> order;
  const auto work = [&](int number) -> detached {
    co_await place.schedule();
    order.push_back(number);
  };
  for (int i = 0; i != 150; ++i) work(i);
  bool other_ran = false;
  const auto other = [&]() -> detached {
    co_await loop.schedule();
    other_ran = true;
  };
  other();
  CHECK(loop.run_one());
  CHECK(order.size() == 64);
  CHECK(loop.run_one());
  CHECK(other_ran);
  CHECK(loop.run_one());
  CHECK(order.size() == 128);
  CHECK(loop.run_one());
  CHECK_FALSE(loop.run_one());
  REQUIRE(order.size() == 150);
  for (int i = 0; i != 150; ++i) CHECK(order[static_cast<std::size_t>(i)] == i);
}

TEST_CASE("strand: exactly 64 in a row need no second run") {
  run_loop loop;
  strand place{loop};
  std::string log;
  for (int i = 0; i != 64; ++i) log_on(place, log, 'x');
  CHECK(loop.run_one());
  CHECK(log.size() == 64);
  CHECK_FALSE(loop.run_one());
}

TEST_CASE("strand: two strands on one executor know nothing of each other") {
  run_loop loop;
  strand first{loop}, second{loop};
  std::string log;
  log_on(first, log, 'a');
  log_on(second, log, 'b');
  log_on(first, log, 'c');
  CHECK(loop.run_pending() == 2);
  CHECK(log == "acb");
}

TEST_CASE("strand: on a strand, and on a level of a pool") {
  coracle::static_thread_pool pool{2};
  strand below{pool.with_priority(coracle::static_thread_pool::priority::low)};
  strand place{coracle::scheduler_ref{&below}};
  const auto work = [&]() -> task<> {
    co_await place.schedule();
    CHECK(current_executor() == &place);
  };
  coracle::sync_wait(work());
}

TEST_CASE("strand: excludes on a pool, across hops") {
  coracle::static_thread_pool pool{3};
  strand place{pool};
  long long counter = 0;  // no atomic
  const auto work = [&]() -> task<> {
    for (int i = 0; i != 1000; ++i) {
      co_await place.schedule();
      ++counter;
      if (i % 10 == 0) co_await pool.schedule();
    }
  };
  coracle::sync_wait(coracle::when_all(work(), work(), work(), work()));
  CHECK(counter == 4000);
}

TEST_CASE("strand: stop requested before, or on the way there") {
  run_loop loop;
  strand place{loop};
  coracle::stop_source source;
  std::optional<coracle::stop_reason> seen;
  const coracle::executor* where = nullptr;
  const auto go = [&]() -> task<> { co_await place.schedule(); };
  const auto watch = [&]() -> detached {
    seen.reset();
    try {
      co_await coracle::with_stop(go(), source.get_token());
    } catch (const coracle::operation_cancelled& e) {
      seen = e.reason();
    }
    where = current_executor();
  };
  watch();
  source.request_stop(coracle::stop_reason::timed_out);
  CHECK_FALSE(seen);
  CHECK(loop.run_one());
  CHECK(seen == coracle::stop_reason::timed_out);
  CHECK(where == &place);
  watch();
  CHECK(seen == coracle::stop_reason::timed_out);
  CHECK(where == nullptr);
  CHECK_FALSE(loop.run_one());
}

TEST_CASE("strand: one that has left it may destroy it, though the run that resumed it has not ended") {
  run_loop loop, other;
  std::optional<strand> place{std::in_place, loop};
  bool destroyed = false;
  const auto work = [&]() -> detached {
    co_await place->schedule();
    co_await other.schedule();
    place.reset();
    destroyed = true;
  };
  const auto last = [&]() -> detached {  // runs inside the same run, and lets the other one go on
    co_await place->schedule();
    CHECK(other.run_one());
  };
  work();
  last();
  CHECK(loop.run_one());
  CHECK(destroyed);
  CHECK_FALSE(loop.run_one());
}

TEST_CASE("strand: what is on it and destroys it continues on the underlying executor") {
  run_loop loop;
  coracle::async_manual_reset_event event;
  std::vector<const executor*> where;
  const auto work = [&]() -> detached {
    {
      strand place{loop};
      co_await place.schedule();
    }
    where.push_back(current_executor());
    co_await event;
    where.push_back(current_executor());
  };
  work();
  CHECK(loop.run_one());
  REQUIRE(where == std::vector<const executor*>{&loop});
  event.set();
  CHECK(loop.run_one());
  CHECK(where == std::vector<const executor*>{&loop, &loop});
  CHECK(current_executor() == nullptr);
}

TEST_CASE("strand: allocates for itself, and nothing for what runs on it" *
          doctest::skip(!coracle::testing::allocations_are_counted)) {
  run_loop loop;
  std::size_t for_itself = 0, for_work = 1;
  const auto work = [&]() -> task<> {
    std::size_t before = coracle::testing::allocations();
    strand place{loop};
    for_itself = coracle::testing::allocations() - before;
    before = coracle::testing::allocations();
    for (int i = 0; i != 200; ++i) co_await place.schedule();
    for_work = coracle::testing::allocations() - before;
    co_await loop.schedule();
  };
  coracle_test::run_detached(work());
  while (loop.run_one()) {
  }
  CHECK(for_itself == 1);
  CHECK(for_work == 0);
}

TEST_CASE("strand: destroying one with coroutines in its queue ends the program") {
  const std::string message = coracle_test::abort_message([] {
    run_loop loop;
    std::string log;
    strand place{loop};
    log_on(place, log, 'a');
  });
  CHECK(message.find("strand was destroyed with coroutines in its queue") != std::string::npos);
}

TEST_CASE("strand: destroying one on itself with coroutines in its queue ends the program") {
  const std::string message = coracle_test::abort_message([] {
    run_loop loop;
    std::string log;
    std::optional<strand> place{std::in_place, loop};
    const auto work = [&]() -> detached {
      co_await place->schedule();
      log_on(*place, log, 'a');
      place.reset();
    };
    work();
    loop.run_one();
  });
  CHECK(message.find("strand was destroyed with coroutines in its queue") != std::string::npos);
}

TEST_CASE("strand: over no scheduler it ends the program") {
  const std::string message =
      coracle_test::abort_message([] { const strand place{coracle::current_scheduler()}; });
  CHECK(message.find("a strand was constructed over current_scheduler() outside any executor") !=
        std::string::npos);
}
}  // namespace
