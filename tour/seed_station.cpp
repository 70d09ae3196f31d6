// tour/seed_station.cpp -- a small program with a bug, a seed that shows it, and the replay of that seed.
// SPDX-License-Identifier: MIT
#include <chrono>
#include <coracle/compose/when_all.hpp>
#include <coracle/core/task.hpp>
#include <coracle/sync/async_mutex.hpp>
#include <coracle/testing/simulation/simulation.hpp>
#include <coracle/time/sleep.hpp>
#include <optional>

#include "format.hpp"
#include "recorder.hpp"
#include "stations.hpp"

namespace tour {
namespace {
using coracle::task;
using coracle::testing::simulation;
using namespace std::chrono_literals;

constexpr std::uint64_t seeds = 1000;
constexpr int tickets = 2;
enum office_lane : std::size_t { office, first_customer };

struct box_office {
  box_office(simulation& its_simulation, recorder* where) : sim(its_simulation), seen(where) {}
  void note(std::size_t place, const std::string& text, lane_state then) {
    sim.note(text);
    if (!seen) return;
    const std::chrono::duration<double, std::nano> now = sim.now().time_since_epoch();
    seen->note_at(now.count(), place, text, then);
  }

  simulation& sim;
  recorder* seen;
  int left = tickets;
  coracle::async_mutex mutex;
};

/// The bug: another customer may have paid since `left` was looked at.
task<> buy(box_office& at, std::size_t customer) {
  const int left = at.left;
  at.note(customer, "sees " + plural(static_cast<std::uint64_t>(left < 0 ? 0 : left), "ticket"),
          left > 0 ? lane_state::waiting : lane_state::done);
  if (left <= 0) co_return;
  co_await coracle::sleep_for(at.sim.random().between(1ms, 20ms));
  --at.left;
  at.note(customer, "has paid, takes a ticket", lane_state::done);
  if (at.left < 0) at.note(office, "has sold a ticket that it does not have", lane_state::failed);
}
task<> buy_alone(box_office& at, std::size_t customer) {
  const auto lock = co_await at.mutex.scoped_lock_async();
  co_await buy(at, customer);
}
task<> arrive(box_office& at, std::size_t customer, bool alone) {
  co_await coracle::sleep_for(at.sim.random().between(0ms, 1000ms));
  auto bought = alone ? buy_alone(at, customer) : buy(at, customer);
  co_await std::move(bought);
}

struct sale {
  int left = 0;
  std::uint64_t steps = 0, hash = 0;
};
/// Three customers within a second, for two tickets.
sale sell(std::uint64_t seed, bool alone, recorder* seen = nullptr) {
  simulation sim{seed};
  box_office at(sim, seen);
  sim.run(coracle::when_all(arrive(at, first_customer, alone), arrive(at, first_customer + 1, alone),
                            arrive(at, first_customer + 2, alone)));
  return {at.left, sim.trace().steps(), sim.trace().hash()};
}

struct search {
  std::optional<std::uint64_t> first_failure;
  std::uint64_t failures = 0, steps = 0;
  double seconds = 0;
};
search try_seeds(bool alone) {
  search result;
  const stopwatch watch;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    const sale end = sell(seed, alone);
    result.steps += end.steps;
    if (end.left >= 0) continue;
    ++result.failures;
    if (!result.first_failure) result.first_failure = seed;
  }
  result.seconds = watch.seconds();
  return result;
}

void show_replay(section& page, std::uint64_t seed) {
  recorder seen("Seed " + grouped(seed) + " again, in its own time",
                {"box office", "customer 1", "customer 2", "customer 3"});
  const sale once = sell(seed, false), again = sell(seed, false, &seen);
  page.add(seen.take());
  page.check(again.left < 0 && again.hash == once.hash && again.steps == once.steps,
             "Each run of seed " + grouped(seed) + " sold a ticket too many, in the same " +
                 plural(again.steps, "step") + ": the hashes of the traces are equal.");
}
}  // namespace

void show_seed(section& page, const settings&) {
  page.say(
      "Two tickets are left. Three customers arrive within a second; a payment takes up to 20 ms. A test "
      "with "
      "real clocks passes nearly every time:");
  page.add(
      listing{"task<> buy() {\n"
              "  if (left == 0) co_return;\n"
              "  co_await pay();  // others may run\n"
              "  --left;\n"
              "}\n"});
  page.say(
      "A simulation runs it on a virtual clock, in an order that one number determines, the seed. It tries " +
      grouped(seeds) + " of them:");
  const search found = try_seeds(false), fixed_program = try_seeds(true);
  const double each = found.seconds * 1e9 / static_cast<double>(seeds);
  page.add(table{
      "",
      {"", "seeds", "failed", "first", "steps", "time a seed"},
      {{"as above", grouped(seeds), grouped(found.failures),
        found.first_failure ? grouped(*found.first_failure) : "none", grouped(found.steps), duration(each)},
       {"under an async_mutex", grouped(seeds), grouped(fixed_program.failures),
        fixed_program.first_failure ? grouped(*fixed_program.first_failure) : "none",
        grouped(fixed_program.steps), duration(fixed_program.seconds * 1e9 / static_cast<double>(seeds))}}});
  page.check(found.failures != 0,
             plural(found.failures, "seed") + " of " + grouped(seeds) + " found the bug.");
  if (found.first_failure) show_replay(page, *found.first_failure);
  page.check(fixed_program.failures == 0, "With an async_mutex around buy() no seed fails.");
  page.measured("failures", static_cast<double>(found.failures), "seeds");
  page.measured("first_failure", static_cast<double>(found.first_failure.value_or(0)), "seed");
  page.measured("steps", static_cast<double>(found.steps), "steps");
  page.measured("seed", each, "ns");
}
}  // namespace tour
