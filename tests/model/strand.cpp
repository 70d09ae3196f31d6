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
  run.check("strand: gives way", model_test::all, gives_way);
  run.check("strand: destroyed behind a run", model_test::all, destroyed_behind_a_run);
  return run.finish();
}
