// tests/stress/cancellation.cpp -- every operation: its completion against a stop request, on two threads, many times.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <optional>
#include <string>
#include <thread>

#include "../cancellation/trial.hpp"
#include "../support/stress.hpp"

namespace {
using coracle_test::cancellation_entry;
using coracle_test::ending;
using coracle_test::trial;

/// What has come of the races of one operation.
struct tally {
  long long carried_out = 0, cancelled = 0, wrong = 0, not_intact = 0;
  long long stop_won = 0, stop_lost = 0;  // in the first kind of race
};

/// Three races in turn: stop against completion, stop against the start, completion against the start.
class race {
 public:
  race(const cancellation_entry& entry, int rounds) : entry_(entry), rounds_(rounds) {}

  tally run() {
    prepare(0);
    std::thread other([this] {
      for (int i = 0; i != rounds_; ++i) {
        meet(1, i);
        second(i);
      }
      meet(1, rounds_);
    });
    for (int i = 0; i != rounds_; ++i) {
      meet(0, i);
      first(i);
      // The other side has done its part of round i once it arrives at the next.
      arrived_[0].store(2 * i + 2, std::memory_order_release);
      wait_for(1, 2 * i + 2);
      finish(i);
      if (i + 1 != rounds_) prepare(i + 1);
    }
    meet(0, rounds_);
    other.join();
    return found_;
  }

 private:
  // A side has arrived at round i once its word is 2i + 1 or more, and has done its part of it at 2i + 2.
  void meet(int me, int round) {
    arrived_[me].store(2 * round + 1, std::memory_order_release);
    wait_for(1 - me, 2 * round + 1);
    // A stop request takes longer to come to the point, under ThreadSanitizer much longer.
    const int step = round / 3, lead = (61 * step % 1024 - 256) * (step % 4 == 0 ? 8 : 1);
    coracle_test::hold_up(me == 0 ? lead : -lead);
  }
  void wait_for(int side, int point) {
    for (int spins = 0; arrived_[side].load(std::memory_order_acquire) < point; ++spins) {
      if (spins > 1000) std::this_thread::yield();
    }
  }
  void prepare(int i) {
    trial_.emplace(entry_);
    if (i % 3 == 0) trial_->start();
  }
  void first(int i) {
    if (i % 3 == 0) {
      trial_->complete();
    } else {
      trial_->start();
    }
  }
  void second(int i) {
    if (i % 3 == 2) {
      trial_->complete();
    } else {
      trial_->stop();
    }
    arrived_[1].store(2 * i + 2, std::memory_order_release);
  }
  void finish(int i) {
    if (i % 3 == 2) trial_->settle();
    if (i % 3 == 1 && trial_->ended() == ending::carried_out) ++found_.wrong;  // nobody has completed it
    trial_->settle();
    const ending how = trial_->ended();
    if (i % 3 == 0) ++(how == ending::cancelled ? found_.stop_won : found_.stop_lost);
    if (how == ending::carried_out) ++found_.carried_out;
    if (how == ending::cancelled) ++found_.cancelled;
    if (how == ending::none || how == ending::failed || (i % 3 == 2 && how != ending::carried_out))
      ++found_.wrong;
    if (!trial_->intact()) ++found_.not_intact;
  }

  const cancellation_entry& entry_;
  const int rounds_;
  std::optional<trial> trial_;
  std::atomic<int> arrived_[2] = {};
  tally found_;
};
}  // namespace

int main(int argc, char** argv) {
  // A second argument names the one operation to race.
  const char* const only = argc > 2 ? argv[2] : nullptr;
  coracle_test::stress run("cancellation", argc, argv, 3000);
  long long operations = 0, not_intact = 0, wrong = 0, stop_won = 0, stop_lost = 0;
  for (const cancellation_entry& entry : coracle_test::cancellation_table()) {
    if (only && std::strstr(entry.operation, only) == nullptr) continue;
    const tally found = race(entry, std::max(3, run.int_count() / entry.slow_by)).run();
    ++operations;
    not_intact += found.not_intact;
    wrong += found.wrong;
    stop_won += found.stop_won;
    stop_lost += found.stop_lost;
    if (only || found.not_intact != 0 || found.wrong != 0) {
      std::printf(
          "%s: %lld carried out, %lld cancelled, %lld wrong, %lld not intact; stop against completion: %lld "
          "to %lld\n",
          entry.operation, found.carried_out, found.cancelled, found.wrong, found.not_intact, found.stop_won,
          found.stop_lost);
    }
  }
  run.expect("operations", operations,
             only ? operations : static_cast<long long>(coracle_test::cancellation_table().size()));
  run.expect("lost or doubled", not_intact, 0);
  run.expect("ended wrongly", wrong, 0);
  if (!only) run.expect("sides that never won", (stop_won == 0) + (stop_lost == 0), 0);
  return run.finish();
}
