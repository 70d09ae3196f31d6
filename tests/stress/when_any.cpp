// tests/stress/when_any.cpp -- races on several threads: one winner, every loser joined.
// SPDX-License-Identifier: MIT
#include <atomic>
#include <coracle/compose/as_outcome.hpp>
#include <coracle/compose/via.hpp>
#include <coracle/compose/when_all.hpp>
#include <coracle/compose/when_any.hpp>
#include <coracle/core/sync_wait.hpp>
#include <coracle/core/task.hpp>
#include <coracle/core/with_environment.hpp>
#include <coracle/exec/static_thread_pool.hpp>
#include <coracle/sync/async_manual_reset_event.hpp>
#include <coracle/sync/async_semaphore.hpp>
#include <memory>
#include <vector>

#include "../support/detached.hpp"
#include "../support/stress.hpp"

namespace {
using coracle::async_manual_reset_event;
using coracle::async_semaphore;
using coracle::operation_cancelled;
using coracle::static_thread_pool;
using coracle::task;
using coracle::when_any;
using coracle_test::detached;

struct totals {
  std::atomic<long long> winners{0}, losers{0}, errors{0}, cancelled{0};
};
struct own_error {};

task<int> wait_for(async_manual_reset_event& event) {
  co_await event;
  co_return 0;
}
/// Waits for its event. If it is stopped, it is destroyed there, or sees the exception and occasionally
/// responds with an error.
task<int> run(totals& all, async_manual_reset_event& event, int number) {
  try {
    if (number % 2 == 0) co_return number + co_await wait_for(event);
    co_await coracle::throwing(event);
  } catch (const operation_cancelled&) {
    ++all.losers;
    if (number % 16 == 3) throw own_error{};
    throw;
  }
  if (number % 16 == 5) throw own_error{};
  co_return number;
}

/// Two threads end two children of a race at the same time, together with a stop request in a third of the
/// cases.
struct race_round {
  async_manual_reset_event first, second;
  coracle::stop_source source;
  std::atomic<bool> over{false};
};
detached race(totals& all, race_round& round, int number) {
  const auto both = [&]() -> task<> {
    const auto winner =
        co_await when_any(run(all, round.first, number), round.second, run(all, round.first, number + 1));
    all.winners += winner.index() < 3;
  };
  try {
    co_await coracle::with_stop(both(), round.source.get_token());
  } catch (const operation_cancelled&) {
    ++all.cancelled;
  } catch (const own_error&) {
    ++all.errors;
  } catch (const coracle::error_group&) {
    ++all.errors;
  }
  round.over = true;
}
long long races_not_over(int most, totals& all) {
  std::vector<std::unique_ptr<race_round>> rounds(static_cast<std::size_t>(most));
  for (int i = 0; i != most; ++i) {
    auto& each = rounds[static_cast<std::size_t>(i)];
    each = std::make_unique<race_round>();
    race(all, *each, i);
  }
  const int played = coracle_test::side_by_side(
      most, [&](int i) { rounds[static_cast<std::size_t>(i)]->first.set(); },
      [&](int i) {
        race_round& round = *rounds[static_cast<std::size_t>(i)];
        if (i % 3 == 0) {
          round.source.request_stop();
        } else {
          round.second.set();
        }
      });
  long long open = 0;
  for (int i = 0; i != most; ++i) {
    race_round& round = *rounds[static_cast<std::size_t>(i)];
    if (i >= played) round.first.set();
    open += !round.over;
  }
  return open;
}

/// Races on a pool take permits of two semaphores: none is lost, and losers take none.
struct permits {
  async_semaphore first{0}, second{0};
  std::atomic<long long> taken{0};
};
task<> take(permits& from, static_thread_pool& pool, int times) {
  co_await pool.schedule();
  for (int i = 0; i != times; ++i) {
    static_cast<void>(co_await when_any(from.first.acquire(), from.second.acquire()));
    ++from.taken;
  }
}
task<> give(async_semaphore& to, static_thread_pool& pool, int times) {
  co_await pool.schedule();
  for (int i = 0; i != times; ++i) {
    to.release();
    if (i % 4 == 0) co_await pool.schedule();
  }
}
}  // namespace

int main(int argc, char** argv) {
  coracle_test::stress run_("when_any", argc, argv, 4'000);
  const int n = run_.int_count();
  totals all;
  run_.expect("races not over", races_not_over(n, all), 0);
  run_.expect("races", all.winners + all.cancelled + all.errors, n);

  static_thread_pool pool{3};
  permits from;
  coracle::sync_wait(coracle::when_all(take(from, pool, n), take(from, pool, n), give(from.first, pool, n),
                                       give(from.second, pool, n)));
  run_.expect("permits taken", from.taken.load(), 2LL * n);
  run_.expect("permits left", from.first.try_acquire() + from.second.try_acquire(), 0);
  return run_.finish();
}
