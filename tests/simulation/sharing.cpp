// tests/simulation/sharing.cpp -- one result for many: single_flight, shared_task, broadcast, watch.
// SPDX-License-Identifier: MIT
#include <coracle/channels/broadcast.hpp>
#include <coracle/channels/watched_value.hpp>
#include <coracle/compose/async_scope.hpp>
#include <coracle/compose/single_flight.hpp>
#include <coracle/compose/when_all.hpp>
#include <coracle/core/shared_task.hpp>
#include <vector>

#include "world.hpp"

namespace {
using namespace std::chrono_literals;
using coracle_test::scenario_error;
using coracle_test::task;
using coracle_test::world;

/// Callers arrive, are cancelled and leave. At any moment at most one execution of a key can be joined; every
/// caller gets the result of an execution that ran while it waited; and no execution outlives its callers.
void single_flight(coracle_test::simulation& sim) {
  world w{sim};
  coracle::single_flight<int, int> flights;
  int begun = 0, running = 0, waiting = 0;
  const auto work = [&]() -> task<int> {
    const int number = ++begun;
    ++running;
    try {
      co_await w.pause();
      co_await coracle::sleep_for(w.a_while());
    } catch (...) {
      --running;
      throw;
    }
    --running;
    if (w.one_in(4)) throw scenario_error(number);
    co_return number;
  };
  const auto caller = [&]() -> task<> {
    for (int i = 0; i != 4; ++i) {
      co_await w.pause();
      const int before = begun;
      ++waiting;
      try {
        const auto call = [&] { return work(); };
        const auto got = co_await w.attempt(flights.run(1, call));
        if (got)
          w.expect(*got >= before && *got <= begun, "the result is of an execution that ran meanwhile");
      } catch (const scenario_error& error) {
        w.expect(error.number >= before && error.number <= begun, "so is the error");
      }
      --waiting;
      if (waiting == 0) w.expect(running == 0, "no work outlives those who wait for it");
    }
  };
  const auto all = [&]() -> task<> {
    std::vector<task<>> callers;
    for (int i = 0; i != 4; ++i) callers.push_back(coracle::schedule_on(caller(), w.place()));
    co_await coracle::when_all(std::move(callers));
  };
  sim.run(all());
}

void shared_task(coracle_test::simulation& sim) {
  world w{sim};
  int begun = 0;
  const bool fails = w.one_in(3);
  const auto work = [&]() -> coracle::shared_task<int> {
    ++begun;
    co_await w.pause();
    co_await coracle::sleep_for(w.a_while());
    if (fails) throw scenario_error(7);
    co_return 7;
  };
  const auto all = [&]() -> task<> {
    const coracle::shared_task<int> shared = work();
    const auto reader = [&]() -> task<> {
      co_await w.pause();
      try {
        const int got = co_await shared;
        w.expect(got == 7 && !fails, "everybody gets the result");
      } catch (const scenario_error&) {
        w.expect(fails, "everybody gets the error");
      }
    };
    std::vector<task<>> readers;
    for (int i = 0; i != 4; ++i) readers.push_back(coracle::schedule_on(reader(), w.place()));
    co_await coracle::when_all(std::move(readers));
  };
  sim.run(all());
  w.expect(begun == 1, "it runs once");
}

/// Every subscriber receives every value in order, or the number of values that it has missed.
void broadcast(coracle_test::simulation& sim) {
  world w{sim};
  coracle::broadcast<int> values{1 + w.below(3)};
  constexpr int count = 8;
  int sent = 0;
  const auto sender = [&]() -> task<> {
    while (sent != count) {
      co_await w.pause();
      values.send(sent++);
    }
    values.close();
  };
  const auto receiver = [&]() -> task<> {
    co_await w.pause();
    int expected = sent;
    auto mine = values.subscribe();
    for (bool open = true; open;) {
      co_await w.pause();
      try {
        const auto got = co_await w.attempt(mine.recv());
        if (!got) continue;
        open = got->has_value();
        if (open) w.expect(**got == expected++, "no value is missed or comes twice");
      } catch (const coracle::lagged& late) {
        w.expect(late.lost() != 0, "who is told that values are lost has lost some");
        expected += static_cast<int>(late.lost());
      }
    }
    w.expect(expected == count, "all values are accounted for");
  };
  const auto all = [&]() -> task<> {
    co_await coracle::when_all(coracle::schedule_on(sender(), w.place()),
                               coracle::schedule_on(receiver(), w.place()),
                               coracle::schedule_on(receiver(), w.place()));
  };
  sim.run(all());
}

/// An observer may skip values, but never goes back, and sees the last one.
void watch(coracle_test::simulation& sim) {
  world w{sim};
  coracle::watched_value<int> level{0};
  constexpr int last = 6;
  const auto writer = [&]() -> task<> {
    for (int i = 1; i <= last; ++i) {
      co_await w.pause();
      level.set(i);
    }
  };
  const auto reader = [&]() -> task<> {
    auto mine = level.observe();
    int seen = *mine.get();
    while (seen != last) {
      const auto changed = co_await w.attempt(mine.changed());
      if (!changed) continue;
      w.expect(**changed > seen, "an observer sees newer values only");
      seen = **changed;
      co_await w.pause();
    }
  };
  const auto all = [&]() -> task<> {
    co_await coracle::when_all(coracle::schedule_on(writer(), w.place()),
                               coracle::schedule_on(reader(), w.place()),
                               coracle::schedule_on(reader(), w.place()));
  };
  sim.run(all());
}
}  // namespace

int main(int argc, char** argv) {
  return coracle::testing::simulate_main(argc, argv,
                                         {{"single_flight", single_flight, {.stalls = true}},
                                          {"shared_task", shared_task},
                                          {"broadcast", broadcast, {.stalls = true}},
                                          {"watch", watch, {.stalls = true}}});
}
