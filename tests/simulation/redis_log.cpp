// tests/simulation/redis_log.cpp -- the append-only file of examples/redis_server on a disk that fails, and
// power failures before any step: with syncs, what was answered is there afterwards, and the server starts.
// Without, it starts or reports the damage, and no key has a value that nobody has set. A file without syncs
// is detected.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <coracle/compose/when_all.hpp>
#include <coracle/testing/simulation/simulated_host.hpp>
#include <map>
#include <string>
#include <system_error>
#include <vector>

#include "../../examples/redis_server/append_only_file.hpp"
#include "../support/detached.hpp"
#include "world.hpp"

namespace {
using coracle::testing::disk_faults;
using coracle::testing::simulated_host;
using coracle::testing::simulated_network;
using coracle::testing::simulation;
using coracle_test::task;
using coracle_test::world;

/// What clients have set a key to.
struct history {
  std::string answered;            ///< the last that was, before the power failed; empty: none
  std::vector<std::string> tried;  ///< since then
};
struct histories {
  history& operator[](const std::string& key) { return of_keys[key]; }
  std::map<std::string, history> of_keys;
  bool has_power = true;
};

task<> use(world& w, redis::database& data, redis::append_only_file& log, const std::string& key,
           histories& all) {
  history& its = all[key];
  for (int i = 0; i != 6; ++i) {
    co_await w.pause();
    const std::string value(1 + w.below(w.one_in(3) ? 3000 : 30), static_cast<char>('a' + w.below(26)));
    std::string reply, commands;
    its.tried.push_back(value);
    data.execute({"SET", key, value}, 1, reply, commands);
    log.add(commands);
    co_await log.commit();
    if (!all.has_power) co_return;
    its.answered = value;
    its.tried.clear();
  }
}
task<> compact(world& w, const redis::database& data, redis::append_only_file& log) {
  for (int i = 0; i != 2; ++i) {
    co_await w.pause();
    co_await coracle::sleep_for(std::chrono::microseconds{w.below(100'000)});
    co_await log.compact(data);
  }
}

/// Returns false if the file is damaged, and cuts it where the server says.
task<bool> replay(simulated_host& host, redis::database& data) {
  std::size_t damaged_at = 0;
  try {
    co_await redis::replay(host.io(), "log", data);
    co_return true;
  } catch (const redis::damaged_file& damage) {
    damaged_at = damage.offset;
  }
  co_await coracle::filesystem::resize_file(host.io(), "log", damaged_at);
  data = {};
  co_await redis::replay(host.io(), "log", data);
  co_return false;
}

/// A server from its start to its end, or to the first error.
task<> live(world& w, simulated_host& host, bool is_synced, histories& of_keys) {
  try {
    redis::database data;
    const bool is_whole = co_await replay(host, data);
    w.expect(is_whole || !is_synced, "a power failure does not damage a file that is synced");
    redis::append_only_file log{host.io(), "log",
                                co_await coracle::filesystem::open_write_only(host.io(), "log"), is_synced};
    co_await coracle::when_all(use(w, data, log, "a", of_keys), use(w, data, log, "b", of_keys),
                               use(w, data, log, "c", of_keys), compact(w, data, log));
  } catch (const std::system_error&) {
  } catch (const coracle::error_group&) {
  }
}

/// Loses power before that step, or at the end if there are fewer.
void live_until(simulation& sim, simulated_host& host, std::uint64_t step, histories& of_keys, task<> life) {
  of_keys.has_power = true;
  bool is_over = false;
  const auto live = [&]() -> task<> {
    co_await std::move(life);
    is_over = true;
  };
  coracle_test::run_detached_on(host.io(), live());
  for (std::uint64_t each = 0; !is_over; ++each) {
    if (each == step) {
      host.crash();
      of_keys.has_power = false;
    }
    if (!sim.step()) {
      sim.expect(false, "the server ends");
      return;
    }
  }
  host.crash();
}

/// Returns false if the file is damaged, or a key lacks the value that was answered, or has one that nobody
/// has set.
task<bool> is_kept(simulated_host& host, histories& of_keys, bool is_synced) {
  co_await host.io().schedule();
  redis::database data;
  bool kept = co_await replay(host, data);
  for (auto& [key, its] : of_keys.of_keys) {
    std::string reply, ignored, expected;
    data.execute({"GET", key}, 1, reply, ignored);
    const auto is = [&](const std::string& value) {
      expected.clear();
      value.empty() ? redis::put_nothing(expected) : redis::put_text(expected, value);
      return reply == expected;
    };
    const auto found = std::ranges::find_if(its.tried, is);
    if (found != its.tried.end()) its.answered = *found;
    kept = kept && (found != its.tried.end() || is(its.answered));
    its.tried.clear();
  }
  co_return kept || !is_synced;
}

void file_survives(simulation& sim) {
  world w{sim};
  simulated_network network{sim};
  simulated_host host{network, "10.0.0.1"};
  histories of_keys;
  for (int life = 0; life != 3; ++life) {
    disk_faults faults = w.one_in(4) ? disk_faults::harsh() : disk_faults{};
    if (w.one_in(4)) faults.sync_errors = 2 + w.below(10);
    host.disk().set_faults(faults);
    live_until(sim, host, w.below(500), of_keys, live(w, host, true, of_keys));
    host.disk().set_faults({});
    const bool kept = sim.run(is_kept(host, of_keys, true));
    w.expect(kept, "what was answered is there after a power failure, and nothing else");
  }
  w.expect(host.open_descriptors() == 0, "no file is left open");
}

/// Without syncs, anything may be lost, but not the ability to start.
void server_starts(simulation& sim) {
  world w{sim};
  simulated_network network{sim};
  simulated_host host{network, "10.0.0.1"};
  for (int life = 0; life != 3; ++life) {
    histories of_keys;
    live_until(sim, host, w.below(500), of_keys, live(w, host, false, of_keys));
    sim.run(is_kept(host, of_keys, false));
  }
}

void file_without_syncs(simulation& sim) {
  world w{sim};
  simulated_network network{sim};
  simulated_host host{network, "10.0.0.1"};
  histories of_keys;
  int lives = 0;
  bool kept = true;
  for (; kept && lives != 50; ++lives) {
    live_until(sim, host, w.below(500), of_keys, live(w, host, false, of_keys));
    kept = sim.run(is_kept(host, of_keys, true));
  }
  w.expect(!kept, "a file that is not synced is detected");
}
}  // namespace

int main(int argc, char** argv) {
  return coracle::testing::simulate_main(argc, argv,
                                         {{"what was answered survives", &file_survives},
                                          {"the server starts", &server_starts},
                                          {"a file without syncs", &file_without_syncs}});
}
