// tests/model/sleepers.cpp -- how a pool's threads sleep, nap and are woken: no wake-up is lost.
// SPDX-License-Identifier: MIT
#include "../../src/exec/sleepers.hpp"

#include <coracle/base/small_mutex.hpp>

#include "framework/model_test.hpp"

namespace {
using coracle::detail::sleepers;
using namespace coracle_test;
namespace detail = coracle::detail;

/// A queue reduced to the number of its entries.
struct queue {
  detail::atomic<int> size{0};

  void push() { size.fetch_add(1, detail::memory_order_release); }
  bool take() {
    int seen = size.load(detail::memory_order_relaxed);
    while (seen != 0) {
      if (size.compare_exchange_weak(seen, seen - 1, detail::memory_order_acquire,
                                     detail::memory_order_relaxed))
        return true;
    }
    return false;
  }
};
enum class rest { sleep, nap_first };

/// The behaviour of a pool thread without work: waits until there is work, or the pool stops.
bool search(sleepers& all, queue& work, rest how) {
  all.begin_search();
  while (!work.take()) {
    if (how == rest::nap_first && all.nap()) {
      how = rest::sleep;
    } else if (!all.sleep(
                   sleepers::max_threads, [&] { return work.size.load(detail::memory_order_relaxed) != 0; },
                   [] { return true; })) {
      return false;
    }
  }
  all.end_search(sleepers::max_threads, [] { return true; });
  return true;
}
void post(sleepers& all, queue& work) {
  work.push();
  all.wake_one();
}
void post_alone(sleepers& all, queue& work) {
  work.push();
  if (all.should_wake_one()) all.wake_one(true);
}

/// No other thread takes the work: a lost wake-up is a deadlock.
template <rest How>
void post_is_not_missed() {
  sleepers all;
  queue work;
  model_thread worker{[&] { model_expect(search(all, work, How), "it has found it"); }};
  post(all, work);
  worker.join();
}
void lone_post_is_not_missed() {
  sleepers all;
  queue work;
  model_thread worker{[&] { model_expect(search(all, work, rest::nap_first), "it has found it"); }};
  post_alone(all, work);
  worker.join();
}
/// One thread has napped before and sleeps again, or the other does; the thread that posts relies on neither.
void one_naps_one_sleeps() {
  sleepers all;
  queue work;
  model_thread one{[&] { search(all, work, rest::nap_first); }},
      other{[&] { search(all, work, rest::sleep); }};
  post_alone(all, work);
  post(all, work);
  one.join();
  other.join();
}
/// At most one of them naps.
void two_nap() {
  sleepers all;
  queue work;
  model_thread one{[&] { search(all, work, rest::nap_first); }},
      other{[&] { search(all, work, rest::nap_first); }};
  post_alone(all, work);
  post_alone(all, work);
  one.join();
  other.join();
}
/// However a nap ends, it leaves the counts unchanged, and no permit that would end the next nap.
void nap_leaves_nothing_behind() {
  sleepers all;
  const auto nap = [&] {
    all.begin_search();
    model_expect(all.nap(), "nobody else naps");
  };
  model_thread napper{nap};
  all.wake_one();
  napper.join();
  nap();
  model_expect(all.counts().load(detail::memory_order_relaxed) == 2 * sleepers::one_searching, "both search");
}
/// A napper that receives the wake-up of a sleeper passes it on.
void nap_passes_a_wake_up_on() {
  sleepers all;
  queue work;
  model_thread napper{[&] {
    all.begin_search();
    static_cast<void>(all.nap());
    static_cast<void>(work.take());
    all.end_search(sleepers::max_threads, [] { return true; });
  }};
  model_thread sleeper{[&] { search(all, work, rest::sleep); }};
  post(all, work);
  napper.join();
  all.stop();  // wakes whoever sleeps and has no permit yet
  sleeper.join();
}
/// Two posts from outside, taken by two threads. A thread that finds one wakes the other only if there is
/// more.
void found_while_the_other_sleeps() {
  sleepers all;
  queue work;
  detail::small_mutex mutex;
  const auto look = [&] {
    const detail::small_mutex_lock lock(mutex);
    return work.size.load(detail::memory_order_relaxed) != 0;
  };
  const auto take_locked = [&] {
    const detail::small_mutex_lock lock(mutex);
    return work.take();
  };
  const auto take_one = [&] {
    all.begin_search();
    while (!take_locked()) {
      static_cast<void>(
          all.sleep(1, [&] { return work.size.load(detail::memory_order_relaxed) != 0; }, look));
    }
    all.end_search(1, look);
  };
  const auto post_outside = [&] {
    detail::atomic<std::uint32_t>* claimed = nullptr;
    {
      const detail::small_mutex_lock lock(mutex);
      work.size.store(work.size.load(detail::memory_order_relaxed) + 1, detail::memory_order_relaxed);
      claimed = all.claim();
    }
    if (claimed) detail::unpark(claimed, 1);
  };
  model_thread one{take_one}, other{take_one};
  post_outside();
  post_outside();
  one.join();
  other.join();
}
template <rest How>
void stop_wakes() {
  sleepers all;
  queue work;
  model_thread worker{[&] { model_expect(!search(all, work, How), "there is nothing"); }};
  all.stop();
  worker.join();
}
/// All other threads sleep, here none: it executes no fence.
void stop_wakes_the_last_to_sleep() {
  sleepers all;
  model_thread worker{[&] {
    all.begin_search();
    while (all.sleep(0, [] { return true; }, [] { return false; })) {
    }
  }};
  all.stop();
  worker.join();
}
/// Any sleeper may take a permit: one that begins to nap after stop() may take the other's.
void stop_wakes_both() {
  sleepers all;
  queue work;
  model_thread one{[&] { model_expect(!search(all, work, rest::nap_first), "there is nothing"); }},
      other{[&] { model_expect(!search(all, work, rest::sleep), "nor for the other"); }};
  all.stop();
  one.join();
  other.join();
}
/// A thread that ends may have taken another's permit; it wakes the remaining sleepers.
void stop_wakes_three() {
  sleepers all;
  queue work;
  const auto end = [&](rest how) { model_expect(!search(all, work, how), "there is nothing"); };
  model_thread one{[&] { end(rest::nap_first); }}, two{[&] { end(rest::nap_first); }},
      three{[&] { end(rest::sleep); }};
  all.stop();
  one.join();
  two.join();
  three.join();
}
template <rest How>
void stop_runs_what_is_queued() {
  sleepers all;
  queue work;
  model_thread worker{[&] {
    model_expect(search(all, work, How), "it has found it");
    model_expect(!search(all, work, rest::sleep), "and nothing more");
  }};
  post_alone(all, work);
  all.stop();
  worker.join();
}
}  // namespace

