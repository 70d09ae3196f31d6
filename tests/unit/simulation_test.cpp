// tests/unit/simulation_test.cpp -- the run of one seed: order, clock, trace, and reports of deadlocks.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <algorithm>
#include <coracle/compose/when_all.hpp>
#include <coracle/compose/when_any.hpp>
#include <coracle/core/operation_cancelled.hpp>
#include <coracle/core/task.hpp>
#include <coracle/core/with_environment.hpp>
#include <coracle/core/yield.hpp>
#include <coracle/exec/blocking.hpp>
#include <coracle/exec/strand.hpp>
#include <coracle/sync/async_manual_reset_event.hpp>
#include <coracle/sync/async_mutex.hpp>
#include <coracle/testing/allocations.hpp>
#include <coracle/testing/simulation/simulated_loop.hpp>
#include <coracle/testing/simulation/simulation.hpp>
#include <coracle/time/sleep.hpp>
#include <coracle/time/timeout.hpp>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "../support/abort_message.hpp"
#include "../support/detached.hpp"

namespace {
using namespace std::chrono_literals;
using coracle::sleep_for;
using coracle::task;
using coracle::testing::simulated_loop;
using coracle::testing::simulation;
using coracle::testing::simulation_failure;
using coracle::testing::virtual_clock;
using coracle_test::detached;

/// The order of the turns of three coroutines.
std::string order_of_three(std::uint64_t seed) {
  simulation sim{seed};
  std::string log;
  const auto work = [&](char name) -> task<> {
    co_await sim.schedule();
    log += name;
  };
  sim.run(coracle::when_all(work('a'), work('b'), work('c')));
  return log;
}

TEST_CASE("simulation: run() gives the result of what it awaits, or throws its exception") {
  simulation sim{1};
  const auto value = []() -> task<std::unique_ptr<int>> {
    co_await sleep_for(1s);
    co_return std::make_unique<int>(7);
  };
  const auto fails = []() -> task<> {
    co_await sleep_for(1s);
    throw std::runtime_error("late");
  };
  CHECK(*sim.run(value()) == 7);
  CHECK_THROWS_WITH_AS(sim.run(fails()), "late", std::runtime_error);
  CHECK(sim.now() == virtual_clock::start + 2s);
}

TEST_CASE("simulation: the seeds give every order of three coroutines") {
  std::set<std::string> orders;
  for (std::uint64_t seed = 0; seed != 200; ++seed) orders.insert(order_of_three(seed));
  CHECK(orders == std::set<std::string>{"abc", "acb", "bac", "bca", "cab", "cba"});
}

TEST_CASE("simulation: the same seed gives the same trace, another one another") {
  const auto run = [](std::uint64_t seed) {
    simulation sim{seed};
    coracle::async_mutex mutex;
    const auto work = [&](int name) -> task<> {
      for (int i = 0; i != 10; ++i) {
        const auto lock = co_await mutex.scoped_lock_async();
        co_await sleep_for(sim.random().between(1us, 100us));
        sim.note("worker " + std::to_string(name));
      }
    };
    sim.run(coracle::when_all(work(1), work(2), work(3)));
    return std::pair{sim.trace().hash(), sim.trace().tail()};
  };
  std::set<std::uint64_t> hashes;
  for (std::uint64_t seed = 0; seed != 50; ++seed) {
    const auto first = run(seed);
    CHECK(first == run(seed));
    hashes.insert(first.first);
  }
  CHECK(hashes.size() == 50);
}

TEST_CASE("simulation: a strand and a simulated_loop keep their order, and others run in between") {
  bool others_ran_between = false;
  for (std::uint64_t seed = 0; seed != 100; ++seed) {
    simulation sim{seed};
    simulated_loop loop{sim};
    coracle::strand strand{sim};
    std::string log, looped, stranded;
    const auto work = [&](auto& place, std::string& its_log, char name) -> detached {
      co_await place.schedule();
      its_log += name;
      log += name;
    };
    const auto all = [&]() -> task<> {
      for (const char each : {'a', 'b', 'c'}) {
        work(loop, looped, each);
        work(strand, stranded, static_cast<char>(each - 'a' + 'x'));
      }
      co_await sleep_for(1ms);
    };
    sim.run(all());
    CHECK(looped == "abc");
    CHECK(stranded == "xyz");
    others_ran_between |= log != "abcxyz" && log != "xyzabc";
  }
  CHECK(others_ran_between);
}

TEST_CASE("simulation: a coroutine on a simulated_loop stays there, and may destroy it at its end") {
  simulation sim{1};
  const auto work = [&]() -> task<bool> {
    auto loop = std::make_unique<simulated_loop>(sim);
    co_await loop->schedule();
    bool stayed = coracle::current_executor() == loop.get();
    co_await sleep_for(1ms);
    stayed = stayed && coracle::current_executor() == loop.get();
    loop.reset();
    co_await sim.schedule();
    co_return stayed&& coracle::current_executor() == &sim;
  };
  CHECK(sim.run(work()));
}

TEST_CASE("simulation: the clock stands still while anything can run") {
  for (std::uint64_t seed = 0; seed != 50; ++seed) {
    simulation sim{seed};
    virtual_clock::time_point busy_until;
    const auto busy = [&]() -> task<> {
      for (int i = 0; i != 100; ++i) co_await sim.schedule();
      busy_until = sim.now();
    };
    sim.run(coracle::when_all(busy(), sleep_for(1s), sleep_for(2s)));
    CHECK(busy_until == virtual_clock::start);
    CHECK(sim.now() == virtual_clock::start + 2s);
  }
}

TEST_CASE("simulation: between two timers of the same moment others may run, or not") {
  bool ran_between = false, ran_after = false;
  for (std::uint64_t seed = 0; seed != 50; ++seed) {
    simulation sim{seed};
    bool second_has_fired = false;
    const auto work = [&]() -> task<> {
      co_await sleep_for(1ms);
      (second_has_fired ? ran_after : ran_between) = true;
    };
    const auto moment = sim.now() + 1ms;
    const auto set_second = [&]() -> task<> {
      sim.at(moment, [&] { second_has_fired = true; });
      co_return;
    };
    sim.run(coracle::when_all(work(), set_second(), sleep_for(2ms)));
  }
  CHECK(ran_between);
  CHECK(ran_after);
}

TEST_CASE("simulation: with stalls the clock also moves before what can run has run") {
  bool moved = false;
  for (std::uint64_t seed = 0; seed != 50; ++seed) {
    simulation sim{seed, {.stalls = true}};
    const auto busy = [&]() -> task<> {
      for (int i = 0; i != 10; ++i) co_await sim.schedule();
      moved |= sim.now() != virtual_clock::start;
    };
    sim.run(coracle::when_all(busy(), sleep_for(1s)));
  }
  CHECK(moved);
}

TEST_CASE("simulation: a step stalls for no longer than a second, however far the next timer is") {
  constexpr int steps = 10;
  std::set<coracle::timer_service::time_point::duration> lengths;
  for (std::uint64_t seed = 0; seed != 50; ++seed) {
    simulation sim{seed, {.stalls = true}};
    const auto busy = [&]() -> task<> {
      for (int i = 0; i != steps; ++i) {
        const auto before = sim.now();
        co_await sim.schedule();
        lengths.insert(sim.now() - before);
      }
    };
    sim.run(coracle::when_any(busy(), sleep_for(1h)));
  }
  CHECK(*lengths.rbegin() == 1s);
}

TEST_CASE("simulation: at() calls at its moment, unless the simulation ends before") {
  simulation sim{1};
  std::vector<int> log;
  auto shared = std::make_shared<int>(0);
  const auto start = sim.now();
  sim.at(start + 2s, [&] { log.push_back(2); });
  sim.at(start + 1s, [&] {
    log.push_back(1);
    sim.at(start + 1s, [&] { log.push_back(10); });
  });
  sim.at(start + 1h, [&, shared] { log.push_back(99); });
  sim.run(sleep_for(3s));
  CHECK(log == std::vector{1, 10, 2});
  CHECK(shared.use_count() == 2);
}

TEST_CASE("simulation: awaits that need not wait also give way, at some of the seeds") {
  bool gave_way = false;
  for (std::uint64_t seed = 0; seed != 50; ++seed) {
    simulation sim{seed};
    std::string log;
    const auto work = [&](char name) -> task<> {
      coracle::async_mutex mutex;
      co_await sim.schedule();
      for (int i = 0; i != 3; ++i) {
        const auto lock = co_await mutex.scoped_lock_async();
        log += name;
      }
    };
    sim.run(coracle::when_all(work('a'), work('b')));
    gave_way |= log != "aaabbb" && log != "bbbaaa";
  }
  CHECK(gave_way);
}

TEST_CASE(
    "simulation: a wait that nothing can end is reported with the seed, what waits and the trace, and ends") {
  simulation sim{42};
  coracle::async_manual_reset_event never;
  bool was_cancelled = false;
  const auto wait = [&]() -> task<> {
    const coracle::testing::simulated_activity here{sim, "the reader"};
    co_await sleep_for(5ms);
    sim.note("about to wait");
    try {
      co_await never;
    } catch (const coracle::operation_cancelled&) {
      was_cancelled = true;
      throw;
    }
  };
  std::string message;
  try {
    sim.run(wait());
  } catch (const simulation_failure& failure) {
    message = failure.what();
  }
  CHECK(was_cancelled);
  const auto says = [&](const char* part) { return message.find(part) != std::string::npos; };
  CHECK(says("simulation, seed 42: deadlock: nothing is runnable and no timer is armed.\n"));
  CHECK(says("still active: the reader ("));
  CHECK(says("simulation_test.cpp:"));
  CHECK(says("5.000000 ms      about to wait\n"));
  sim.run(sleep_for(1s));
}

TEST_CASE("simulation: a livelock is reported") {
  simulation sim{1, {.most_steps = 1000}};
  const auto spin = [&]() -> task<> {
    for (;;) co_await sim.schedule();
  };
  const auto sleep = [&]() -> task<> {
    for (;;) co_await sleep_for(1s);
  };
  CHECK_THROWS_AS(sim.run(spin()), simulation_failure);
  CHECK_THROWS_AS(sim.run(sleep()), simulation_failure);
}

TEST_CASE("simulation: a deadlock that a stop request cannot end ends the program with the report") {
  const std::string message = coracle_test::abort_message([] {
    simulation sim{7};
    coracle::async_manual_reset_event never;
    sim.run(coracle::shielded(never));
  });
  CHECK(message.find("coracle: simulation, seed 7: deadlock") == 0);
  CHECK(message.find("(It did not end after a stop request.)") != std::string::npos);
}

TEST_CASE("simulation: its end with work left, and use from another thread, end the program and say so") {
  CHECK(coracle_test::abort_message([] {
          simulation sim{1};
          const auto go = [&]() -> detached { co_await sim.schedule(); };
          go();
        }) ==
        "coracle: a simulation was destroyed with coroutines in its queue or timers armed: join its "
        "coroutines first\n");
}

TEST_CASE("simulation: a fault cancels what is run before the k-th step, or makes the k-th operation fail") {
  const auto steps_until_cancelled = [](std::uint64_t k) {
    simulation sim{3, {}, {.cancel = k}};
    int steps = 0;
    const auto work = [&]() -> task<> {
      for (; steps != 5; ++steps) co_await sim.schedule();
    };
    try {
      sim.run(work());
    } catch (const coracle::operation_cancelled&) {
    }
    return steps;
  };
  CHECK(steps_until_cancelled(1) == 0);
  CHECK(steps_until_cancelled(3) == 2);
  CHECK(steps_until_cancelled(0) == 5);
  simulation sim{1, {}, {.operation = 2}};
  CHECK(!sim.fails("read"));
  CHECK(sim.fails("write"));
  CHECK(!sim.fails("read"));
  CHECK(sim.operations() == 3);
  CHECK(sim.trace().tail().find("write") != std::string::npos);
}

TEST_CASE("simulation: steps allocate nothing" * doctest::skip(!coracle::testing::allocations_are_counted)) {
  simulation sim{1};
  const auto work = [&]() -> task<> {
    for (int i = 0; i != 1000; ++i) co_await sim.schedule();
    co_await sleep_for(1ms);
  };
  sim.run(work());
  const auto before = coracle::testing::allocations();
  sim.run(work());
  const auto after = coracle::testing::allocations();
  CHECK(after == before);
}

TEST_CASE("simulation: blocking() calls are made on its thread, at times that the seed determines") {
  const auto order_of_ends = [](std::uint64_t seed) {
    simulation sim{seed};
    simulated_loop loop{sim};
    coracle::strand strand{sim};
    std::string log;
    const auto here = std::this_thread::get_id();
    const auto call = [&](auto& place, char name) -> task<> {
      co_await place.schedule();
      const auto note = [&] {
        CHECK(std::this_thread::get_id() == here);
        CHECK(!coracle::current_executor());
        return name;
      };
      const char noted = co_await coracle::blocking(note);
      log += noted;
    };
    sim.run(coracle::when_all(call(sim, 'a'), call(loop, 'b'), call(strand, 'c')));
    CHECK(sim.now() > virtual_clock::start);
    return log;
  };
  std::set<std::string> orders;
  for (std::uint64_t seed = 0; seed != 50; ++seed) {
    orders.insert(order_of_ends(seed));
    CHECK(order_of_ends(seed) == order_of_ends(seed));
  }
  CHECK(orders.size() > 2);
}

TEST_CASE("simulation: a blocking() call that is stopped before its time is not made") {
  simulation sim{1};
  coracle::stop_source stop;
  bool called = false, cancelled = false;
  const auto call = [&]() -> task<> {
    const auto note = [&] { called = true; };
    try {
      co_await coracle::blocking(note);
    } catch (const coracle::operation_cancelled&) {
      cancelled = true;
    }
  };
  const auto request = [&]() -> task<> {
    stop.request_stop();
    co_return;
  };
  sim.run(coracle::when_all(coracle::with_stop(call(), stop.get_token()), request()));
  CHECK(cancelled);
  CHECK(!called);
  stop = {};
  sim.run(call());
  CHECK(called);
}
}  // namespace
