// tests/model/park.cpp -- sleeping and mutual exclusion: park, small_mutex, one_shot, and the checker's own
// condition variable and clock.
// SPDX-License-Identifier: MIT
#include <coracle/base/thread.hpp>
#include <memory>
#include <optional>

#include "framework/model_test.hpp"
#include "model_waits.hpp"

namespace {
using namespace coracle::detail;
using namespace coracle_test;

/// Each thread sees the writes of the one before it. The holder stores to the lock midway, so that waiters
/// look again and find it held.
template <unsigned Threads>
void mutex_excludes() {
  small_mutex lock;
  plain_int data = 0;
  atomic<int> seen{0};
  const auto add = [&] {
    const small_mutex_lock held{lock};
    data += 1;
    seen.store(data, memory_order_relaxed);
  };
  together(Threads, [&](unsigned) { add(); });
  model_expect(data == static_cast<int>(Threads), "each has had the lock once");
}

void one_shot_hands_over() {
  one_shot done;
  plain_int data = 0;
  model_thread setter{[&] {
    data = 42;
    done.set();
  }};
  done.wait();
  model_expect(data == 42, "what was written before set()");
}
/// The waiter destroys it immediately.
void one_shot_is_gone() {
  auto done = std::make_unique<one_shot>();
  model_thread setter{[shot = done.get()] { shot->set(); }};
  done->wait();
  done.reset();
}

/// Two threads wait for data; `notify` wakes them.
template <class Notify>
void two_wait(Notify notify) {
  mutex lock;
  condition_variable changed;
  plain_int data = 0;
  const auto wait = [&] {
    std::unique_lock held{lock};
    changed.wait(held, [&] { return data != 0; });
  };
  model_thread one{wait}, two{wait};
  {
    const std::lock_guard held{lock};
    data = 1;
  }
  notify(changed);
}
void condition_is_seen() {
  two_wait([](condition_variable& changed) { changed.notify_all(); });
}
/// One notify_one() for two waiters: one of them sleeps forever.
void one_notify_for_two() {
  two_wait([](condition_variable& changed) { changed.notify_one(); });
}
void notify_against_time() {
  mutex lock;
  condition_variable changed;
  bool in_time = false;
  const steady_time start = real_now();
  model_thread notifier{[&] { changed.notify_one(); }};
  {
    std::unique_lock held{lock};
    in_time = changed.wait_for(held, std::chrono::milliseconds{5}) == std::cv_status::no_timeout;
  }
  notifier.join();
  const auto passed = real_now() - start;
  model_expect(in_time || passed >= std::chrono::milliseconds{5}, "no time-out before the time");
  coracle::testing::model_record(in_time ? "notified" : "timed out");
}
void sleeps_until() {
  atomic<std::uint32_t> word{0};
  model_thread waker{[&] {
    word.store(1, memory_order_relaxed);
    unpark(&word, 1);
  }};
  park_until(word, 0, steady_time{std::chrono::seconds{3}});
  const bool woken = real_now() < steady_time{std::chrono::seconds{3}};
  coracle::testing::model_record(woken ? "woken" : "timed out");
}
}  // namespace

int main(int argc, char** argv) {
  model_test run(argc, argv);
  run.check("small_mutex: two threads", model_test::all, mutex_excludes<2>);
  run.check("small_mutex: three threads", 4, mutex_excludes<3>);
  run.check("small_mutex: four threads", 3, mutex_excludes<4>);
  run.check("one_shot: set against wait", model_test::all, one_shot_hands_over);
  run.check("one_shot: destroyed by whoever waited", model_test::all, one_shot_is_gone);
  run.check("condition variable: notify_all wakes two", 4, condition_is_seen);
  run.finds("condition variable: notify_one wakes one", "deadlock", 3, one_notify_for_two);
  run.outcomes("condition variable: notify against the time", {"notified", "timed out"}, notify_against_time);
  run.outcomes("park: until a time, or woken", {"woken", "timed out"}, sleeps_until);
  return run.finish();
}
