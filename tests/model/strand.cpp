// tests/model/strand.cpp -- one coroutine at a time, on any thread; destroyed as soon as the last has left.
// SPDX-License-Identifier: MIT
#include <coracle/exec/strand.hpp>
#include <memory>

#include "model_executor.hpp"
#include "model_waits.hpp"

namespace {
using coracle::strand;
using namespace coracle_test;

/// Two accesses to `turns` that nothing orders are a data race.
detached note_turn(strand& alone, plain_int& turns, int& mine) {
  co_await alone.schedule();
  turns += 1;
  mine = turns;
}

/// Each thread posts, then runs what is queued: a run may follow another one on the other thread, or be in
/// progress while a post arrives.
template <unsigned Threads>
void all_post_and_run() {
  model_executor below;
  plain_int turns = 0;
  int turn[Threads] = {}, sum = 0;
  strand alone{below};
  together(Threads, [&](unsigned index) {
    note_turn(alone, turns, turn[index]);
    below.run_posted();
  });
  while (below.run_posted() != 0) {
  }
  for (const int each : turn) sum += each;
  model_expect(sum == Threads * (Threads + 1) / 2, "each has run once");
}
void in_order() {
  model_executor below;
  plain_int turns = 0;
  int first = 0, second = 0;
  strand alone{below};
  {
    model_thread other{[&] {
      note_turn(alone, turns, first);
      note_turn(alone, turns, second);
    }};
    below.run_posted();
  }
  below.run_posted();
  model_expect(first == 1 && second == 2, "both have run, first posted first");
}
/// Posts from inside the run go to its queue directly, behind what the other thread has pushed before.
detached note_turn_twice(strand& alone, plain_int& turns, int& mine) {
  co_await alone.schedule();
  turns += 1;
  co_await alone.schedule();
  turns += 1;
  mine = turns;
}
/// Both threads run the strand, one after the other or while the other one posts.
void posts_from_inside() {
  model_executor below;
  plain_int turns = 0;
  int mine[2] = {};
  strand alone{below};
  together(2, [&](unsigned index) {
    note_turn_twice(alone, turns, mine[index]);
    below.run_posted();
  });
  while (below.run_posted() != 0) {
  }
  model_expect(mine[0] + mine[1] >= 6 && mine[0] + mine[1] <= 7, "each has run twice");
}
/// The other thread's entry is pushed before `second` is posted from inside.
void inside_behind_pushed() {
  model_executor below;
  plain_int turns = 0;
  int pushed = 0, second = 0;
  strand alone{below};
  const auto first = [&]() -> detached {
    co_await alone.schedule();
    turns += 1;
    {
      model_thread other{[&] { note_turn(alone, turns, pushed); }};
    }
    note_turn(alone, turns, second);
  };
  first();
  while (below.run_posted() != 0) {
  }
  model_expect(pushed == 2 && second == 3, "first posted, first run");
}
/// More coroutines than the strand runs in a row.
void gives_way() {
  model_executor below;
  plain_int turns = 0;
  int mine[3] = {};
  strand alone{below};
  for (int& each : mine) note_turn(alone, turns, each);
  {
    model_thread other{[&] { below.run_posted(); }};
    below.run_posted();
  }
  below.run_posted();
  for (int i = 0; i != 3; ++i) model_expect(mine[i] == i + 1, "all have run, in order");
}
/// A thread whose run has ended or given way posts from outside again, perhaps while the other thread runs
/// the rest.
void posts_behind_its_run() {
  model_executor below;
  plain_int turns = 0;
  int mine[4] = {}, sum = 0;
  strand alone{below};
  for (int i = 0; i != 3; ++i) note_turn(alone, turns, mine[i]);
  {
    model_thread other{[&] { below.run_posted(); }};
    below.run_posted();
    note_turn(alone, turns, mine[3]);
  }
  while (below.run_posted() != 0) {
  }
  for (const int each : mine) sum += each;
  model_expect(sum == 1 + 2 + 3 + 4, "each has run once");
}
/// Leaves the strand and destroys it on another thread, while the run that it has left ends.
detached leave(std::unique_ptr<strand> alone, model_executor& elsewhere, plain_int& turns) {
  co_await alone->schedule();
  turns += 1;
  co_await elsewhere.schedule();
  alone.reset();
  turns += 1;
}
void destroyed_behind_a_run() {
  model_executor below, elsewhere;
  plain_int turns = 0;
  {
    model_thread other{[&] { elsewhere.run(1); }};
    leave(std::make_unique<strand>(below), elsewhere, turns);
    below.run_posted();
  }
  model_expect(turns == 2, "it has left");
}
}  // namespace

int main(int argc, char** argv) {
  model_test run(argc, argv);
  run.check("strand: two threads post and run", model_test::all, all_post_and_run<2>);
  run.check("strand: three threads post and run", 4, all_post_and_run<3>);
  run.check("strand: four threads post and run", 3, all_post_and_run<4>);
  run.check("strand: in order", model_test::all, in_order);
  run.check("strand: posts from inside", model_test::all, posts_from_inside);
  run.check("strand: a post from inside goes behind what is pushed", model_test::all, inside_behind_pushed);
  run.check("strand: gives way", model_test::all, gives_way);
  run.check("strand: a thread posts behind its run", model_test::all, posts_behind_its_run);
  run.check("strand: destroyed behind a run", model_test::all, destroyed_behind_a_run);
  return run.finish();
}
