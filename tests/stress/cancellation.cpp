// tests/stress/cancellation.cpp -- every operation: its completion against a stop request, on two threads, many times.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <atomic>
#include <chrono>
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
  long long met = 0;                      // rounds that both sides began at the same moment
};

/// Three races in turn: stop against completion, stop against the start, completion against the start. Ends after
/// so many rounds, or earlier on a busy machine.
class race {
 public:
  race(const cancellation_entry& entry, int rounds, std::chrono::milliseconds longest)
      : entry_(entry), rounds_(rounds), longest_(longest) {}

  tally run() {
    prepare(0);
    std::thread other([this] {
      for (int i = 0; i != rounds_; ++i) {
        meet(1, i);
        second(i);
        come_to(1, i, done);
        wait_until_done(0, i);
      }
    });
    const auto end = std::chrono::steady_clock::now() + longest_;
    for (int i = 0; i != rounds_; ++i) {
      meet(0, i);
      first(i);
      wait_until_done(1, i);
      finish(i);
      if (i % 64 == 2 && std::chrono::steady_clock::now() > end) rounds_ = i + 1;
      if (i + 1 != rounds_) prepare(i + 1);
      come_to(0, i, done);
    }
    other.join();
    return found_;
  }

 private:
  /// What a side has come to in a round: its word is 4 times the round's number, plus this.
  enum point : int { here = 1, ready = 2, done = 4 };

  void come_to(int me, int round, point where) {
    arrived_[me].store(4 * round + where, std::memory_order_release);
  }
  [[nodiscard]] bool has_come_to(int side, int round, point where) const {
    return arrived_[side].load(std::memory_order_acquire) >= 4 * round + where;
  }
  /// Two threads of a busy machine that only waited for each other would hardly ever run at the same time, and
  /// not race: so who has waited in vain sleeps, and both wake up at the same moment.
  int wait_for(int side, int round, point where) const {
    constexpr std::chrono::milliseconds tick{1};
    int spins = 0;
    for (; !has_come_to(side, round, where); ++spins) {
      if (spins % 4096 != 4095) continue;
      const auto now = std::chrono::steady_clock::now();
      std::this_thread::sleep_until(now - now.time_since_epoch() % tick + tick);
    }
    return spins;
  }
  void meet(int me, int round) {
    come_to(me, round, here);
    wait_for(1 - me, round, here);
    come_to(me, round, ready);
    if (wait_for(1 - me, round, ready) < 256 && me == 0) ++found_.met;
    // A stop request takes longer to come to the point, under ThreadSanitizer much longer.
    const int step = round / 3, lead = (61 * step % 1024 - 256) * (step % 4 == 0 ? 8 : 1);
    coracle_test::hold_up(me == 0 ? lead : -lead);
  }
  /// Until side 0 has made the next trial, or side 1 has played its part.
  void wait_until_done(int side, int round) const {
    for (int spins = 0; !has_come_to(side, round, done); ++spins) {
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
  std::atomic<int> rounds_;
  const std::chrono::milliseconds longest_;
  std::optional<trial> trial_;
  std::atomic<int> arrived_[2] = {};
  tally found_;
};
}  // namespace

int main(int argc, char** argv) {
  // A second argument names the one operation to race.
  const char* const only = argc > 2 ? argv[2] : nullptr;
  coracle_test::stress run("cancellation", argc, argv, 3000);
  const auto longest = std::chrono::milliseconds{coracle_test::side_by_side_time} / 4;
  long long operations = 0, met = 0, not_intact = 0, wrong = 0, stop_won = 0, stop_lost = 0;
  for (const cancellation_entry& entry : coracle_test::cancellation_table()) {
    if (only && std::strstr(entry.operation, only) == nullptr) continue;
    const tally found = race(entry, std::max(3, run.int_count() / entry.slow_by), longest).run();
    ++operations;
    met += found.met;
    not_intact += found.not_intact;
    wrong += found.wrong;
    stop_won += found.stop_won;
    stop_lost += found.stop_lost;
    if (only || found.not_intact != 0 || found.wrong != 0) {
      std::printf(
          "%s: %lld rounds, %lld at the same moment; %lld carried out, %lld cancelled, %lld wrong, %lld not "
          "intact; stop against completion: %lld to %lld\n",
          entry.operation, found.carried_out + found.cancelled, found.met, found.carried_out, found.cancelled,
          found.wrong, found.not_intact, found.stop_won, found.stop_lost);
    }
  }
  run.expect("operations", operations,
             only ? operations : static_cast<long long>(coracle_test::cancellation_table().size()));
  run.expect("rounds begun at the same moment", met, met);
  run.expect("lost or doubled", not_intact, 0);
  run.expect("ended wrongly", wrong, 0);
  if (!only) run.expect("sides that never won", (stop_won == 0) + (stop_lost == 0), 0);
  return run.finish();
}
