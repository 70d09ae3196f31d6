// tests/stress/cancellation.cpp -- the completion of every operation races with a stop request, many times.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <optional>
#include <thread>

#include "../cancellation/trial.hpp"
#include "../support/stress.hpp"

namespace {
using coracle_test::cancellation_entry;
using coracle_test::ending;
using coracle_test::in_races;
using coracle_test::trial;

/// The results of the races of one operation.
struct tally {
  long long carried_out = 0, cancelled = 0, wrong = 0, not_intact = 0;
  long long stop_won = 0, stop_lost = 0;  // of the races of a stop request with the completion
  long long met = 0;                      // races in which each side began before the other had ended

  [[nodiscard]] long long rounds() const { return carried_out + cancelled + wrong; }
  tally& operator+=(const tally& other) {
    carried_out += other.carried_out;
    cancelled += other.cancelled;
    wrong += other.wrong;
    not_intact += other.not_intact;
    stop_won += other.stop_won;
    stop_lost += other.stop_lost;
    met += other.met;
    return *this;
  }
};

/// Three kinds of race in turn: stop and completion, stop and start, completion and start. Each of two
/// threads prepares some trials; together they run all of them, and then each checks its own. Ends after the
/// given number of rounds, or earlier on a busy machine.
class race {
 public:
  race(const cancellation_entry& entry, int rounds, std::chrono::milliseconds longest)
      : entry_(entry),
        rounds_(rounds),
        at_once_(entry.raced == in_races::alone ? 1 : most_at_once),
        longest_(longest) {}

  tally run() {
    std::thread other([this] { play(1); });
    play(0);
    other.join();
    return sides_[0].found += sides_[1].found;
  }

 private:
  static constexpr int most_at_once = 32;

  struct alignas(64) side {
    std::atomic<int> arrived{0};  // how often it has come to a meeting
    std::atomic<int> begun{-1};   // its latest race
    bool saw_other[most_at_once] = {};
    int centre = 0;  // of the leads in its trials' races of stop with completion
    tally found;
  };

  void play(int me) {
    const auto end = std::chrono::steady_clock::now() + longest_;
    for (int first = 0; !over_; first += at_once_) {
      for (int at = 0; at != at_once_; ++at) {
        if (owner(at) == me) prepare(first + at);
      }
      meet(me);  // from here on nobody sleeps
      for (int at = 0; at != at_once_; ++at) {
        meet(me);
        run_one(me, first + at);
      }
      meet(me);
      if (me == 0) over_ = first + at_once_ >= rounds_ || std::chrono::steady_clock::now() > end;
      for (int at = 0; at != at_once_; ++at) {
        if (owner(at) == me) finish(sides_[me], first + at);
      }
      meet(me);
    }
  }
  /// On a busy machine, two threads that only wait for each other would hardly ever run concurrently, and so
  /// not race. Therefore a thread that has waited in vain sleeps, and both wake up at the same time, on two
  /// processors.
  void meet(int me) {
    constexpr std::chrono::milliseconds tick{1};
    constexpr int spins_before_sleep = 1 << 19;
    const int meeting = sides_[me].arrived.load(std::memory_order_relaxed) + 1;
    sides_[me].arrived.store(meeting, std::memory_order_release);
    const std::atomic<int>& other = sides_[1 - me].arrived;
    for (int spins = 1; other.load(std::memory_order_relaxed) < meeting; ++spins) {
      if (spins % spins_before_sleep != 0) continue;
      const auto now = std::chrono::steady_clock::now();
      std::this_thread::sleep_until(now - now.time_since_epoch() % tick + tick);
      coracle_test::move_to_processor(me);
    }
    static_cast<void>(other.load(std::memory_order_acquire));
  }

  /// The side that prepares a trial and checks its result. It also starts or completes it.
  [[nodiscard]] int owner(int at) const { return at < (at_once_ + 1) / 2 ? 0 : 1; }