int main(int argc, char** argv) {
  model_test run(argc, argv);
  run.check("sleepers: a post is not missed by one who sleeps", model_test::all,
            post_is_not_missed<rest::sleep>);
  run.check("sleepers: nor by one who naps", model_test::all, post_is_not_missed<rest::nap_first>);
  run.check("sleepers: nor is one that is alone", model_test::all, lone_post_is_not_missed);
  run.check("sleepers: stop wakes one who sleeps", model_test::all, stop_wakes<rest::sleep>);
  run.check("sleepers: stop wakes one who naps", model_test::all, stop_wakes<rest::nap_first>);
  run.check("sleepers: stop wakes the last one to sleep", model_test::all, stop_wakes_the_last_to_sleep);
  run.check("sleepers: stop wakes both, one who naps and one who sleeps", 2, stop_wakes_both);
  run.check("sleepers: stop wakes three, two of whom nap", 1, stop_wakes_three);
  run.check("sleepers: stop behind a post", 3, stop_runs_what_is_queued<rest::sleep>);
  run.check("sleepers: stop behind a post that is alone, to one who naps", 3,
            stop_runs_what_is_queued<rest::nap_first>);
  run.check("sleepers: a nap that is cut short, or not", model_test::all, nap_leaves_nothing_behind);
  run.check("sleepers: one naps, one sleeps, one post", 1, nap_passes_a_wake_up_on);
  run.check("sleepers: one naps, one sleeps, two posts", 2, one_naps_one_sleeps);
  run.check("sleepers: two sleep, two posts from outside", 2, found_while_the_other_sleeps);
  run.check("sleepers: two nap, two posts", 2, two_nap);
  return run.finish();
}
