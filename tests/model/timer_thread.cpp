// tests/model/timer_thread.cpp -- the program's timers: added, removed and fired across threads, and the
// thread's end.
// SPDX-License-Identifier: MIT
#include "../../src/time/timer_thread.hpp"

#include <chrono>

#include "model_waits.hpp"

namespace {
using coracle::detail::one_shot;
using coracle::detail::timer;
using coracle::detail::timer_thread;
using namespace coracle_test;
using time_point = coracle::timer_service::time_point;

constexpr time_point at(int seconds) { return time_point{std::chrono::seconds{seconds}}; }

/// Reports when it has fired, which is never early, and makes visible what was written before add().
struct alarm : timer {
  explicit alarm(timer_thread& its_service, int seconds) noexcept
      : timer(&alarm::ring), service(its_service), deadline(at(seconds)) {}
  static void ring(timer& self) noexcept {
    auto& mine = static_cast<alarm&>(self);
    model_expect(mine.service.now() >= mine.deadline, "not before its time");
    mine.rings += 1;
    mine.rung.set();
  }
  bool add() noexcept { return service.add(*this, deadline); }

  timer_thread& service;
  const time_point deadline;
  plain_int rings = 0;
  one_shot rung;
};
/// Nothing has to be arranged for the end of the program: the bodies end the thread.
void nothing() {}

void fires() {
  timer_thread timers{&nothing};
  alarm one{timers, 5};
  model_expect(one.add(), "added");
  one.rung.wait();
  model_expect(one.rings == 1, "once");
  timers.end();
}
/// The second has the earlier deadline: it wakes the thread, which sleeps until the first.
void earlier_one_comes() {
  timer_thread timers{&nothing};
  alarm late{timers, 9}, early{timers, 5};
  late.add();
  early.add();
  early.rung.wait();
  late.rung.wait();
  model_expect(late.rings == 1 && early.rings == 1, "each once");
  timers.end();
}
void two_threads_add() {
  timer_thread timers{&nothing};
  alarm one{timers, 5}, other{timers, 5};
  model_thread adder{[&] { one.add(); }};
  other.add();
  other.rung.wait();
  one.rung.wait();
  adder.join();
  timers.end();
}
/// It is removed in time, or it fires; remove() then reports that, and the caller can wait for its end.
void remove_against_fire() {
  timer_thread timers{&nothing};
  alarm one{timers, 5};
  one.add();
  if (timers.remove(one)) {
    model_expect(one.rings == 0, "it has not fired");
  } else {
    one.rung.wait();
  }
  timers.end();
  model_expect(one.rings <= 1, "at most once");
}
/// It may be removed on another thread, even before it is added.
void remove_against_add() {
  timer_thread timers{&nothing};
  alarm one{timers, 5};
  bool removed = false;
  model_thread remover{[&] { removed = timers.remove(one); }};
  const bool added = one.add();
  remover.join();
  if (added && !removed) one.rung.wait();
  model_expect(added || !removed, "refused because it was removed before");
  timers.end();
  model_expect(one.rings == (added && !removed ? 1 : 0), "once, unless it was removed");
}
/// A timer is added as the thread ends: it keeps that thread alive or starts another. It may be due already.
template <int First, int Second>
void add_against_end() {
  timer_thread timers{&nothing};
  alarm one{timers, First}, other{timers, Second};
  one.add();
  one.rung.wait();
  model_thread adder{[&] { other.add(); }};
  timers.end();
  other.rung.wait();
  adder.join();
  timers.end();
}
/// The thread is started while the program ends.
void first_add_against_end() {
  timer_thread timers{&nothing};
  alarm one{timers, 5};
  model_thread adder{[&] { one.add(); }};
  timers.end();
  one.rung.wait();
  adder.join();
  timers.end();
}
/// If the timer has not fired yet, the thread continues.
void end_against_fire() {
  timer_thread timers{&nothing};
  alarm one{timers, 5};
  one.add();
  model_thread ender{[&] { timers.end(); }};
  one.rung.wait();
  ender.join();
  timers.end();
}
}  // namespace

int main(int argc, char** argv) {
  model_test run(argc, argv);
  run.check("timer_thread: fires", model_test::all, fires);
  run.check("timer_thread: an earlier one comes", 4, earlier_one_comes);
  run.check("timer_thread: two threads add, one interruption", 1, two_threads_add);
  run.check("timer_thread: two threads add", 3, two_threads_add);
  run.check("timer_thread: remove against fire", 4, remove_against_fire);
  run.check("timer_thread: remove against add", 4, remove_against_add);
  run.check("timer_thread: add against its end", 3, add_against_end<5, 6>);
  run.check("timer_thread: the first add against its end", 3, first_add_against_end);
  run.check("timer_thread: one that is due against its end", 3, add_against_end<0, 0>);
  run.check("timer_thread: its end against a timer", 4, end_against_fire);
  return run.finish();
}