  void prepare(int i) {
    std::optional<trial>& each = trials_[i % at_once_];
    each.emplace(entry_);
    if (i % 3 == 0) each->start();
  }
  void run_one(int me, int i) {
    const int at = i % at_once_;
    const bool mine = owner(at) == me;
    const int lead = lead_of(sides_[owner(at)], i);
    hold_back(mine ? lead : -lead);
    sides_[me].begun.store(i, std::memory_order_relaxed);
    act(*trials_[at], i % 3, mine);
    // Not acquire: only the operation itself synchronises the two sides.
    sides_[me].saw_other[at] = sides_[1 - me].begun.load(std::memory_order_relaxed) >= i;
  }
  /// A long delay lets other threads run, such as one that carries out the operation.
  static void hold_back(int turns) {
    constexpr int turns_at_once = 1024;
    for (; turns > turns_at_once; turns -= turns_at_once) {
      coracle_test::hold_up(turns_at_once);
      std::this_thread::yield();
    }
    coracle_test::hold_up(turns);
  }
  /// The delay of the owner. A stop request that always came too late, or too early, would test nothing, so
  /// the side that has won begins later the next time.
  static int lead_of(const side& owner, int i) {
    const int step = i / 3, around = (61 * step % 128 - 64) * (step % 4 == 0 ? 8 : 1);
    return i % 3 == 0 ? owner.centre + around : around;
  }
  static void move_centre(int& centre, int sign) {
    constexpr int farthest = 1 << 16;
    centre = std::clamp(centre + sign * (16 + std::abs(centre) / 16), -farthest, farthest);
  }
  static void act(trial& each, int kind, bool owner) {
    if (kind == 0) owner ? each.complete() : each.stop();
    if (kind == 1) owner ? each.start() : each.stop();
    if (kind == 2) owner ? each.start() : each.complete();
  }
  void finish(side& mine, int i) {
    const int at = i % at_once_, kind = i % 3;
    trial& each = *trials_[at];
    tally& found = mine.found;
    each.settle();
    const ending how = each.ended();
    if (kind == 0) {
      const bool stopped = how == ending::cancelled;
      ++(stopped ? found.stop_won : found.stop_lost);
      if (entry_.raced != in_races::stop_wins) move_centre(mine.centre, stopped ? -1 : 1);
    }
    const bool right =
        kind == 0   ? how == ending::carried_out || how == ending::cancelled
        : kind == 1 ? how == ending::cancelled || (how == ending::carried_out && each.may_be_completed())
                    : how == ending::carried_out;
    ++(!right ? found.wrong : how == ending::cancelled ? found.cancelled : found.carried_out);
    if (!each.intact()) ++found.not_intact;
    if (sides_[0].saw_other[at] && sides_[1].saw_other[at]) ++found.met;
  }

  const cancellation_entry& entry_;
  const int rounds_, at_once_;
  const std::chrono::milliseconds longest_;
  std::optional<trial> trials_[most_at_once];
  side sides_[2];
  bool over_ = false;  // side 0 says so between two meetings
};
}  // namespace

int main(int argc, char** argv) {
  // A second argument selects the operations to race (all if it is empty), and prints each on a line of its
  // own.
  const char* const only = argc > 2 ? argv[2] : "";
  coracle_test::stress run("cancellation", argc, argv, 2000);
  const auto longest = std::chrono::milliseconds{coracle_test::side_by_side_time} / 4;
  constexpr long long enough_for_both = 300;  // a busy machine may come to few races only
  int operations = 0, one_sided = 0;
  long long fewest = std::numeric_limits<long long>::max();
  tally all;
  for (const cancellation_entry& entry : coracle_test::cancellation_table()) {
    if (std::strstr(entry.operation, only) == nullptr) continue;
    const auto start = std::chrono::steady_clock::now();
    const tally found = race(entry, run.int_count(), longest).run();
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
    const bool is_one_sided = entry.raced == in_races::in_numbers &&
                              found.stop_won + found.stop_lost >= enough_for_both &&
                              (found.stop_won == 0 || found.stop_lost == 0);
    ++operations;
    one_sided += is_one_sided;
    fewest = std::min(fewest, found.rounds());
    all += found;
    if (argc > 2 || is_one_sided || found.not_intact != 0 || found.wrong != 0) {
      std::printf(
          "%s: %lld races, %lld of them side by side, in %.1f s; %lld carried out, %lld cancelled, %lld "
          "wrong, "
          "%lld not intact; stop against completion: %lld to %lld\n",
          entry.operation, found.rounds(), found.met, taken.count(), found.carried_out, found.cancelled,
          found.wrong, found.not_intact, found.stop_won, found.stop_lost);
      std::fflush(stdout);
    }
  }
  run.expect("operations", operations,
             *only ? operations : static_cast<int>(coracle_test::cancellation_table().size()));
  run.expect("races", all.rounds(), all.rounds());
  run.expect("of them side by side", all.met, all.met);
  run.expect("at least of each operation", fewest, fewest);
  run.expect("lost or doubled", all.not_intact, 0);
  run.expect("ended wrongly", all.wrong, 0);
  run.expect("operations of which one side never won", one_sided, 0);
  return run.finish();
}
