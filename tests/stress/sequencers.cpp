// tests/stress/sequencers.cpp -- ring buffers between threads: no element is lost, duplicated or too early.
// SPDX-License-Identifier: MIT
#include <chrono>
#include <coracle/core/task.hpp>
#include <coracle/core/with_environment.hpp>
#include <coracle/exec/run_loop.hpp>
#include <coracle/exec/static_thread_pool.hpp>
#include <coracle/sync/multi_producer_sequencer.hpp>
#include <coracle/sync/single_producer_sequencer.hpp>
#include <latch>
#include <memory>
#include <thread>
#include <vector>

#include "../support/detached.hpp"
#include "../support/stop_race.hpp"
#include "../support/stress.hpp"

namespace {
using coracle::multi_producer_sequencer;
using coracle::sequence_barrier;
using coracle::single_producer_sequencer;
using coracle::static_thread_pool;
using coracle_test::detached;

/// One wait races with one publish(), repeatedly. Returns the number of failures.
int race_one_wait(int most) {
  std::vector<std::unique_ptr<sequence_barrier<int>>> barriers(static_cast<std::size_t>(most));
  for (auto& each : barriers) each = std::make_unique<sequence_barrier<int>>();
  std::vector<int> written(barriers.size());
  std::atomic<int> woken{0}, stale{0};
  const auto wait = [&](std::size_t i) -> detached {
    const int last = co_await barriers[i]->wait_until_published(0);
    if (last != 0 || written[i] != 1) ++stale;
    ++woken;
  };
  const int rounds = coracle_test::side_by_side(
      most, [&](int i) { wait(static_cast<std::size_t>(i)); },
      [&](int i) {
        const auto at = static_cast<std::size_t>(i);
        written[at] = 1;
        barriers[at]->publish(0);
      });
  return rounds - woken + stale;
}

/// One thread publishes two numbers one after the other, as soon as the other thread waits for the second and
/// is about to wait for the first. Both are delayed by small, changing amounts. A lost wake-up is a deadlock.
/// Ends after `most` rounds, or after two seconds. Returns the number of missing waits.
long long race_neighbours(int most) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(2);
  coracle::run_loop loop;
  sequence_barrier<int> numbers, begun;
  std::atomic<int> rounds{most};
  long long passed = 0;
  const auto wait_for_second = [&]() -> detached {
    co_await loop.schedule();
    for (int i = 0; i != rounds; ++i) {
      co_await numbers.wait_until_published(2 * i + 1);
      ++passed;
    }
  };
  const auto wait_for_both = [&]() -> detached {
    co_await loop.schedule();
    for (int i = 0; i != rounds; ++i) {
      if (i % 64 == 0 && std::chrono::steady_clock::now() > end) rounds = i + 1;
      begun.publish(i);
      coracle_test::hold_up(i % 97);
      co_await numbers.wait_until_published(2 * i);
      ++passed;
      co_await numbers.wait_until_published(2 * i + 1);
    }
  };
  std::thread publisher([&] {
    for (int i = 0; i != rounds; ++i) {
      for (int spins = 0; begun.last_published() < i; ++spins) {
        if (spins > 1000) std::this_thread::yield();
      }
      numbers.publish(2 * i);
      coracle_test::hold_up(i % 31);
      numbers.publish(2 * i + 1);
    }
  });
  wait_for_second();
  wait_for_both();
  int spins = 0;
  while (passed != 2LL * rounds) {
    spins = loop.run_pending() != 0 ? 0 : spins + 1;
    if (spins > 1000) std::this_thread::yield();
  }
  while (loop.run_one()) {
  }
  publisher.join();
  return 2LL * rounds - passed;
}

/// Two producers of adjacent numbers race with each other, and with a waiter that needs both.
int race_two_producers(int most) {
  struct round {
    sequence_barrier<> consumed;
    multi_producer_sequencer<> sequencer{consumed, 2};
    int first = 0, second = 0;
  };
  std::vector<std::unique_ptr<round>> all(static_cast<std::size_t>(most));
  for (auto& each : all) each = std::make_unique<round>();
  std::atomic<int> woken{0}, stale{0};
  const auto wait = [&](round& r) -> detached {
    const std::size_t last = co_await r.sequencer.wait_until_published(1, static_cast<std::size_t>(-1));
    if (last != 1 || r.first != 1 || r.second != 1) ++stale;
    ++woken;
  };
  const int rounds = coracle_test::side_by_side(
      most,
      [&](int i) {
        round& r = *all[static_cast<std::size_t>(i)];
        r.first = 1;
        if (i % 2 == 0) wait(r);
        r.sequencer.publish(0);
        if (i % 2 == 1) wait(r);
      },
      [&](int i) {
        round& r = *all[static_cast<std::size_t>(i)];
        r.second = 1;
        r.sequencer.publish(1);
      });
  return rounds - woken + stale;
}

