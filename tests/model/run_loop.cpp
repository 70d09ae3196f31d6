// tests/model/run_loop.cpp -- posts to a run_loop whose thread runs, goes to sleep, or is stopped.
// SPDX-License-Identifier: MIT
#include <coracle/exec/run_loop.hpp>
#include <memory>

#include "model_waits.hpp"

namespace {
using coracle::run_loop;
using namespace coracle_test;

detached note_turn(run_loop& loop, plain_int& turns, int& mine) {
  co_await loop.schedule();
  turns += 1;
  mine = turns;
}
detached stop_after(run_loop& loop, plain_int& data, int& seen) {
  co_await loop.schedule();
  seen = data;
  loop.stop();
}

/// Another thread posts a coroutine that stops the loop.
void run_until_posted(run_loop& loop) {
  plain_int data = 0;
  int seen = 0;
  model_thread poster{[&] {
    data = 42;
    stop_after(loop, data, seen);
  }};
  loop.run();
  poster.join();
  model_expect(seen == 42, "it has run, and seen what was written before");
}
void post_against_run() {
  run_loop loop;
  run_until_posted(loop);
}
/// The stop may come before, between or after the posts; those before it are run.
void two_posts_and_stop() {
  run_loop loop;
  plain_int turns = 0;
  int first = 0, second = 0;
  model_thread poster{[&] {
    note_turn(loop, turns, first);
    note_turn(loop, turns, second);
    loop.stop();
  }};
  loop.run();
  poster.join();
  model_expect(first == 1 && second == 2, "both have run, in order");
}
template <unsigned Posters>
void posters_and_stop() {
  run_loop loop;
  plain_int turns = 0;
  int turn[Posters] = {}, sum = 0;
  together(Posters + 1, [&](unsigned index) {
    if (index == 0) return loop.run();
    note_turn(loop, turns, turn[index - 1]);
    if (index == Posters) loop.stop();
  });
  loop.run_pending();
  for (const int each : turn) sum += each;
  model_expect(sum == Posters * (Posters + 1) / 2, "each has run once");
}
/// A write before stop() is visible after run().
void stop_against_run() {
  run_loop loop;
  plain_int data = 0;
  model_thread stopper{[&] {
    data = 42;
    loop.stop();
  }};
  loop.run();
  model_expect(data == 42, "what was written before stop()");
}
/// The same where stop() finds the stop of another thread.
void two_stops() {
  run_loop loop;
  plain_int turns = 0;
  int mine = 0;
  model_thread one{[&] { loop.stop(); }};
  model_thread two{[&] {
    note_turn(loop, turns, mine);
    loop.stop();
  }};
  loop.run();
  one.join();
  two.join();
  loop.run_pending();
  model_expect(mine == 1, "it has run");
  loop.stop();  // what is left of the second stop counts for this run() too
  loop.run();
}
/// The stop that has ended one run() does not end the next.
void a_stop_counts_once() {
  run_loop loop;
  loop.stop();
  loop.run();
  run_until_posted(loop);
}
/// The owner destroys it while the poster may still be inside post().
void destroyed_behind_a_post() {
  auto loop = std::make_unique<run_loop>();
  plain_int data = 42;
  int seen = 0;
  model_thread poster{[&, at = loop.get()] { stop_after(*at, data, seen); }};
  loop->run();
  loop.reset();
  poster.join();
  model_expect(seen == 42, "it has run");
}
void destroyed_behind_a_stop() {
  auto loop = std::make_unique<run_loop>();
  model_thread stopper{[at = loop.get()] { at->stop(); }};
  loop->run();
  loop.reset();
}
void step_by_step() {
  run_loop loop;
  plain_int turns = 0;
  int first = 0, second = 0;
  model_thread poster{[&] {
    note_turn(loop, turns, first);
    note_turn(loop, turns, second);
  }};
  if (!loop.run_one()) coracle::testing::model_yield();
  loop.run_pending();
  poster.join();
  loop.run_pending();
  model_expect(first == 1 && second == 2, "both have run, in order");
}
}  // namespace

int main(int argc, char** argv) {
  model_test run(argc, argv);
  run.check("run_loop: a post against run()", model_test::all, post_against_run);
  run.check("run_loop: two posts and a stop", 5, two_posts_and_stop);
  run.check("run_loop: two posters", 4, posters_and_stop<2>);
  run.check("run_loop: three posters", 3, posters_and_stop<3>);
  run.check("run_loop: stop against run()", model_test::all, stop_against_run);
  run.check("run_loop: two stops and a post", 4, two_stops);
  run.check("run_loop: a stop counts once", model_test::all, a_stop_counts_once);
  run.check("run_loop: destroyed behind a post", model_test::all, destroyed_behind_a_post);
  run.check("run_loop: destroyed behind a stop", model_test::all, destroyed_behind_a_stop);
  run.check("run_loop: step by step", model_test::all, step_by_step);
  return run.finish();
}
