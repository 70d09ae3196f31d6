// tests/unit/simulate_test.cpp -- many seeds, every fault: what simulate() finds, and what it reports.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>
#include <unistd.h>

#include <coracle/compose/when_all.hpp>
#include <coracle/core/task.hpp>
#include <coracle/sync/async_mutex.hpp>
#include <coracle/sync/async_semaphore.hpp>
#include <coracle/testing/allocations.hpp>
#include <coracle/testing/simulation/simulate.hpp>
#include <coracle/time/sleep.hpp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <stdexcept>
#include <string>
#include <vector>

#include "../support/abort_message.hpp"

namespace {
using namespace std::chrono_literals;
using coracle::sleep_for;
using coracle::task;
using coracle::testing::for_every_fault;
using coracle::testing::simulate;
using coracle::testing::simulation;
using coracle::testing::simulation_failure;

template <class F>
std::string failure_of(F f) {
  try {
    f();
  } catch (const simulation_failure& failure) {
    return failure.what();
  }
  return "none";
}
bool has(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

TEST_CASE("simulate: runs each seed once, with a simulation of its own") {
  std::vector<std::uint64_t> seeds;
  const auto total = simulate({.count = 3, .first = 10}, [&](simulation& sim) {
    seeds.push_back(sim.seed());
    sim.run(sleep_for(1s));
  });
  CHECK(seeds == std::vector<std::uint64_t>{10, 11, 12});
  CHECK(total.steps == 6);
}

TEST_CASE("simulate: finds an unprotected read, wait, write, and says with which seed") {
  const auto lost_update = [](simulation& sim) {
    int sum = 0;
    const auto add = [&]() -> task<> {
      co_await sim.schedule();
      const int seen = sum;
      co_await sim.schedule();
      sum = seen + 1;
    };
    sim.run(coracle::when_all(add(), add()));
    sim.expect(sum == 2, "both were added");
  };
  const std::string report = failure_of([&] { simulate({.count = 100}, lost_update); });
  CHECK(has(report, "expectation failed: both were added ("));
  CHECK(has(report, "simulate_test.cpp:"));
  CHECK(has(report, "goes on after step"));
  const auto at = report.find("CORACLE_SEED=");
  REQUIRE(at != std::string::npos);
  const std::uint64_t seed = std::strtoull(report.c_str() + at + 13, nullptr, 10);
  CHECK(failure_of([&] { simulate({.count = 1, .first = seed}, lost_update); }) == report);
}

TEST_CASE("simulate: an exception, and a wait without end, are failures of their seed") {
  const auto thrown = failure_of(
      [] { simulate({.count = 1, .first = 5}, [](simulation&) { throw std::runtime_error("no"); }); });
  CHECK(has(thrown, "simulation, seed 5: an exception left the scenario: no.\n"));
  const auto hanging = failure_of([] {
    simulate({.count = 1, .first = 6}, [](simulation& sim) {
      coracle::async_mutex mutex;
      const auto twice = [&]() -> task<> {
        const auto once = co_await mutex.scoped_lock_async();
        const auto again = co_await mutex.scoped_lock_async();
      };
      sim.run(twice());
    });
  });
  CHECK(has(hanging, "simulation, seed 6: deadlock"));
}

TEST_CASE("simulate: an exception that leaves a function given to at() is a failure of its seed") {
  const auto throws = [](auto thrown) {
    return failure_of([=] {
      simulate({.count = 1, .first = 7}, [=](simulation& sim) {
        sim.at(sim.now() + 1s, [=] { throw thrown; });
        sim.at(sim.now() + 2s, [] { throw std::runtime_error("a later one"); });
        sim.run(sleep_for(3s));
      });
    });
  };
  const std::string said = throws(std::runtime_error("no host"));
  CAPTURE(said);
  CHECK(has(said, "seed 7: an exception left a function given to at(): no host.\n"));
  CHECK(has(said, "given to at(): a later one\n"));  // in the trace
  CHECK(has(throws(1), "seed 7: an exception left a function given to at().\n"));
}

TEST_CASE("simulate: what ends the program says which seed it was") {
  const std::string message = coracle_test::abort_message([] {
    simulate({.count = 10}, [](simulation& sim) {
      if (sim.seed() == 4) std::abort();
    });
  });
  CHECK(message == "in a simulation with seed 4\n");
}

TEST_CASE("simulate: a handler of the program is called after that, and is left as it was") {
  const std::string message = coracle_test::abort_message([] {
    struct sigaction own{}, now{};
    own.sa_sigaction = [](int, siginfo_t* info, void*) {
      std::fputs(info->si_pid == ::getpid() ? "handled\n" : "no information\n", stderr);
    };
    own.sa_flags = SA_SIGINFO | static_cast<int>(SA_RESETHAND);
    ::sigaction(SIGABRT, &own, nullptr);
    simulate({.count = 1}, [](simulation&) { simulate({.count = 1}, [](simulation&) {}); });
    ::sigaction(SIGABRT, nullptr, &now);
    const bool is_left = now.sa_sigaction == own.sa_sigaction && (now.sa_flags & SA_SIGINFO) &&
                         (now.sa_flags & static_cast<int>(SA_RESETHAND));
    std::fputs(is_left ? "as before\n" : "changed\n", stderr);
    simulate({.count = 1, .first = 7}, [](simulation&) { std::abort(); });
  });
  CHECK(message == "as before\nin a simulation with seed 7\nhandled\n");
}

TEST_CASE("simulate: CORACLE_SEED runs that seed only, and prints its whole trace") {
  const std::string message = coracle_test::abort_message([] {
    ::setenv("CORACLE_SEED", "77", 1);
    int runs = 0;
    simulate({.count = 10}, [&](simulation& sim) {
      ++runs;
      sim.note(sim.seed() == 77 ? "this is it" : "another");
    });
    if (runs == 1) std::abort();
  });
  CHECK(has(message, "simulation, seed 77: was run alone because CORACLE_SEED is set.\n"));
  CHECK(has(message, "this is it\n"));
  const std::string ignored = coracle_test::abort_message([] {
    ::setenv("CORACLE_SEED", "0x4d", 1);
    if (simulate({.count = 10}, [](simulation&) {}).seeds == 10) std::abort();
  });
  CHECK(ignored.empty());
}

TEST_CASE(
    "simulate_main: names the case that fails and how to run it again; a name that is not there fails") {
  const std::string message = coracle_test::abort_message([] {
    char program[] = "program", count[] = "5", first[] = "3", name[] = "fails";
    char* arguments[] = {program, count, first, name};
    const auto passes = [](simulation&) { std::abort(); };
    const auto fails = [](simulation& sim) { sim.expect(sim.seed() != 4, "it is not the fourth"); };
    const int result = coracle::testing::simulate_main(4, arguments, {{"passes", passes}, {"fails", fails}});
    if (result == EXIT_FAILURE) std::abort();
  });
  CHECK(has(message, "FAILED: fails\nsimulation, seed 4: expectation failed: it is not the fourth ("));
  CHECK(has(message, "to run it again: CORACLE_SEED=4 in the environment\nof: program 1 1 'fails'\n"));
  const std::string unknown = coracle_test::abort_message([] {
    char program[] = "program", count[] = "5", first[] = "1", name[] = "another";
    char* arguments[] = {program, count, first, name};
    const int result = coracle::testing::simulate_main(4, arguments, {{"one", [](simulation&) {}}});
    if (result == EXIT_FAILURE) std::abort();
  });
  CHECK(unknown == "no case of that name\n");
}

TEST_CASE("simulate_main: arguments that are no numbers of seeds are refused") {
  const std::string message = coracle_test::abort_message([] {
    char program[] = "program", no_number[] = "--help", none[] = "0";
    for (char* each : {no_number, none}) {
      char* arguments[] = {program, each};
      const int result = coracle::testing::simulate_main(2, arguments, {{"one", [](simulation&) {}}});
      if (result != EXIT_FAILURE) std::fputs("accepted\n", stderr);
    }
    std::abort();
  });
  const std::string usage = "usage: program [SEEDS [FIRST [NAME]]], with at least one seed\n";
  CHECK(message == usage + usage);
}

/// Two uploads in parts, each retried once.
void upload(simulation& sim) {
  int stored = 0;
  const auto send = [&]() -> task<bool> {
    co_await sleep_for(1ms);
    if (sim.fails("send")) co_return false;
    ++stored;
    co_return true;
  };
  const auto one = [&]() -> task<> {
    const bool sent = co_await send();
    if (!sent) {
      const bool again = co_await send();
      if (!again) throw std::runtime_error("twice");
    }
  };
  sim.run(coracle::when_all(one(), one()));
  sim.expect(stored == 2, "both are stored");
}

TEST_CASE("for_every_fault: runs each cancellation, each operation and each allocation" *
          doctest::skip(!coracle::testing::allocations_are_counted)) {
  const auto counts = for_every_fault(1, upload);
  CHECK(counts.operations == 2);
  CHECK(counts.cancellations >= 4);
  CHECK(counts.allocations >= 2);
}

TEST_CASE("for_every_fault: finds memory that a fault leaves behind" *
          doctest::skip(!coracle::testing::allocations_are_counted)) {
  static std::vector<int*> kept;
  const auto leaks_when_cancelled = [](simulation& sim) {
    const auto work = []() -> task<> {
      int* const buffer = new int(1);
      kept.push_back(buffer);
      co_await sleep_for(1ms);
      kept.pop_back();
      delete buffer;
    };
    sim.run(work());
  };
  kept.reserve(10);
  const std::string report = failure_of([&] { for_every_fault(1, leaks_when_cancelled); });
  CHECK(has(report, "a stop is requested before step 1: simulation, seed 1: memory is left behind"));
  for (int* const each : kept) delete each;
  kept = {};
}

TEST_CASE("for_every_fault: finds an error that is swallowed, a wrong one, and a hang" *
          doctest::skip(!coracle::testing::allocations_are_counted)) {
  const auto swallows = [](simulation& sim) {
    bool sent = false;
    const auto work = [&]() -> task<> {
      co_await sleep_for(1ms);
      sent = !sim.fails("send");
    };
    sim.run(work());
    sim.expect(sent, "it was sent, or an error was thrown");
  };
  const std::string swallowed = failure_of([&] { for_every_fault(2, swallows); });
  CHECK(has(swallowed, "an operation fails, number 1: simulation, seed 2"));
  CHECK(has(swallowed, "it was sent, or an error was thrown"));

  const auto translates = [](simulation& sim) {
    try {
      sim.run(sleep_for(1ms));
    } catch (const coracle::operation_cancelled&) {
      throw std::runtime_error("broken");
    }
  };
  CHECK(has(failure_of([&] { for_every_fault(2, translates); }), "an exception left the scenario: broken"));

  const auto throws_a_number = [](simulation& sim) {
    if (sim.fails("send")) throw 1;  // NOLINT: any exception may leave it
  };
  CHECK(for_every_fault(2, throws_a_number).operations == 1);

  const auto loses_a_permit = [](simulation& sim) {
    coracle::async_semaphore permits{1};
    const auto work = [&]() -> task<> {
      co_await permits.acquire();
      co_await sleep_for(1ms);
      permits.release();
    };
    try {
      sim.run(work());
    } catch (const coracle::operation_cancelled&) {
    }
    sim.run(work());
  };
  CHECK(has(failure_of([&] { for_every_fault(2, loses_a_permit); }), "deadlock"));
}
}  // namespace