/// Barriers that are destroyed with their coroutines: sanitizers detect an access by await_suspend() or
/// publish() that comes too late.
long long short_lives(int rounds) {
  static_thread_pool pool{3};
  std::atomic<long long> ended{0};
  struct shared {
    explicit shared(std::latch& done) : all_done(done) {}
    ~shared() { all_done.count_down(); }
    sequence_barrier<int> barrier;
    std::latch& all_done;
  };
  std::latch done{rounds};
  const auto wait = [&](std::shared_ptr<shared> mine) -> detached {
    co_await pool.schedule();
    co_await mine->barrier.wait_until_published(1);
    ++ended;
  };
  const auto publish = [&](std::shared_ptr<shared> mine) -> detached {
    co_await pool.schedule();
    mine->barrier.publish(0);
    mine->barrier.publish(1);
  };
  for (int i = 0; i != rounds; ++i) {
    auto mine = std::make_shared<shared>(done);
    wait(mine);
    publish(mine);
    wait(std::move(mine));
  }
  done.wait();
  return ended;
}

struct totals {
  std::atomic<long long> sum{0};
  std::atomic<long long> out_of_order{0};
};

/// A producer, two stages and two kinds of waiting, with a ring of 8 slots and 16-bit numbers.
void pipeline(unsigned count, totals& all) {
  using number = std::uint16_t;
  constexpr std::size_t size = 8;
  static_thread_pool first{2}, second{1};
  sequence_barrier<number> doubled, consumed;
  single_producer_sequencer<number> sequencer{consumed, size};
  std::vector<long long> ring(size);
  std::latch ended{3};
  const auto produce = [&]() -> detached {
    co_await first.schedule();
    for (unsigned i = 0; i != count;) {
      const auto range = co_await sequencer.claim_up_to(count - i < 3 ? count - i : 3);
      for (const number each : range) ring[each % size] = i++;
      sequencer.publish(range);
    }
    ended.count_down();
  };
  const auto stage = [&]() -> detached {
    number next = 0;
    for (unsigned done = 0; done != count;) {
      const number last = co_await sequencer.wait_until_published(next, second);
      do {
        ring[next % size] *= 2;
        ++done;
      } while (next++ != last);
      doubled.publish(last);
    }
    ended.count_down();
  };
  const auto consume = [&]() -> detached {
    number next = 0;
    for (unsigned done = 0; done != count;) {
      const number last = co_await doubled.wait_until_published(next);
      do {
        if (ring[next % size] != 2LL * done) ++all.out_of_order;
        all.sum += ring[next % size];
        ++done;
      } while (next++ != last);
      consumed.publish(last);
    }
    ended.count_down();
  };
  produce();
  stage();
  std::thread([&] { consume(); }).join();
  ended.wait();
}

/// Four producers, of single numbers and of ranges, on two pools and outside them, and a consumer.
void many_producers(unsigned count, totals& all) {
  constexpr std::size_t size = 8;
  constexpr int producers = 4;
  struct element {
    int producer;
    unsigned number;
  };
  static_thread_pool first{2}, second{1};
  sequence_barrier<> consumed;
  multi_producer_sequencer<> sequencer{consumed, size};
  std::vector<element> ring(size);
  std::latch ended{producers + 1};
  const auto produce = [&](static_thread_pool* pool, int name) -> detached {
    if (pool) co_await pool->schedule();
    for (unsigned i = 0; i != count;) {
      if (name % 2 == 0) {
        const std::size_t each = co_await sequencer.claim_one();
        ring[each % size] = {name, i++};
        sequencer.publish(each);
      } else {
        const auto range = co_await sequencer.claim_up_to(count - i < 5 ? count - i : 5);
        for (const std::size_t each : range) ring[each % size] = {name, i++};
        sequencer.publish(range);
      }
    }
    ended.count_down();
  };
  const auto consume = [&]() -> detached {
    unsigned expected[producers] = {};
    for (std::size_t next = 0; next != producers * std::size_t{count};) {
      const std::size_t last = co_await sequencer.wait_until_published(next, next - 1, second);
      do {
        const element each = ring[next % size];
        if (each.number != expected[each.producer]++) ++all.out_of_order;
        all.sum += each.number;
      } while (next++ != last);
      consumed.publish(last);
    }
    ended.count_down();
  };
  std::thread off_pool([&] { produce(nullptr, 3); });
  produce(&first, 0);
  produce(&first, 1);
  consume();
  produce(&second, 2);
  off_pool.join();
  ended.wait();
}

