// tests/stress/barrier.cpp -- coroutines of pools and plain threads meet, drop out, and destroy the barrier.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <atomic>
#include <coracle/core/with_environment.hpp>
#include <coracle/exec/static_thread_pool.hpp>
#include <coracle/sync/async_barrier.hpp>
#include <latch>
#include <memory>
#include <thread>
#include <vector>

#include "../support/detached.hpp"
#include "../support/one_after_another.hpp"
#include "../support/stop_race.hpp"
#include "../support/stress.hpp"

namespace {
using coracle::async_barrier;
using coracle::static_thread_pool;
using coracle_test::detached;

struct findings {
  long long phases = 0;
  long long wrong = 0;
};

/// Members on two pools and two plain threads. Before each phase a member writes its field; the completion
/// function reads all of them, and writes data that each member reads afterwards. None of it is atomic.
/// Member i drops out after turns(i) phases.
template <class Turns>
findings meet(int members, Turns turns) {
  static_thread_pool first{2}, second{1};
  std::vector<int> written(static_cast<std::size_t>(members));
  std::vector<long long> wrong(written.size());
  findings found;
  async_barrier barrier{members, [&]() noexcept {
                          ++found.phases;
                          for (int i = 0; i != members; ++i) {
                            const int right = static_cast<int>(std::min<long long>(found.phases, turns(i)));
                            found.wrong += written[static_cast<std::size_t>(i)] != right;
                          }
                        }};
  std::latch ended{members};
  const auto run = [&](static_thread_pool* pool, int member) -> detached {
    if (pool) co_await pool->schedule();
    int& mine = written[static_cast<std::size_t>(member)];
    for (const int last = turns(member); ++mine != last;) {
      const int phase = mine;
      co_await barrier.arrive_and_wait();
      wrong[static_cast<std::size_t>(member)] += found.phases != phase;
    }
    barrier.arrive_and_drop();
    ended.count_down();
  };
  std::vector<std::thread> threads;
  for (int i = 0; i != members; ++i) {
    if (i % 4 < 2) {
      run(i % 4 == 0 ? &first : &second, i);
    } else if (i % 4 == 2) {
      threads.emplace_back([&run, i, members] {
        run(nullptr, i);
        if (i + 1 != members) run(nullptr, i + 1);
      });
    }
  }
  for (std::thread& each : threads) each.join();
  ended.wait();
  for (const long long each : wrong) found.wrong += each;
  return found;
}

/// Two coroutines on two pools meet repeatedly. Returns how often one of them was a phase ahead or behind.
long long race_two(int phases) {
  struct side {
    int phase = 0;
    long long wrong = 0;
  };
  static_thread_pool pools[2] = {static_thread_pool{1}, static_thread_pool{1}};
  async_barrier barrier{2};
  std::latch ended{2};
  side sides[2];
  const auto run = [&](static_thread_pool& pool, side& mine, const side& others) -> detached {
    co_await pool.schedule();
    for (int i = 1; i <= phases; ++i) {
      mine.phase = i;
      co_await barrier.arrive_and_wait();
      if (others.phase != i) ++mine.wrong;
      co_await barrier.arrive_and_wait();
    }
    ended.count_down();
  };
  run(pools[0], sides[0], sides[1]);
  run(pools[1], sides[1], sides[0]);
  ended.wait();
  return sides[0].wrong + sides[1].wrong;
}

/// At each barrier one coroutine waits and the other drops out, in either order; the waiter destroys the
/// barrier immediately.
class last_meetings {
 public:
  explicit last_meetings(int most) : all_(static_cast<std::size_t>(most)) {}
  auto wait() {
    return [this](int i) { wait_and_destroy(all_[static_cast<std::size_t>(i)]); };
  }
  auto drop() {
    return [this](int i) {
      meeting& each = all_[static_cast<std::size_t>(i)];
      each.written = 1;
      each.barrier->arrive_and_drop();
    };
  }
  long long passes() const { return passes_; }

 private:
  struct meeting {
    int written = 0;
    std::unique_ptr<async_barrier<>> barrier = std::make_unique<async_barrier<>>(2);
  };
  detached wait_and_destroy(meeting& each) {
    co_await each.barrier->arrive_and_wait();
    each.barrier.reset();
    passes_ += each.written;
  }

  std::vector<meeting> all_;
  std::atomic<long long> passes_{0};
};

/// Returns how many of the last meetings failed.
long long race_wait_with_drop(int most) {
  last_meetings meetings{most};
  const int rounds = coracle_test::side_by_side(most, meetings.wait(), meetings.drop());
  return rounds - meetings.passes();
}
long long wait_and_drop_in_turn(int rounds) {
  last_meetings drop_last{rounds}, drop_first{rounds};
  coracle_test::one_after_another(rounds, drop_last.wait(), drop_last.drop());
  coracle_test::one_after_another(rounds, drop_first.drop(), drop_first.wait());
  return 2LL * rounds - drop_last.passes() - drop_first.passes();
}

/// Members that are stopped at any time, and then arrive again: each phase ends once, with all of them. At
/// the end, members that have just been stopped drop out. Returns how often a phase lacked a member.
long long meet_or_stop(int phases, long long& counted) {
  constexpr std::size_t members = 5;
  static_thread_pool pool{2};
  std::vector<int> written(members);
  long long wrong = 0;
  counted = 0;
  async_barrier barrier{members, [&]() noexcept {
                          ++counted;
                          for (const int each : written) wrong += each != counted && counted <= phases;
                        }};
  std::latch ended{members};
  coracle_test::stops_at_random stops(members);
  const auto run = [&](std::size_t me) -> detached {
    if (me % 2 == 0) co_await pool.schedule();
    for (int phase = 1; phase <= phases;) {
      written[me] = phase;
      auto meeting = barrier.arrive_and_wait();
      try {
        co_await coracle::with_stop(std::move(meeting), stops.renew(me));
        ++phase;
      } catch (const coracle::operation_cancelled&) {
      }
    }
    barrier.arrive_and_drop();
    ended.count_down();
  };
  for (std::size_t i = 0; i != members; ++i) run(i);
  ended.wait();
  return wrong;
}
}  // namespace

int main(int argc, char** argv) {
  coracle_test::stress run("barrier", argc, argv, 10'000);
  const int phases = run.int_count();
  const findings same = meet(8, [=](int) { return phases; });
  run.expect("phases", same.phases, phases);
  run.expect("wrong", same.wrong, 0);
  const findings fewer = meet(16, [=](int member) { return 1 + phases * member / 15; });
  run.expect("phases of ever fewer", fewer.phases, phases + 1);
  run.expect("wrong", fewer.wrong, 0);
  run.expect("meetings of two wrong", race_two(std::max(1, phases / 4)), 0);
  run.expect("last meetings wrong", race_wait_with_drop(10 * phases) + wait_and_drop_in_turn(phases), 0);
  long long counted = 0;
  run.expect("members missed with stops", meet_or_stop(std::max(1, phases / 4), counted), 0);
  run.expect("phases with stops", counted, std::max(1, phases / 4) + 1);
  return run.finish();
}