/// Producers whose claims are stopped at any time, and a consumer that is stopped, too: no number is skipped
/// or claimed twice. Returns the number of wrong elements.
long long stop_some(int count) {
  constexpr std::size_t size = 4;
  constexpr int producers = 4;
  static_thread_pool pool{2};
  sequence_barrier<> consumed;
  multi_producer_sequencer<> sequencer{consumed, size};
  std::vector<int> ring(size);
  std::latch ended{producers + 1};
  coracle_test::stops_at_random stops(producers + 1);
  const auto produce = [&](std::size_t me) -> detached {
    co_await pool.schedule();
    for (int left = count; left != 0;) {
      coracle::sequence_range<std::size_t> claimed;
      try {
        if (me % 2 == 0) {
          const std::size_t one = co_await coracle::with_stop(sequencer.claim_one(), stops.renew(me));
          claimed = {one, one + 1};
        } else {
          const auto most = static_cast<std::size_t>(left < 3 ? left : 3);
          claimed = co_await coracle::with_stop(sequencer.claim_up_to(most), stops.renew(me));
        }
      } catch (const coracle::operation_cancelled&) {
        continue;
      }
      for (const std::size_t each : claimed) ring[each % size] = static_cast<int>(each);
      left -= static_cast<int>(claimed.size());
      sequencer.publish(claimed);
    }
    ended.count_down();
  };
  long long wrong = 0;
  const auto consume = [&]() -> detached {
    co_await pool.schedule();
    for (std::size_t next = 0; next != producers * static_cast<std::size_t>(count);) {
      std::size_t last = next;
      try {
        last = co_await coracle::with_stop(sequencer.wait_until_published(next, next - 1),
                                           stops.renew(producers));
      } catch (const coracle::operation_cancelled&) {
        continue;
      }
      do wrong += ring[next % size] != static_cast<int>(next);
      while (next++ != last);
      consumed.publish(last);
    }
    ended.count_down();
  };
  for (std::size_t i = 0; i != producers; ++i) produce(i);
  consume();
  ended.wait();
  return wrong;
}

/// Two claims wait for a slot, one behind the other.
struct claim_round : coracle_test::two_waiters {
  claim_round() {
    coracle_test::note_end({}, sequencer.claim_one(), filler);
    coracle_test::note_end(stop.get_token(), sequencer.claim_one(), first);
    coracle_test::note_end({}, sequencer.claim_one(), second);
  }
  void complete() { consumed.publish(0); }
  void finish() { consumed.publish(1); }
  sequence_barrier<> consumed;
  multi_producer_sequencer<> sequencer{consumed, 1};
  std::atomic<coracle_test::ended> filler{coracle_test::ended::not_yet};
};
}  // namespace

int main(int argc, char** argv) {
  coracle_test::stress run("sequencers", argc, argv, 10'000);
  const long long n = run.int_count();
  run.expect("single waits wrong", race_one_wait(5 * run.int_count()), 0);
  run.expect("waits for neighbours lost", race_neighbours(30 * run.int_count()), 0);
  run.expect("waits for two producers wrong", race_two_producers(5 * run.int_count()), 0);
  run.expect("waits on short-lived barriers", short_lives(2 * run.int_count()), 4 * n);
  totals piped, collected;
  pipeline(10 * run.count(), piped);
  run.expect("doubled and summed up", piped.sum.load(), 10 * n * (10 * n - 1));
  run.expect("out of order", piped.out_of_order.load(), 0);
  many_producers(3 * run.count(), collected);
  run.expect("summed up from four", collected.sum.load(), 2 * 3 * n * (3 * n - 1));
  run.expect("out of order", collected.out_of_order.load(), 0);
  run.expect("elements with stops wrong", stop_some(run.int_count()), 0);
  run.expect("stops against publish() wrong", coracle_test::race_a_stop<claim_round>(5 * run.int_count()), 0);
  return run.finish();
}
